/* Kernel stacks in the trace (--trace-stacks): where in the kernel the CPU was while a lane waited. A `stacktrace` trigger of the instance
 * follows two events only: the expiry of a timer that interrupts a thread, and the switch from a thread to one of a lane's priority. */
#ifndef RTPROBE_STACKS_H
#define RTPROBE_STACKS_H

#include <stdbool.h>

enum { STACKS_EVENTS = 2 };

struct stacks {
	bool on[STACKS_EVENTS]; /* as stacks_events */
	int error; /* errno of the last trigger that was refused */
};

extern const char *const stacks_events[STACKS_EVENTS];

/* Sets the triggers of the instance in `directory`. `priority` is that of the lanes: 1 to 99, 0 without a real-time policy. */
void stacks_on(struct stacks *s, const char *directory, int priority);
void stacks_off(const struct stacks *s, const char *directory);

#endif
