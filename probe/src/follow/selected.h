/* A second trace instance, in which only the followed threads are: who woke them when, and when they got a CPU. It is small and is read all
 * the time, so that the large ring (run/capture.h) must be read only after a late wake-up. */
#ifndef RTPROBE_SELECTED_H
#define RTPROBE_SELECTED_H

#include <stdbool.h>
#include <stddef.h>

#include "follow/records.h"
#include "os/cpus.h"
#include "run/keeper.h"

enum { SELECTED_PATH = 256, SELECTED_ERROR = 200 };

struct selected {
	char directory[SELECTED_PATH];
	char error[SELECTED_ERROR];
	struct keeper keeper;
	struct records records;
	int n_cpus, *cpu, *raw; /* trace_pipe_raw of each */
	unsigned char *page;
	size_t page_size;
	struct moment *moments, *taken; /* read and not taken yet; given to the caller */
	size_t n, room, taken_room;
	uint32_t order;
	uint64_t losses;
};

/* Before the first thread: makes the instance, without events. 0, or -1 with s->error. */
int selected_prepare(struct selected *s, const char *root, const struct cpus *cpus);
/* One more thread; the threads that it starts come by themselves. 0 or errno. */
int selected_add(struct selected *s, int tid);
/* Switches the events on. 0, or -1 with s->error. */
int selected_begin(struct selected *s);
/* All moments before now in the order of time: their number. They stay until the next call. */
size_t selected_read(struct selected *s, const struct moment **moments);
/* Removes the instance. */
void selected_remove(struct selected *s);

#endif
