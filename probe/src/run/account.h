/* The account of a lane's activations. The measuring loop of a method goes:
 *
 *	struct account a = account_begin(lane);
 *
 *	while (account_is_open(&a)) {
 *		const int64_t due_ns = account_due_ns(&a);
 *		... wait until due_ns, measure ...
 *		if (account_is_over(&a, due_ns))
 *			break;
 *		account_add(&a, latency_ns, now_ns);
 *	}
 *
 * Everything that runs for each activation is inline. Nothing here allocates, locks or makes a system call.
 */
#ifndef RTPROBE_ACCOUNT_H
#define RTPROBE_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/lane.h"
#include "run/ring.h"

struct account {
	struct lane *lane;
	int64_t interval_ns, misses_ns, deadline_ns, break_ns; /* INT64_MAX: none */
	uint64_t limit, want, traced_k;
	struct lane_stats stats;
};

/* The rare cases. */
bool account_stopped_before(const struct lane *lane, int64_t due_ns);
uint64_t account_missed(struct lane *lane, uint64_t k, int64_t latency_ns, bool last);
void account_split(struct account *a);
void account_hit(struct lane *lane, uint64_t k, int64_t latency_ns);
void account_break(struct lane *lane, uint64_t k, int64_t latency_ns, int64_t now_ns);

static inline struct account account_begin(struct lane *lane)
{
	const struct run *run = lane->run;

	return (struct account){
		.lane = lane,
		.interval_ns = run->interval_ns,
		.misses_ns = lane->windows ? INT64_MAX : run->interval_ns,
		.deadline_ns = run->deadline_ns ? run->deadline_ns : INT64_MAX,
		.break_ns = run->break_ns ? run->break_ns : INT64_MAX,
		.limit = lane->limit,
		.want = run->count ? run->count : UINT64_MAX,
		.traced_k = run->trace ? lane->traced_k : UINT64_MAX,
		.stats = lane->stats[0],
	};
}

/* Is another activation planned? */
static inline bool account_is_open(const struct account *a)
{
	return a->stats.next_k < a->limit && a->stats.count < a->want;
}

/* When the next activation is due. */
static inline int64_t account_due_ns(const struct account *a)
{
	return a->lane->first_due_ns + (int64_t)a->stats.next_k * a->interval_ns;
}

/* Was the run told to stop before this activation was due? Asked after the wait. */
static inline bool account_is_over(const struct account *a, int64_t due_ns)
{
	return atomic_load_explicit(&a->lane->run->stop, memory_order_acquire) && account_stopped_before(a->lane, due_ns);
}

static inline void account_publish(struct lane *lane, const struct lane_stats *stats)
{
	const uint32_t next = atomic_load_explicit(&lane->published, memory_order_relaxed) + 1;

	lane->stats[next & 1] = *stats;
	atomic_store_explicit(&lane->published, next, memory_order_release);
}

/* For a method whose samples the kernel takes: the next sample is that of activation k, not before next_k. Up to `lost` samples before it
 * were taken and lost; the other activations between were missed. */
static inline void account_skip(struct account *a, uint64_t k, uint64_t lost)
{
	const uint64_t gap = k - a->stats.next_k, dropped = lost < gap ? lost : gap;

	a->stats.count += dropped;
	a->stats.dropped += dropped;
	a->stats.missed += gap - dropped;
	a->stats.next_k = k;
}

/* Counts the activation that was due, and hands it to the writer. */
static inline void account_add(struct account *a, int64_t latency_ns, int64_t now_ns)
{
	struct lane *lane = a->lane;
	struct lane_stats *s = &a->stats;
	const uint64_t k = s->next_k;

	if (k >= a->traced_k)
		account_split(a);
	if (latency_ns >= (int64_t)atomic_load_explicit(&lane->hits.level_ns, memory_order_relaxed))
		account_hit(lane, k, latency_ns);
	if (latency_ns >= a->break_ns)
		account_break(lane, k, latency_ns, now_ns);
	s->count++;
	s->next_k = k + 1;
	if (latency_ns >= a->misses_ns) {
		const uint64_t missed = account_missed(lane, k, latency_ns, s->count == a->want);

		s->missed += missed;
		s->next_k += missed;
	}
	s->last_ns = latency_ns;
	s->sum_ns += latency_ns;
	s->min_ns = latency_ns < s->min_ns ? latency_ns : s->min_ns;
	s->max_ns = latency_ns > s->max_ns ? latency_ns : s->max_ns;
	s->exceedances += latency_ns >= a->deadline_ns;
	if (ring_full(&lane->ring)) {
		s->dropped++;
		account_publish(lane, s);
		return;
	}
	account_publish(lane, s);
	ring_put(&lane->ring, (uint32_t)k, (uint32_t)s->dropped, latency_ns);
}

#endif
