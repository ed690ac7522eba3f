/* What a watch reads: [PERIOD:]PATH, [PERIOD:]PATTERN or [PERIOD:]@source, as a list without duplicates. */
#ifndef RTPROBE_TARGETS_H
#define RTPROBE_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#include "os/expand.h"
#include "sources/source.h"

struct target {
	char *name;                     /* a path, or a source with its argument */
	int64_t period_ns;              /* 0: at every reading */
	const struct source *source; /* NULL: a file */
	const char *argument;           /* of the source; points into name */
};

struct targets {
	struct target *list;
	size_t n, capacity;
	struct names unmatched; /* patterns that match nothing */
};

/* Adds the targets of one word of the command line. 0, or an exit code after an error message. */
int targets_add(struct targets *t, const char *word);
/* Removes duplicates: the first one stays, with the shortest period of all. 0, or an exit code. */
int targets_unique(struct targets *t);
void targets_free(struct targets *t);

#endif
