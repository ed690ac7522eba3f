/* Writes the frames of wire/STREAM.md. */
#ifndef RTPROBE_EMIT_H
#define RTPROBE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/json.h"

enum frame_type {
	FRAME_FACTS = 1,
	FRAME_SAMPLES,
	FRAME_SECOND,
	FRAME_SPILL,
	FRAME_HISTOGRAM,
	FRAME_EVENT,
	FRAME_FILE,
	FRAME_OUTPUT,
	FRAME_END,
};
enum { FRAME_HEADER = 24, FRAME_MAX = 1 << 20, LANE_NONE = 0xFFFF };

/* One writer at a time: callers with threads hold their own lock. */
struct emit {
	int fd; /* -1: frames are built, counted and thrown away */
	uint32_t seq;
	unsigned char *buffer;
	size_t length, capacity;
	size_t open_at; /* start of the frame begun, while emit_begin is open */
	int error;      /* errno of the first failed write; from then on frames are thrown away */
	uint64_t bytes, writes, write_errors;
};

/* `capacity` bytes are kept before a write is forced; at least one frame always fits. 0, or -1 and errno (no memory). */
int emit_open(struct emit *e, int fd, size_t capacity);
void emit_close(struct emit *e); /* flushes and frees; does not close fd */

/* Appends one whole frame. 0, or -1 once writing has failed (e->error). */
int emit_frame(struct emit *e, enum frame_type type, uint16_t lane, const void *payload, size_t length);
/* Without a copy: room for at most `most` bytes of payload, then how many there are. Never NULL while most <= FRAME_MAX. */
void *emit_begin(struct emit *e, enum frame_type type, uint16_t lane, size_t most);
int emit_commit(struct emit *e, size_t length);
/* Writes what is pending: all of it, over EINTR, EAGAIN and partial writes. On failure (EPIPE, ENOSPC ...) a regular file is cut back
 * to its last whole frame, e->error keeps errno, and -1 comes back. */
int emit_flush(struct emit *e);

uint32_t crc32_update(uint32_t crc, const void *data, size_t length); /* IEEE, as zlib's: start with 0 */
void put_u16(unsigned char *at, uint16_t value);
void put_u32(unsigned char *at, uint32_t value);
void put_u64(unsigned char *at, uint64_t value);

/* Emits the JSON text as a frame and frees it. */
int emit_json(struct emit *e, enum frame_type type, uint16_t lane, struct json *j);

#endif
