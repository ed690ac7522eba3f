/* What `spool` writes and `fetch` reads: a stream as numbered segments in a directory, within a budget of bytes.
 *
 * DIR/00000000000000000000   bytes of the stream from this offset on; the next segment is named by where this one ends
 * DIR/pid                    "SPOOLER STARTTIME COMMAND BOOT_ID": who writes here
 * DIR/leads                  there if its end also ends others
 * DIR/control                a FIFO to the spooler: lines "close-stdin", "signal ID NUMBER"
 * DIR/errors, DIR/exit       at the end: the last of the command's stderr; "CODE TOTAL LOST", in place at once and last of all
 * DIR/fetcher, DIR/fetched   "PID STARTTIME" of the reader; bytes of the stream that have arrived at the host and were deleted
 */
#ifndef RTPROBE_SPOOL_H
#define RTPROBE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/emit.h"

enum { SPOOL_PATH = 1024, SPOOL_NAME = 20 };

struct segments {
	const char *dir;
	int fd;             /* of the segment being written, -1 before the first */
	uint64_t offset;    /* of the next byte of the stream */
	uint64_t start;     /* of the segment being written */
	uint64_t first;     /* of the oldest one still there */
	uint64_t budget, asked, segment_bytes; /* the budget shrinks below what was asked for while the disk is full */
	uint64_t lost;      /* bytes that could not even be counted in an event */
	bool reserve;       /* the reserve for the last frames is still there */
};

/* Path of a file of the spool; `out` has SPOOL_PATH bytes. Returns out. */
char *spool_path(char *out, const char *dir, const char *name);
char *segment_path(char *out, const char *dir, uint64_t offset);

/* 0, or -1 and errno. */
int segments_open(struct segments *s, const char *dir, uint64_t budget, uint64_t segment_bytes);
void segments_close(struct segments *s);
uint64_t segments_used(struct segments *s); /* bytes in the directory; what was fetched and deleted is looked for when it is much */
/* All of it or nothing. On a full disk the budget shrinks to what is there; with `last_ones` the reserve is given up first. */
bool segments_write(struct segments *s, const void *data, size_t length, bool last_ones);

/* ---- frames: which of them go, when there is no room for all ---- */

struct omitted { /* frames of one lane and type that were not kept, and not yet reported */
	uint16_t lane;
	unsigned char type;
	uint64_t frames, bytes, samples, missed, dropped;
};

struct frame_filter {
	struct segments *to;
	unsigned char *buffer; /* bytes that are no whole frame yet */
	size_t length, capacity;
	uint32_t seq;          /* of the next frame written: frames are numbered anew, so that what was left out leaves no gap */
	bool raw;              /* not a stream of frames: bytes pass unchanged while there is room, and none after that */
	struct omitted *omitted;
	size_t n_omitted;
	unsigned char *stale;  /* by path: the last content of it did not go, so "equals the last one" may not either */
	size_t n_stale;
	struct emit notes;
};

int filter_open(struct frame_filter *t, struct segments *to); /* 0, or -1 and errno */
int filter_feed(struct frame_filter *t, const void *data, size_t length); /* 0, or -1: no memory */
void filter_finish(struct frame_filter *t); /* passes the remaining bytes unchanged */
void filter_close(struct frame_filter *t);

#endif
