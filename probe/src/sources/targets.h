/* What a watch was asked to read: [PERIOD:]PATH, [PERIOD:]PATTERN or [PERIOD:]@source, as a list in which nothing stands twice. */
#ifndef RTPROBE_TARGETS_H
#define RTPROBE_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#include "os/expand.h"
#include "sources/source.h"

struct target {
	char *name;                     /* a path, or a source as it was asked for */
	int64_t period_ns;              /* 0: at every reading */
	const struct source_kind *kind; /* NULL: a file */
	const char *argument;           /* of the source; points into name */
};

struct targets {
	struct target *list;
	size_t n, capacity;
	struct names unmatched; /* patterns that match nothing */
};

/* Adds what one word of the command line stands for. 0, or an exit code after having said why. */
int targets_add(struct targets *t, const char *word);
/* Removes second appearances; the order of the first ones stays, and the shortest period. 0, or an exit code. */
int targets_unique(struct targets *t);
void targets_free(struct targets *t);

#endif
