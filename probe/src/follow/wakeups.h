/* The wake-ups of one followed thread: from its waking until it gets the CPU. */
#ifndef RTPROBE_WAKEUPS_H
#define RTPROBE_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "follow/records.h"

/* Counts with a resolution of 3 %: 32 steps for each power of two, up to 2^40 ns. */
enum { WAKEUP_STEPS = 32, WAKEUP_BINS = 36 * WAKEUP_STEPS };
#define WAKEUPS_NO_LEVEL INT64_MAX

struct wakeup {
	int64_t woken_ns, ran_ns;
	int32_t cpu; /* on which it got to run */
};

struct wakeups {
	int32_t tid;
	bool running;
	bool early;       /* it was woken before it had left the CPU */
	int64_t woken_ns; /* 0: it was not, since it ran */
	uint64_t n;
	int64_t min_ns, max_ns, sum_ns; /* without meaning while n is 0 */
	uint32_t bins[WAKEUP_BINS];
};

/* What this moment means for the thread. True: a wake-up is complete. */
bool wakeups_take(struct wakeups *w, const struct moment *m, struct wakeup *found);
/* Nearest rank: the ceil(n * top / bottom)-th smallest, rounded down to a step. 0 without any. */
int64_t wakeups_quantile(const struct wakeups *w, uint64_t top, uint64_t bottom);
/* From which delay on a wake-up of this thread is late, where nobody gave a level: 4 x its p99.9; with fewer than 1000 wake-ups 8 x its
 * median; with fewer than 20 WAKEUPS_NO_LEVEL. */
int64_t wakeups_level(const struct wakeups *w);

#endif
