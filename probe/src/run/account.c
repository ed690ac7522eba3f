#include "run/account.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Also true when the supervisor has closed this lane. */
bool account_stopped_before(const struct lane *lane, int64_t due_ns)
{
	return atomic_load_explicit(&lane->state, memory_order_relaxed) != LANE_RUNNING || due_ns > lane->run->close_ns;
}

/* Activations that were due while this one was late, up to the end of the run. */
uint64_t account_missed(struct lane *lane, uint64_t k, int64_t latency_ns, bool last)
{
	struct run *run = lane->run;
	uint64_t missed = (uint64_t)latency_ns / (uint64_t)run->interval_ns, most = lane->limit - 1 - k;

	if (atomic_load_explicit(&run->stop, memory_order_acquire))
		most = lane_due(lane, run->close_ns) - 1 - k;
	if (last)
		most = 0;
	if (missed <= most)
		return missed;
	lane->clip_k = k;
	lane->clip_latency_ns = latency_ns;
	lane->clip_missed = most;
	atomic_store_explicit(&lane->clipped, 1, memory_order_release);
	return most;
}

/* The traced part begins with this activation. */
void account_split(struct account *a)
{
	a->traced_k = UINT64_MAX;
	a->lane->untraced = a->stats;
	atomic_store_explicit(&a->lane->was_traced, 1, memory_order_release);
}

void account_hit(struct lane *lane, uint64_t k, int64_t latency_ns)
{
	const uint32_t level_ns = atomic_load_explicit(&lane->hits.level_ns, memory_order_relaxed);
	const int64_t due_ns = lane->first_due_ns + (int64_t)k * lane->run->interval_ns;

	if (level_ns != HITS_OFF)
		hits_put(&lane->hits,
			 &(struct hit){ k, due_ns, due_ns + latency_ns, level_ns, lane->index, lane->cpu, lane_measured(lane) });
}

void account_break(struct lane *lane, uint64_t k, int64_t latency_ns, int64_t now_ns)
{
	struct run *run = lane->run;
	char mark[96];
	int length;

	if (atomic_load_explicit(&run->stop_claim, memory_order_relaxed) || atomic_exchange(&run->break_claim, 1))
		return; /* the first hit ends the run; only it marks the trace */
	if (run->marker_fd >= 0) {
		length = snprintf(mark, sizeof mark, "rtprobe: cpu %d late %lld ns\n", lane->cpu, (long long)latency_ns);
		if (write(run->marker_fd, mark, (size_t)length) < 0 || write(run->tracing_fd, "0", 1) < 0)
			run->break_errno = errno;
	}
	if (!run_stop(run, STOP_BREAK, now_ns))
		return;
	run->break_k = k;
	run->break_latency_ns = latency_ns;
	run->break_at_ns = now_ns;
	run->break_lane = lane->index; /* others read these only after this lane has ended */
}
