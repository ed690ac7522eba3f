/* The account of a lane: what is missed, dropped, cut and late, activation by activation. */
#include <stdlib.h>
#include <string.h>

#include "run/account.h"
#include "tap.h"

enum { INTERVAL_NS = 1000, FIRST_NS = 5000, NEVER = -1 };

static struct run run;
static struct lane lane;

/* A lane with `due` planned activations (NEVER: by count) in a run as the arguments say; 0: none. */
static struct account begin(int64_t due, uint64_t count, int64_t deadline_ns, int64_t break_ns)
{
	ring_close(&lane.ring);
	memset(&run, 0, sizeof run);
	memset(&lane, 0, sizeof lane);
	run = (struct run){
		.lanes = &lane, .n_lanes = 1, .interval_ns = INTERVAL_NS, .count = count, .deadline_ns = deadline_ns, .break_ns = break_ns
	};
	run.wake_fd = run.marker_fd = run.tracing_fd = -1;
	lane.run = &run;
	lane.first_due_ns = FIRST_NS;
	lane.limit = due == NEVER ? UINT64_MAX : (uint64_t)due;
	lane.state = LANE_RUNNING;
	lane.stats[0] = (struct lane_stats){ .min_ns = INT64_MAX, .max_ns = INT64_MIN };
	if (ring_open(&lane.ring, 1024))
		abort();
	return account_begin(&lane);
}

static void test_grid(void)
{
	struct account a = begin(10, 0, 0, 0);
	struct lane_stats s;

	OK(account_is_open(&a) && account_due_ns(&a) == FIRST_NS, "the first activation is due first");
	account_add(&a, 30, FIRST_NS + 30);
	OK(account_due_ns(&a) == FIRST_NS + INTERVAL_NS, "then one an interval later");
	account_add(&a, 2 * INTERVAL_NS + 1, FIRST_NS + 3 * INTERVAL_NS + 1);
	OK(account_due_ns(&a) == FIRST_NS + 4 * INTERVAL_NS, "a latency of two intervals misses two");
	account_add(&a, -5, 0);
	account_add(&a, INTERVAL_NS - 1, 0);
	OK(account_due_ns(&a) == FIRST_NS + 6 * INTERVAL_NS, "a latency below an interval misses none");
	s = lane_look(&lane);
	OK(s.count == 4 && s.missed == 2 && s.next_k == 6 && s.min_ns == -5 && s.max_ns == 2 * INTERVAL_NS + 1 && s.dropped == 0 &&
		   s.sum_ns == 30 + 2 * INTERVAL_NS + 1 - 5 + INTERVAL_NS - 1 && s.last_ns == INTERVAL_NS - 1,
	   "others see the counts");
	OK(ring_waiting(&lane.ring) == 4 && ring_at(&lane.ring, 1)->k == 1 && ring_at(&lane.ring, 2)->k == 4 &&
		   ring_at(&lane.ring, 2)->latency_ns == -5,
	   "the writer gets every sample with its place");
}

static void test_end(void)
{
	struct account a = begin(4, 0, 0, 0);

	account_add(&a, 0, 0);
	account_add(&a, 7 * INTERVAL_NS, 0);
	OK(!account_is_open(&a) && a.stats.missed == 2 && a.stats.next_k == 4, "no more is missed than was planned");
	OK(lane.clipped && lane.clip_k == 1 && lane.clip_missed == 2 && lane.clip_latency_ns == 7 * INTERVAL_NS, "and the cut is told");
	a = begin(NEVER, 2, 0, 0);
	account_add(&a, 3 * INTERVAL_NS, 0);
	OK(account_is_open(&a) && a.stats.next_k == 4, "by count, missed activations do not count");
	account_add(&a, 3 * INTERVAL_NS, 0);
	OK(!account_is_open(&a) && a.stats.next_k == 5 && a.stats.missed == 3, "and the last sample misses none");
}

static void test_stop(void)
{
	struct account a = begin(NEVER, 1000, 0, 0);

	OK(!account_is_over(&a, FIRST_NS), "a run goes on");
	OK(run_stop(&run, STOP_SIGNAL, FIRST_NS + 2 * INTERVAL_NS) && !run_stop(&run, STOP_TIME, 0), "the first stop counts");
	OK(!account_is_over(&a, FIRST_NS + 2 * INTERVAL_NS), "what was due at the stop is measured");
	OK(account_is_over(&a, FIRST_NS + 2 * INTERVAL_NS + 1), "what is due later is not");
	account_add(&a, 9 * INTERVAL_NS, 0);
	OK(a.stats.missed == 2 && lane.clipped, "nothing is missed after the stop");
	lane.state = LANE_CLOSED;
	OK(account_is_over(&a, FIRST_NS), "a closed lane measures nothing more");
}

static void test_late(void)
{
	struct account a = begin(NEVER, 1000, 100, 200);

	account_add(&a, 99, 0);
	account_add(&a, 100, 0);
	account_add(&a, 199, 0);
	OK(a.stats.exceedances == 2 && !run.stop, "the deadline itself is an exceedance");
	account_add(&a, 200, 12345);
	OK(a.stats.exceedances == 3 && run.stop && run.stop_reason == STOP_BREAK, "--break-above stops the run at its threshold");
	OK(run.break_k == 3 && run.break_latency_ns == 200 && run.break_at_ns == 12345 && run.close_ns == 12345, "and tells what it saw");
	account_add(&a, 300, 0);
	OK(run.break_k == 3 && run.break_latency_ns == 200, "the first hit stays");
}

static void test_full_ring(void)
{
	struct account a = begin(NEVER, 5000, 0, 0);

	for (int i = 0; i < 1030; i++)
		account_add(&a, i % 100, 0);
	OK(a.stats.count == 1030 && a.stats.dropped == 6 && a.stats.max_ns == 99, "what a full ring refuses is counted as dropped");
	OK(ring_waiting(&lane.ring) == 1024 && lane_look(&lane).dropped == 6, "and no other sample is lost");
	ring_release(&lane.ring, 1);
	account_add(&a, 7, 0);
	OK(ring_at(&lane.ring, 1023)->dropped == 6 && ring_at(&lane.ring, 1023)->k == 1030, "the next sample tells how many are missing");
}

int main(void)
{
	test_grid();
	test_end();
	test_stop();
	test_late();
	test_full_ring();
	return tap_end();
}
