/* The stream of a helper command (guard, watch, load): it never blocks the command. */
#ifndef RTPROBE_OUTLET_H
#define RTPROBE_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/emit.h"

enum { OUTLET_ROOM = 256 * 1024 };

/* A stream to a pipe, a socket, a terminal (queued, written when there is room) or a regular file (written at once). */
struct outlet {
	struct emit emit;
	int fd;            /* -1: there is no stream */
	bool queued;       /* false: a regular file, written at once */
	bool nonblocking;  /* fd has its own O_NONBLOCK description; else at most one page is written when poll sees room */
	unsigned char *queue;
	size_t head, tail, capacity;
	int error;         /* errno of the first failed write; later frames are discarded */
};

/* `path` NULL: stdout. 0, or an exit code after an error message. */
int outlet_open(struct outlet *o, const char *path);
/* Writes what is queued, as far as there is room. */
void outlet_push(struct outlet *o);
/* Discards what is queued; with an `error`, all later frames too. */
void outlet_drop(struct outlet *o, int error);
void outlet_frame(struct outlet *o, enum frame_type type, const void *payload, size_t length);
void outlet_json(struct outlet *o, enum frame_type type, struct json *j);
size_t outlet_pending(const struct outlet *o);

/* {"event": NAME, "mono_ns": now, ... left open for more fields; close with event_send. */
void event_begin(struct json *j, const char *name);
void event_begin_at(struct json *j, const char *name, int64_t at_ns);
void event_send(struct outlet *o, struct json *j);

#endif
