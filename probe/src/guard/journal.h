/* What to put back: a line for each change, written before the change is made. wire/SETTINGS.md has the kinds of lines. */
#ifndef RTPROBE_JOURNAL_H
#define RTPROBE_JOURNAL_H

#include <stddef.h>

struct journal {
	const char *path; /* NULL: nothing to put back */
	char *text;
};

typedef void journal_failure(void *context, const char *what, const char *why);

/* Reads it once, so that a journal that vanishes later can still be put back. 0, or an exit code after having said why. */
int journal_open(struct journal *j, const char *path);
/* Reads it again (lines may have been added) and puts everything back, the last line first; again and again while that changes something,
 * because settings bear on each other. Of a thing that has two lines the first one counts. Reports what stays different. When all is as
 * it was the journal is removed; a journal of another boot of the board is forgotten. Returns the number of failures. */
size_t journal_restore(struct journal *j, journal_failure *failed, void *context);
void journal_close(struct journal *j);

/* The id of this boot of the kernel; "" where it has none. */
const char *boot_id(void);

#endif
