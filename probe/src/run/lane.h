/* A run and its lanes: one measuring thread on one CPU each. */
#ifndef RTPROBE_LANE_H
#define RTPROBE_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/rt.h"
#include "run/ring.h"

/* A starved lane is CLOSED by the supervisor, and has LEFT when it came to see that. */
enum lane_state { LANE_STARTING, LANE_READY, LANE_RUNNING, LANE_ENDED, LANE_CLOSED, LANE_LEFT, LANE_REFUSED };

/* What a lane knows of itself. Kept twice: the lane fills one copy while the other is read, so that even a lane that never runs
 * again leaves a whole one behind. */
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
	pid_t tid;
	int64_t first_due_ns;
	uint64_t limit; /* activations planned by the clock; UINT64_MAX: by count */
	_Atomic int state;
	struct task_counts counts_at_start;
	int refused;       /* errno of the policy asked for */
	int pin_refused;   /* errno of the pinning */
	int lock_refused;  /* errno of locking the stack, where not everything is locked */
	int got_policy, got_priority;

	struct ring ring;

	_Alignas(64) _Atomic uint32_t published; /* stats[published & 1] is whole */
	struct lane_stats stats[2];

	/* The one sample whose missed count was cut by the end of the run: written before its ring slot. */
	_Atomic int clipped;
	uint64_t clip_k, clip_missed;
	int64_t clip_latency_ns;
};

enum stop_reason { STOP_NONE, STOP_SIGNAL, STOP_BREAK, STOP_OWNER, STOP_ERROR, STOP_TIME };

struct run {
	const struct method *method;
	const char *measure; /* as method->measure, or finer */

	/* asked for */
	int policy, priority;
	int64_t interval_ns, duration_ns, deadline_ns, break_ns; /* 0: none */
	uint64_t count;                                          /* samples a lane; 0: by duration */
	bool aligned, fallback, lock_stacks;
	int wake_signal;

	int n_lanes;
	struct lane *lanes;

	int64_t origin_ns, planned_end_ns; /* last ns of the run; 0: by count */
	_Atomic int start;                 /* 1: go; -1: go home */
	_Atomic int arrived, started;      /* lanes that saw it; 1: the last of them has set origin_ns */

	/* close_ns and stop_reason are good once `stop` is 1 */
	_Atomic int stop_claim, stop;
	_Atomic int break_claim; /* 1 once a lane has hit --break-above */
	int64_t close_ns;
	enum stop_reason stop_reason;
	int wake_fd; /* eventfd of the supervisor */

	/* --break-above */
	int marker_fd, tracing_fd;
	int break_lane, break_errno;
	uint64_t break_k;
	int64_t break_latency_ns, break_at_ns;
};

/* Starts the thread; it pins itself, becomes real-time and then waits for run->start. 0 or errno. */
int lane_start(struct lane *lane);
/* After run->start has changed: the lanes look at it. */
void lanes_wake(struct run *run);
/* The first to ask decides when and why; the lanes serve what was due by `at_ns`. False: somebody asked before. */
bool run_stop(struct run *run, enum stop_reason reason, int64_t at_ns);
/* A whole copy of the lane's own counts. */
struct lane_stats lane_look(const struct lane *lane);
/* When the lane was closed, as the clock of the run has it. */
int64_t lane_closed_ns(const struct lane *lane, const struct lane_stats *stats);
/* How many activations were due by `closed_ns`. */
uint64_t lane_due(const struct lane *lane, int64_t closed_ns);

#endif
