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
	FRAME_TRACE_TEXT,
	FRAME_TRACE_PAGE,
	FRAME_GAPS,
};
enum { FRAME_HEADER = 24, FRAME_MAX = 1 << 20, LANE_NONE = 0xFFFF };

/* One writer at a time: callers with threads hold their own lock. */
struct emit {
	int fd; /* -1: frames are built, counted and discarded */
	uint32_t seq;
	unsigned char *buffer;
	size_t length, capacity;
	size_t open_at; /* start of the frame begun, while emit_begin is open */
	int error;      /* errno of the first failed write; later frames are discarded */
	uint64_t bytes, writes, write_errors;
};

/* `capacity` bytes are kept before a write is forced; at least one frame always fits. 0, or -1 and errno (no memory). */
int emit_open(struct emit *e, int fd, size_t capacity);
void emit_close(struct emit *e); /* flushes and frees; does not close fd */

/* Appends one whole frame. 0, or -1 once writing has failed (e->error). */
int emit_frame(struct emit *e, enum frame_type type, uint16_t lane, const void *payload, size_t length);
/* The same without a copy: emit_begin gives room for `most` bytes of payload, emit_commit says how many are used. Never NULL while
 * most <= FRAME_MAX. */
void *emit_begin(struct emit *e, enum frame_type type, uint16_t lane, size_t most);
int emit_commit(struct emit *e, size_t length);
/* Writes all that is pending, also after EINTR, EAGAIN and partial writes. On failure (EPIPE, ENOSPC ...) it cuts a regular file back to
 * its last whole frame, keeps errno in e->error, and returns -1. */
int emit_flush(struct emit *e);

uint32_t crc32_update(uint32_t crc, const void *data, size_t length); /* IEEE, as zlib's: start with 0 */
void put_u16(unsigned char *at, uint16_t value);
void put_u32(unsigned char *at, uint32_t value);
void put_u64(unsigned char *at, uint64_t value);

/* Emits the JSON text as a frame and frees it. */
int emit_json(struct emit *e, enum frame_type type, uint16_t lane, struct json *j);

#endif
