/* Samples from one lane to the writer: one producer, one consumer, no lock, no wait. A full ring refuses a sample, and the lane counts it. */
#ifndef RTPROBE_RING_H
#define RTPROBE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_slot {
	uint32_t k; /* low half of the activation index */
	uint32_t dropped; /* low half of how many samples were refused before this one */
	int64_t latency_ns;
};

struct ring {
	struct ring_slot *slots;
	uint32_t mask;
	_Alignas(64) _Atomic uint32_t head; /* written by the producer */
	uint32_t seen_tail; /* tail when the producer last read it; read again only when the ring seems full */
	_Alignas(64) _Atomic uint32_t tail; /* written by the consumer */
};

/* A power of two of at least `samples` (and 1024) slots, all of them touched. 0, or -1 and errno. */
int ring_open(struct ring *r, uint64_t samples);
void ring_close(struct ring *r);
size_t ring_bytes(const struct ring *r);

static inline bool ring_full(struct ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head - r->seen_tail <= r->mask)
		return false;
	r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	return head - r->seen_tail > r->mask;
}

/* Only after ring_full() returned false. */
static inline void ring_put(struct ring *r, uint32_t k, uint32_t dropped, int64_t latency_ns)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	r->slots[head & r->mask] = (struct ring_slot){ k, dropped, latency_ns };
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

/* For the consumer: how many samples wait, the i-th of them, and release of the first n. */
static inline uint32_t ring_waiting(const struct ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_acquire) - atomic_load_explicit(&r->tail, memory_order_relaxed);
}

static inline const struct ring_slot *ring_at(const struct ring *r, uint32_t i)
{
	return &r->slots[(atomic_load_explicit(&r->tail, memory_order_relaxed) + i) & r->mask];
}

static inline void ring_release(struct ring *r, uint32_t n)
{
	atomic_store_explicit(&r->tail, atomic_load_explicit(&r->tail, memory_order_relaxed) + n, memory_order_release);
}

#endif
