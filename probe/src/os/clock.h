/* The clocks of the board. */
#ifndef RTPROBE_CLOCK_H
#define RTPROBE_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t mono_ns(void);
int64_t wall_ns(void);
/* A clock minus CLOCK_MONOTONIC. It reads both several times and takes the pair that was closest together, because preemption may come
 * between two reads. 0 where the kernel does not have the clock. */
int64_t clock_offset_ns(clockid_t id);

struct clock_facts {
	int64_t getres_ns, step_ns, read_cost_ns;
};
struct clock_facts clock_measure(void);

#endif
