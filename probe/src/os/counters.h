/* Counters of the kernel and of the processor (perf_event_open) for the programs that a thread starts one after another. */
#ifndef RTPROBE_COUNTERS_H
#define RTPROBE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { COUNTERS = 6, COUNTER_SLOW = -1 };

struct counter {
	int fd; /* -1: not counted */
	int guard_fd;
	int refused; /* errno of why not, or COUNTER_SLOW */
	bool user_only; /* what the kernel does for the program is not counted, for that is refused */
	uint64_t last, last_enabled_ns, last_running_ns;
	/* Programs that were counted, and those of them whose count is estimated: others had the counter for a part of their time. */
	uint64_t jobs, estimated;
	uint64_t sum, min, max;
};

struct counters {
	struct counter each[COUNTERS];
	int64_t free_ns; /* what the kernel takes to free one counter; a program ends later by that for each that it has */
};

/* As the reports name it. */
const char *counter_name(int which);
/* Why it is not counted, and what to do. */
const char *counter_refusal(int error);
/* Once, before the threads that count: what the kernel takes to free a counter, 0 if it cannot be known. Some 10 ms the first time. */
int64_t counters_prepare(void);
/* By the thread that starts the programs: from now on what it starts is counted, from exec to exit, with all threads and processes of it.
 * False for `always`: nothing is counted where freeing a counter takes more than 1 ms. */
void counters_open(struct counters *c, int64_t free_ns, bool always);
/* After a program has ended. False for `kept`: what it counted is left out of the sums. */
void counters_take(struct counters *c, bool kept);
void counters_close(struct counters *c);

#endif
