/* A run and its lanes: one measuring thread on one CPU each. */
#ifndef RTPROBE_LANE_H
#define RTPROBE_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/counters.h"
#include "os/rt.h"
#include "run/gaps.h"
#include "run/hits.h"
#include "run/partition.h"
#include "run/ring.h"

#define LANE_NAME "rtprobe-lane" /* the filter of page faults goes by it */

/* The supervisor sets CLOSED on a starved lane. The lane sets LEFT when it sees that. */
enum lane_state { LANE_STARTING, LANE_READY, LANE_RUNNING, LANE_ENDED, LANE_CLOSED, LANE_LEFT, LANE_REFUSED };

/* The lane's own counts. There are two copies: the lane writes one while others read the other, so that a lane that never runs again
 * still leaves a complete one. */
struct lane_stats {
	uint64_t next_k; /* the activation it waits for */
	uint64_t count;  /* activations that ran, dropped ones included */
	uint64_t missed, dropped, exceedances;
	int64_t min_ns, max_ns, sum_ns, last_ns;
};

struct method;
struct run;

struct lane {
	struct run *run;
	int index, cpu;
	int slot;            /* its place in the interval, of run->n_slots: lanes of one slot have the same due times */
	const char *name;    /* NULL: by its CPU */
	const char *measure; /* NULL: run->measure */
	pid_t tid;
	/* Set by `prepare` where the kernel takes the samples: the thread of its own that is measured (0: none), and a due time, for the kernel
	 * chooses them. The lane's own thread only reads then, wherever the writer may run, with its priority. */
	bool kernel_samples;
	bool on_the_way; /* a reading on the way to that of the next lane: it has no late wake-ups of its own */
	bool windows; /* an activation is a window and its value is no lateness: none is missed because of it */
	bool whole_windows;    /* and it counts as due when it is over */
	struct lane *
		taken_by; /* the lane whose thread takes the samples of this one too, so that this one only waits for its end; NULL: its own */
	struct gaps *gaps; /* what it finds beside its samples; NULL: none */
	struct counters *counters; /* of the programs that it starts; read when it has ended; NULL: none */
	pid_t measured_tid;
	int64_t grid_ns;
	int64_t first_due_ns;
	uint64_t limit; /* activations planned by the clock; UINT64_MAX: by count */
	_Atomic int state;
	struct task_counts counts_at_start;
	int refused; /* errno of setting the policy */
	int pin_refused; /* errno of pinning */
	int lock_refused; /* errno of locking the stack (lock_stacks) */
	int got_policy, got_priority;
	_Atomic uint64_t clock_steps; /* how often the clock of its sleep was set */

	struct ring ring;
	struct hits hits; /* late wake-ups whose trace is wanted */

	_Alignas(64) _Atomic uint32_t published; /* stats[published & 1] is complete */
	struct lane_stats stats[2];

	/* The counts at the end of the untraced part, and the first activation due in the traced one (with run->trace). */
	uint64_t traced_k;
	struct lane_stats untraced;
	_Atomic int was_traced; /* `untraced` is complete */

	/* The last sample, if the end of the run cut its missed count. Written before its ring slot. */
	_Atomic int clipped;
	uint64_t clip_k, clip_missed;
	int64_t clip_latency_ns;
};

enum stop_reason { STOP_NONE, STOP_SIGNAL, STOP_BREAK, STOP_OWNER, STOP_ERROR, STOP_TIME };

struct run {
	const struct method *method;
	const char *measure; /* as method->measure, or finer */

	/* asked for */
	int policy, priority, reader_priority; /* of lanes that only read: as the writer's */
	int64_t interval_ns, duration_ns, deadline_ns, break_ns; /* 0: none */
	int64_t runtime_ns; /* in each interval, with --policy deadline */
	struct cpus anywhere; /* where a lane of that policy runs: the kernel does not let it be pinned */
	uint64_t count; /* samples a lane; 0: by duration */
	struct partition partition;
	bool aligned, fallback, lock_stacks;
	int wake_signal;

	int n_lanes, n_slots;
	struct lane *lanes;

	int64_t origin_ns, planned_end_ns; /* last ns of the run; 0: by count */
	_Atomic int start; /* 1: measure */
	_Atomic int arrived, started; /* lanes that saw `start`; 1: the last of them has set origin_ns */

	/* close_ns and stop_reason are set before `stop` is 1 */
	_Atomic int stop_claim, stop;
	_Atomic int break_claim; /* 1 once a lane has hit --break-above */
	int64_t close_ns;
	enum stop_reason stop_reason;
	int wake_fd; /* eventfd of the supervisor */

	/* --trace-above */
	bool trace;
	bool trace_stacks; /* with kernel stacks (--trace-stacks) */
	const char *tracer; /* of the kernel, that takes the samples (NULL: none) and whose readings belong to the trace */
	int64_t trace_above_ns; /* 0: 4 x the running p99.9 of each lane */
	int64_t untraced_until_ns; /* set with origin_ns; INT64_MAX without a traced part */
	_Atomic int tracing; /* the events are on */

	/* --break-above */
	int marker_fd, tracing_fd;
	int break_lane, break_errno;
	uint64_t break_k;
	int64_t break_latency_ns, break_at_ns;
};

/* Before the first thread: of the lanes of each CPU only the first `kept` stay. */
void run_keep_lanes(struct run *run, int kept);
/* Starts the thread; it pins itself, becomes real-time and then waits for run->start. 0 or errno. */
int lane_start(struct lane *lane);
/* Wakes the lanes after run->start has changed. */
void lanes_wake(struct run *run);
/* The first call decides when and why the run stops; activations due by at_ns still count. False: it was stopped before. */
bool run_stop(struct run *run, enum stop_reason reason, int64_t at_ns);
/* A complete copy of the lane's own counts. */
struct lane_stats lane_look(const struct lane *lane);
/* When the lane was closed, as the clock of the run has it. */
int64_t lane_closed_ns(const struct lane *lane, const struct lane_stats *stats);
/* The thread whose latency this is. */
pid_t lane_measured(const struct lane *lane);
/* The CPUs of all lanes as tracefs takes them: hexadecimal, words of 32 bit with commas. */
void run_cpu_mask(const struct run *run, char *out, size_t size);
/* How many activations were due by `closed_ns`. */
uint64_t lane_due(const struct lane *lane, int64_t closed_ns);

#endif
