/*
 * A source of `rtprobe watch`: something that no file tells. It is one file here that ends in one struct, plus one line in sources.def.
 * Its name begins with @, and its argument follows a colon. wire/STREAM.md says what each source writes.
 */
#ifndef RTPROBE_SOURCE_H
#define RTPROBE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/loop.h"

/* What a source may use of the watch. */
struct source_place {
	const struct loop *loop; /* for loop_undo_signals in a child before exec */
	int events;              /* an epoll descriptor: an event on it wakes the watch, which then calls collect */
};

struct source {
	const char *name;     /* with the @ */
	const char *argument; /* what follows the colon, for people; NULL: there is none */
	const char *summary;
	/* Takes the argument ("" without one). NULL and errno: the watch sends that errno at every reading. It must not block. */
	void *(*open)(const char *argument, const struct source_place *place);
	/* Writes at most `size` bytes at `to` and returns how many, or -1 and errno; EAGAIN: nothing to send now. Sets *more where there
	 * is more to be read at once, in a frame of its own. It must not block. */
	ssize_t (*read)(void *state, char *to, size_t size, bool *more);
	/* For a source whose `read` only starts something: gets its result, as read does (EAGAIN: not yet). NULL for all others. */
	ssize_t (*collect)(void *state, char *to, size_t size);
	int64_t (*until_ns)(const void *state); /* when collect must be called at the latest; INT64_MAX: nothing is under way */
	void (*close)(void *state);
};

/* Ends with NULL; in the order of sources.def. */
extern const struct source *const sources[];

/* The source of a name with its argument, and the argument in *argument; NULL: there is no such source. */
const struct source *source_find(const char *name, const char **argument);

/* Text that stops growing when it is full. The watch reports the cut. */
struct lines {
	char *at;
	size_t size, used;
};
void lines_add(struct lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
