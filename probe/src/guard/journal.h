/* What to put back: lines PATH<TAB>VALUE, each written before its file was changed. */
#ifndef RTPROBE_JOURNAL_H
#define RTPROBE_JOURNAL_H

#include <stddef.h>

struct journal {
	const char *path; /* NULL: nothing to put back */
	char *text;
	size_t length;
};

typedef void journal_failure(void *context, const char *path, const char *why);

/* Reads it once, so that a journal that vanishes later can still be put back. 0, or an exit code after having said why. */
int journal_open(struct journal *j, const char *path);
/* Reads it again (lines may have been added) and writes the values back, last line first: of a file journaled twice the first value
 * is the original one. Reports each failure. */
void journal_restore(struct journal *j, journal_failure *failed, void *context);
void journal_close(struct journal *j);

#endif
