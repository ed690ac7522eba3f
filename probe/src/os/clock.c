#include "os/clock.h"

#include <stdlib.h>

static int64_t clock_now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t mono_ns(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

int64_t wall_ns(void)
{
	return clock_now(CLOCK_REALTIME);
}

int64_t clock_offset_ns(clockid_t id)
{
	enum { TRIES = 5 };
	int64_t best = INT64_MAX, offset = 0;

	for (int i = 0; i < TRIES; i++) {
		struct timespec t;
		int64_t before = mono_ns(), apart;

		if (clock_gettime(id, &t))
			return 0;
		apart = mono_ns() - before;
		if (apart < best) {
			best = apart;
			offset = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (before + apart / 2);
		}
	}
	return offset;
}

static int by_size(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct clock_facts clock_measure(void)
{
	enum { READS = 2000, BATCHES = 31, BATCH = 64 };
	struct clock_facts facts = { 0, 0, 0 };
	struct timespec resolution;
	int64_t cost[BATCHES], last = mono_ns();

	if (!clock_getres(CLOCK_MONOTONIC, &resolution))
		facts.getres_ns = (int64_t)resolution.tv_sec * 1000000000 + resolution.tv_nsec;
	/* Find the smallest step: 1 ns on a TSC, 52 ns on a 19.2 MHz counter. On a 4 ms clock each step takes long, so bound the reads. */
	for (int i = 0; i < READS; i++) {
		int64_t now = mono_ns();

		for (int spin = 0; now == last && spin < 1000000; spin++)
			now = mono_ns();
		if (now > last && (!facts.step_ns || now - last < facts.step_ns))
			facts.step_ns = now - last;
		if (now - last > 100000 && i > 8)
			break; /* a coarse clock: more steps tell nothing new */
		last = now;
	}
	/* Two reads differ by a multiple of the tick, not by the cost of a read. So time many reads and divide. */
	for (int b = 0; b < BATCHES; b++) {
		int64_t start = mono_ns(), end = start;

		for (int i = 0; i < BATCH; i++)
			end = mono_ns();
		cost[b] = (end - start) / BATCH;
	}
	qsort(cost, BATCHES, sizeof *cost, by_size);
	facts.read_cost_ns = cost[BATCHES / 2];
	return facts;
}
