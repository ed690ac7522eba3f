/* A run: its plan and its lanes, one measuring thread on one CPU each. */
#ifndef RTLANE_H
#define RTLANE_H

#include <stdint.h>

#include "rtlite.h"

enum {
	DENSE = 1000,   /* bins of rtl_plan.bin_ns each */
	OCTAVES = 30,   /* above them; each octave in EIGHTHS parts */
	EIGHTHS = 8,
	WORST = 64,     /* the largest latencies, kept one by one */
	REFUSED = 1000, /* so many sleeps in a row that fail or end early, and the lane gives up */
};

struct worst {
	int64_t latency_ns;
	uint32_t k, missed;
};

struct rtl_lane {
	int index, priority, fixed;
	int64_t first_due_ns, min_ns, max_ns, sum_ns, clip_ns;
	uint32_t next_k, n, missed, exceedances, early, errors, clip_missed;
	uint32_t dense[DENSE], above[OCTAVES * EIGHTHS];
	struct worst worst[WORST]; /* a heap: the smallest first */
	int kept;
	volatile uint32_t beat_n, beat_missed, beat_max_us; /* for the thread that reports, each written in one piece */
	volatile int ended;
};
extern struct rtl_lane rtl_lanes[RTL_LANES];

struct rtl_plan {
	int64_t count, interval_ns, deadline_ns, bin_ns, priority, lanes, load_ns, load_every_ns;
	char load[12];
};
extern struct rtl_plan rtl_plan;
extern volatile int rtl_stop; /* the lanes end at their next activation */

/* The thread of a lane; `lane` is one of `rtl_lanes`, all zero but for index, first_due_ns and min_ns. */
void rtl_lane_measure(void *lane);
/* What it measured, after it has ended. */
void rtl_lane_tell(const struct rtl_lane *lane);

/* rtcheck.c: the lines FACTS and CLOCK; and a session that tells whether the port keeps its promises. */
void rtl_tell_facts(void);
void rtl_check_port(void);

#endif
