/* File name patterns. glob(3) would link the password database into a static binary. */
#ifndef RTPROBE_EXPAND_H
#define RTPROBE_EXPAND_H

#include <stdbool.h>
#include <stddef.h>

struct names {
	char **list;
	size_t n, capacity;
	bool failed; /* no memory: the list is incomplete */
};

bool is_pattern(const char *text);
/* Appends the names that match `pattern` (*, ?, [...]; a leading dot must be written), sorted. A plain name is appended as it is. */
void expand(struct names *found, const char *pattern);
void names_add(struct names *found, const char *name);
void names_free(struct names *found);

#endif
