/* File name patterns without the rest of glob(3), which drags the password database into a static binary. */
#ifndef RTPROBE_EXPAND_H
#define RTPROBE_EXPAND_H

#include <stdbool.h>
#include <stddef.h>

struct names {
	char **list;
	size_t n, capacity;
	bool failed; /* no memory: the list is not whole */
};

bool is_pattern(const char *text);
/* Appends what matches `pattern` (*, ?, [...]; a leading dot must be named), sorted; a text that is no pattern is appended as it is. */
void expand(struct names *found, const char *pattern);
void names_add(struct names *found, const char *name);
void names_free(struct names *found);

#endif
