#include "run/lane.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"
#include "run/method.h"

enum { STACK_BYTES = 256 * 1024, STACK_TOUCHED = 32 * 1024, LEAD_NS = 20000000 };

bool run_stop(struct run *run, enum stop_reason reason, int64_t at_ns)
{
	const uint64_t one = 1;

	if (atomic_exchange(&run->stop_claim, 1))
		return false;
	run->close_ns = at_ns;
	run->stop_reason = reason;
	atomic_store_explicit(&run->stop, 1, memory_order_release);
	if (write(run->wake_fd, &one, sizeof one) < 0)
		return true; /* the supervisor also looks once a second */
	return true;
}

void run_keep_lanes(struct run *run, int kept)
{
	const int per_cpu = run->method->lanes_per_cpu;

	for (int slot = 0; slot < run->n_slots; slot++)
		for (int i = 0; i < kept; i++) {
			struct lane *lane = &run->lanes[slot * kept + i];

			*lane = run->lanes[slot * per_cpu + i];
			lane->index = slot * kept + i;
		}
	run->n_lanes = run->n_slots * kept;
}

struct lane_stats lane_look(const struct lane *lane)
{
	struct lane_stats copy;
	uint32_t before;

	do { /* read again if the lane published twice meanwhile */
		before = atomic_load_explicit(&lane->published, memory_order_acquire);
		copy = lane->stats[before & 1];
		atomic_thread_fence(memory_order_acquire);
	} while (before != atomic_load_explicit(&lane->published, memory_order_relaxed));
	return copy;
}

pid_t lane_measured(const struct lane *lane)
{
	if (lane->measured_tid)
		return lane->measured_tid;
	return lane->taken_by ? lane->taken_by->tid : lane->tid;
}

void run_cpu_mask(const struct run *run, char *out, size_t size)
{
	uint32_t word[MAX_CPUS / 32] = { 0 };
	size_t used = 0;
	int highest = 0;

	for (int i = 0; i < run->n_lanes; i++) {
		const int cpu = run->lanes[i].cpu;

		word[cpu / 32] |= UINT32_C(1) << cpu % 32;
		if (cpu / 32 > highest)
			highest = cpu / 32;
	}
	for (int i = highest; i >= 0 && used < size; i--)
		used += (size_t)snprintf(out + used, size - used, "%08" PRIx32 "%s", word[i], i ? "," : "");
}

uint64_t lane_due(const struct lane *lane, int64_t closed_ns)
{
	uint64_t due;

	if (closed_ns < lane->first_due_ns)
		return 0;
	due = (uint64_t)(closed_ns - lane->first_due_ns) / (uint64_t)lane->run->interval_ns + 1;
	return due < lane->limit ? due : lane->limit;
}

/* The last moment at which an activation could be due, to count by `end_ns`. */
static int64_t last_begin(const struct lane *lane, int64_t end_ns)
{
	return lane->whole_windows ? end_ns + 1 - lane->run->interval_ns : end_ns;
}

int64_t lane_closed_ns(const struct lane *lane, const struct lane_stats *stats)
{
	const struct run *run = lane->run;

	if (run->count && stats->count >= run->count) /* it ended with its last sample, so that one missed nothing */
		return lane->first_due_ns + (int64_t)(stats->next_k - 1) * run->interval_ns;
	return last_begin(lane, atomic_load_explicit(&run->stop, memory_order_acquire) ? run->close_ns : run->planned_end_ns);
}

/* While it has this value, or until a signal comes. */
static void wait_once(_Atomic int *word, int value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wait_for(_Atomic int *word, int value)
{
	while (atomic_load_explicit(word, memory_order_acquire) == value)
		wait_once(word, value);
}

static void wake_all(_Atomic int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Touches the stack that the loop will use, so that the loop has no page faults. */
static int touch_stack(bool lock)
{
	volatile char stack[STACK_TOUCHED];

	for (size_t i = 0; i < sizeof stack; i += 1024)
		stack[i] = 0;
	return lock && mlock((const void *)stack, sizeof stack) ? errno : 0;
}

static int take_policy(struct lane *lane)
{
	struct run *run = lane->run;
	struct rlimit limit;

	/* The soft limit may be below the hard one. It belongs to the process, and each lane sets the same value. */
	if (!getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_RTPRIO, &limit);
	}
	lane->got_policy = run->policy;
	lane->got_priority = run->priority;
	lane->refused = run->policy == POLICY_DEADLINE ? rt_set_deadline(run->runtime_ns, run->interval_ns)
						       : rt_set_policy(0, lane->got_policy, lane->got_priority);
	if (!lane->refused)
		return 0;
	if (!run->fallback)
		return -1;
	/* Take the priority that the limit allows, else none. */
	if (run->priority && !getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur > 0 && limit.rlim_cur < (rlim_t)run->priority &&
	    !rt_set_policy(0, run->policy, (int)limit.rlim_cur)) {
		lane->got_priority = (int)limit.rlim_cur;
		return 0;
	}
	lane->got_policy = SCHED_OTHER;
	lane->got_priority = 0;
	return 0;
}

/* The first due time from the origin on, by the kernel's grid. */
static int64_t first_on_grid(const struct run *run, int64_t grid_ns)
{
	const int64_t periods = (run->origin_ns - grid_ns + run->interval_ns - 1) / run->interval_ns;

	return grid_ns + periods * run->interval_ns;
}

/* The last lane that arrives sets the grid. It is real-time, so no load delays it between this choice and the first sleep. */
static void rendezvous(struct run *run)
{
	if (atomic_fetch_add(&run->arrived, 1) + 1 < run->n_lanes) {
		wait_for(&run->started, 0);
		return;
	}
	run->origin_ns = mono_ns() + LEAD_NS;
	run->planned_end_ns = run->duration_ns ? run->origin_ns + run->duration_ns - 1 : 0;
	run->untraced_until_ns = INT64_MAX;
	if (run->trace)
		run->untraced_until_ns = run->origin_ns +
					 (run->duration_ns ? run->duration_ns / 2 : (int64_t)(run->count / 2) * run->interval_ns);
	for (int i = 0; i < run->n_lanes; i++) {
		struct lane *lane = &run->lanes[i];

		lane->first_due_ns = run->origin_ns +
				     (run->aligned || lane->whole_windows ? 0 : run->interval_ns * lane->slot / run->n_slots);
		if (lane->kernel_samples)
			lane->first_due_ns = first_on_grid(run, lane->grid_ns);
		lane->limit = UINT64_MAX;
		if (run->duration_ns)
			lane->limit = lane_due(lane, last_begin(lane, run->planned_end_ns));
		if (run->trace)
			lane->traced_k = (uint64_t)(run->untraced_until_ns - lane->first_due_ns + run->interval_ns - 1) /
					 (uint64_t)run->interval_ns;
	}
	atomic_store_explicit(&run->started, 1, memory_order_release);
	wake_all(&run->started);
}

static void note_counts(struct lane *lane)
{
	struct rusage usage;

	if (lane->measured_tid) {
		lane->counts_at_start = rt_counts(lane->measured_tid);
		return;
	}
	lane->counts_at_start = (struct task_counts){ lane->counts_at_start.migrations, -1, -1, -1, -1 };
	if (getrusage(RUSAGE_THREAD, &usage))
		return;
	lane->counts_at_start.minor_faults = usage.ru_minflt;
	lane->counts_at_start.major_faults = usage.ru_majflt;
	lane->counts_at_start.voluntary_switches = usage.ru_nvcsw;
	lane->counts_at_start.involuntary_switches = usage.ru_nivcsw;
}

/* A lane whose samples the thread of another one takes ends with that one. */
static void wait_taken(const struct lane *lane)
{
	_Atomic int *taker = &lane->taken_by->state;
	int state;

	while (atomic_load_explicit(&lane->state, memory_order_relaxed) == LANE_RUNNING &&
	       (state = atomic_load_explicit(taker, memory_order_acquire)) <= LANE_RUNNING)
		wait_once(taker, state);
}

static void run_lane(struct lane *lane)
{
	int running = LANE_RUNNING;
	const uint64_t one = 1;

	rendezvous(lane->run);
	note_counts(lane);
	atomic_store(&lane->state, LANE_RUNNING);
	if (lane->taken_by)
		wait_taken(lane);
	else
		lane->run->method->measure_lane(lane);
	if (!atomic_compare_exchange_strong(&lane->state, &running, LANE_ENDED))
		atomic_store(&lane->state, LANE_LEFT);
	wake_all(&lane->state);
	if (write(lane->run->wake_fd, &one, sizeof one) < 0)
		return; /* the supervisor also looks by itself */
}

static void *lane_thread(void *argument)
{
	struct lane *lane = argument;
	const bool measures = !lane->kernel_samples && !lane->taken_by;
	struct cpus only = { 0 };
	sigset_t wake;

	lane->tid = rt_tid();
	prctl(PR_SET_NAME, LANE_NAME);
	sigemptyset(&wake);
	sigaddset(&wake, lane->run->wake_signal);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	prctl(PR_SET_TIMERSLACK, 1);
	lane->lock_refused = touch_stack(lane->run->lock_stacks);
	if (!measures) {
		rt_set_policy(0, SCHED_FIFO, lane->run->reader_priority); /* else it reads as an ordinary thread: the ring is large */
	} else {
		cpus_add(&only, lane->cpu);
		lane->pin_refused = partition_join(&lane->run->partition, lane->cpu);
		if (!lane->pin_refused)
			lane->pin_refused = rt_pin(0, lane->run->policy == POLICY_DEADLINE ? &lane->run->anywhere : &only);
	}
	if (lane->pin_refused || (measures && take_policy(lane))) {
		atomic_store_explicit(&lane->state, LANE_REFUSED, memory_order_release);
		return NULL;
	}
	atomic_store_explicit(&lane->state, LANE_READY, memory_order_release);
	wait_for(&lane->run->start, 0);
	if (atomic_load_explicit(&lane->run->start, memory_order_acquire) == 1)
		run_lane(lane);
	/* The supervisor still reads the counters of this thread, and then ends the process. */
	for (;;)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
	return NULL;
}

void lanes_wake(struct run *run)
{
	wake_all(&run->start);
}

int lane_start(struct lane *lane)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	lane->stats[0] = lane->stats[1] = (struct lane_stats){ .min_ns = INT64_MAX, .max_ns = INT64_MIN };
	error = pthread_create(&thread, &attributes, lane_thread, lane);
	pthread_attr_destroy(&attributes);
	return error;
}
