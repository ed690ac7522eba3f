/* Late wake-ups from a lane to the thread that keeps their trace: one producer, one consumer, no lock, no wait. */
#ifndef RTPROBE_HITS_H
#define RTPROBE_HITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HITS = 256 }; /* a power of two */
#define HITS_OFF UINT32_MAX

struct hit {
	uint64_t k;
	int64_t due_ns, woke_ns;
	uint32_t level_ns; /* that it reached */
	int32_t lane, cpu, tid;
};

struct hits {
	_Atomic uint32_t level_ns; /* a wake-up this late is a hit; HITS_OFF: none is */
	_Atomic uint32_t head, tail;
	_Atomic uint32_t refused; /* there was no room for them */
	struct hit slot[HITS];
};

/* By the lane. */
static inline void hits_put(struct hits *h, const struct hit *hit)
{
	const uint32_t head = atomic_load_explicit(&h->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&h->tail, memory_order_acquire) == HITS) {
		atomic_fetch_add_explicit(&h->refused, 1, memory_order_relaxed);
		return;
	}
	h->slot[head % HITS] = *hit;
	atomic_store_explicit(&h->head, head + 1, memory_order_release);
}

/* By the consumer; false: there is none now. */
static inline bool hits_take(struct hits *h, struct hit *hit)
{
	const uint32_t tail = atomic_load_explicit(&h->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&h->head, memory_order_acquire))
		return false;
	*hit = h->slot[tail % HITS];
	atomic_store_explicit(&h->tail, tail + 1, memory_order_release);
	return true;
}

#endif
