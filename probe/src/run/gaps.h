/* Gaps that a busy lane found, on their way to the writer: one producer, one consumer, no lock, no wait. */
#ifndef RTPROBE_GAPS_H
#define RTPROBE_GAPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GAPS = 4096 }; /* a power of two: what comes between two looks of the writer */

struct gap {
	int64_t start_ns, length_ns;
};

struct gaps {
	_Atomic uint32_t head, tail;
	_Atomic uint64_t found; /* all of them, those without room included */
	struct gap slot[GAPS];
};

/* By the lane. */
static inline void gaps_put(struct gaps *g, int64_t start_ns, int64_t length_ns)
{
	const uint32_t head = atomic_load_explicit(&g->head, memory_order_relaxed);
	const uint64_t found = atomic_load_explicit(&g->found, memory_order_relaxed);

	atomic_store_explicit(&g->found, found + 1, memory_order_relaxed);
	if (head - atomic_load_explicit(&g->tail, memory_order_acquire) == GAPS)
		return;
	g->slot[head % GAPS] = (struct gap){ start_ns, length_ns };
	atomic_store_explicit(&g->head, head + 1, memory_order_release);
}

/* By the consumer; false: there is none now. */
static inline bool gaps_take(struct gaps *g, struct gap *gap)
{
	const uint32_t tail = atomic_load_explicit(&g->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&g->head, memory_order_acquire))
		return false;
	*gap = g->slot[tail % GAPS];
	atomic_store_explicit(&g->tail, tail + 1, memory_order_release);
	return true;
}

#endif
