/* The kernel's trace around late wake-ups (--trace-above). A trace instance of our own is made before the lanes start, its events are switched
 * on when the first half of the run is over, and a thread beside the lanes keeps the pages around each hit. Nothing of them is parsed here.
 * Without tracefs the run goes on untraced, and END says why. */
#ifndef RTPROBE_CAPTURE_H
#define RTPROBE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/addresses.h"
#include "run/choice.h"
#include "run/keeper.h"
#include "run/lane.h"
#include "run/pages.h"
#include "run/stacks.h"
#include "stream/emit.h"

enum { CAPTURE_ERROR = 300, CAPTURE_EVENTS = 32, CAPTURE_PATH = 256 };

/* A frame on its way from the capturing thread to the writer. */
struct parcel {
	struct parcel *next;
	enum frame_type type;
	uint16_t lane;
	size_t length;
	unsigned char payload[];
};

struct capture {
	struct run *run;
	char directory[CAPTURE_PATH]; /* of the instance */
	char error[CAPTURE_ERROR]; /* why there is no trace, or not all of it */
	struct keeper keeper;
	struct cpus where; /* its thread may use these CPUs */
	struct pages *pages; /* of each lane's CPU */
	int *raw; /* trace_pipe_raw of each lane's CPU */
	struct addresses addresses;
	struct stacks stacks;
	bool on[CAPTURE_EVENTS]; /* as capture_events */
	int buffer_kb; /* of each CPU; 0 before capture_prepare: the usual size */
	bool ready, begun;
	int64_t begun_ns; /* since when all events are on */

	struct choice choice;

	_Atomic(struct parcel *) parcels; /* the newest first */
	_Atomic size_t waiting_bytes;
	_Atomic int finish, done;
	_Atomic uint32_t beats; /* a sign of progress */
	int wake_fd;

	/* END */
	uint64_t hits, captured, beyond_limit, sent_pages, sent_bytes, lost_pages;
	int64_t cpu_ns;
};

/* The events, as paths below `events`; ends with NULL. */
extern const char *const capture_events[];

/* Before the first thread: removes what dead runs left, makes the instance. On failure c->error says why, and c->ready is false. */
void capture_prepare(struct capture *c, struct run *run, const char *const *roots);
/* Starts the thread. */
void capture_start(struct capture *c, const struct cpus *where);
/* The thread takes the last hits, switches the events off and sends its texts. Then `done` is set. */
void capture_finish(struct capture *c);
/* By the writer: the frames that wait. */
void capture_deliver(struct capture *c, struct emit *emit);
/* Removes the instance, in bounded time. */
void capture_remove(struct capture *c);

#endif
