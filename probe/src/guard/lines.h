/* Lines of fields separated by tabs, as journals and plans of settings have them. In a field \t, \n and \\ stand for tab, line end and backslash. */
#ifndef RTPROBE_LINES_H
#define RTPROBE_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { MOST_FIELDS = 64 };

struct fields {
	char *text[MOST_FIELDS];
	int n;
};

/* Splits a line in place. More than MOST_FIELDS: the rest is left out. */
void fields_split(struct fields *f, char *line);
/* Whether it is a line of `kind` with at least `n` fields, the kind among them. */
bool fields_are(const struct fields *f, const char *kind, int n);

/* Appends one line to the open file `fd` with a single write, and waits until it is on the medium. 0 or errno. */
int line_append(int fd, const char *const *fields, int n);

/* The whole file, NUL-terminated, to be freed; NULL and errno. At most 4 MiB. */
char *read_whole(const char *path, size_t *length);

#endif
