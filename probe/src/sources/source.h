/*
 * What `rtprobe watch` reads itself because no file says it: a source is one file here that ends in one struct, plus one line in
 * sources.def. Its name begins with @; what follows a colon is its argument. wire/STREAM.md says what each one writes.
 */
#ifndef RTPROBE_SOURCE_H
#define RTPROBE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/loop.h"

/* What a source may need of the watch it belongs to. */
struct source_place {
	const struct loop *loop; /* signals as the watch found them, for a child about to exec */
	int events;              /* an epoll descriptor; data on what is added to it wakes the watch, which then calls collect */
};

struct source_kind {
	const char *name;     /* with the @ */
	const char *argument; /* what follows the colon, for people; NULL: there is none */
	const char *summary;
	/* Takes the argument ("" without one). NULL and errno: the watch sends that errno at every reading. It must not block. */
	void *(*open)(const char *argument, const struct source_place *place);
	/* Writes at most `size` bytes at `to` and returns how many, or -1 and errno; EAGAIN: nothing to send now. Sets *more where there
	 * is more to be read at once, in a frame of its own. It must not block. */
	ssize_t (*read)(void *state, char *to, size_t size, bool *more);
	/* For a source whose `read` only begins something: its result, as of read (EAGAIN: not yet). NULL for all others. */
	ssize_t (*collect)(void *state, char *to, size_t size);
	int64_t (*until_ns)(const void *state); /* when collect must be called at the latest; INT64_MAX: nothing is under way */
	void (*close)(void *state);
};

/* Ends with NULL; in the order of sources.def. */
extern const struct source_kind *const source_kinds[];

/* The kind a name with its argument stands for, and the argument in *argument; NULL: there is none such. */
const struct source_kind *source_find(const char *name, const char **argument);

/* Text that stops growing when it is full: content longer than `size` is cut, which the watch sees and says. */
struct lines {
	char *at;
	size_t size, used;
};
void lines_add(struct lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
