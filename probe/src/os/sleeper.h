/* The ways in which a thread can sleep until a moment, and the clocks that may count the time of its sleep. */
#ifndef RTPROBE_SLEEPER_H
#define RTPROBE_SLEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum sleep_way { SLEEP_NANOSLEEP, SLEEP_TIMERFD, SLEEP_SIGNAL, SLEEP_POLL, SLEEP_WAYS };
enum sleep_clock { SLEEP_MONOTONIC, SLEEP_REALTIME, SLEEP_TAI, SLEEP_BOOTTIME, SLEEP_CLOCKS };

extern const char *const sleep_way_names[];   /* end with NULL, in the order of the enums */
extern const char *const sleep_clock_names[];

struct sleeper {
	enum sleep_way way;
	clockid_t clock;
	int64_t offset_ns; /* of the clock, minus CLOCK_MONOTONIC */
	int fd;            /* SLEEP_TIMERFD */
	timer_t timer;     /* SLEEP_SIGNAL */
	uint64_t steps;    /* how often the clock was set while it slept by it */
};

/* For the calling thread. 0, or errno: this kernel does not have the way, or not with this clock. */
int sleeper_open(struct sleeper *sleeper, enum sleep_way way, enum sleep_clock clock);
void sleeper_close(struct sleeper *sleeper);
/* Sleeps until `due_ns` of CLOCK_MONOTONIC by the clock of the sleeper. 0, or errno (EINTR: a signal came). */
int sleeper_until(const struct sleeper *sleeper, int64_t due_ns);
/* Looks whether the clock was set since the last look, and goes on with the new time if so. */
bool sleeper_was_set(struct sleeper *sleeper);

#endif
