/* One run of a way to measure, from the command line to the exit code. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/say.h"
#include "os/tracefs.h"
#include "run/method.h"
#include "run/session.h"

static int refused(const struct session *s, const struct lane *lane)
{
	const char *name = s->run.policy == SCHED_FIFO ? "SCHED_FIFO" : "SCHED_RR";
	struct rlimit limit;

	if (s->run.policy == POLICY_DEADLINE && lane->refused == EBUSY)
		return say_fail(
			EXIT_BOARD,
			"SCHED_DEADLINE was refused: the runtimes of all lanes are more than the kernel admits; lengthen --interval, or shorten --runtime");
	if (s->run.policy == POLICY_DEADLINE)
		return say_fail(
			EXIT_BOARD,
			"SCHED_DEADLINE was refused: %s; it needs root or CAP_SYS_NICE, all CPUs of its cpuset (no taskset), and an --interval that the kernel takes as a period (kernel.sched_deadline_period_min_us, _max_us)",
			strerror(lane->refused ? lane->refused : lane->pin_refused));
	if (lane->pin_refused)
		return say_fail(EXIT_USAGE, "lane %d cannot be pinned to CPU %d: %s", lane->index, lane->cpu, strerror(lane->pin_refused));
	if (geteuid() == 0)
		return say_fail(EXIT_BOARD,
				"%s %d was refused although this is root: %s; give the process CAP_SYS_NICE, or its cgroup a "
				"real-time budget (cpu.rt_runtime_us), or measure with --policy other",
				name, s->run.priority, strerror(lane->refused));
	if (!getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur > 0 && limit.rlim_cur < (rlim_t)s->run.priority)
		return say_fail(EXIT_BOARD,
				"%s %d was refused: the limit of this login is %d (ulimit -r); ask for --priority %d, or raise it "
				"(`USER - rtprio %d` in /etc/security/limits.conf), or run as root",
				name, s->run.priority, (int)limit.rlim_cur, (int)limit.rlim_cur, s->run.priority);
	return say_fail(EXIT_BOARD,
			"%s %d was refused: %s; run as root, or give the program CAP_SYS_NICE (setcap cap_sys_nice+ep), or raise "
			"the limit (ulimit -r 99; `USER - rtprio 99` in /etc/security/limits.conf), or measure with --policy other",
			name, s->run.priority, strerror(lane->refused));
}

/* Waits for all lanes and the writer. Bounded: a busy thread of a higher priority may hold the CPU of a lane. */
static bool wait_ready(const struct session *s)
{
	for (int tick = 0; tick < 2000; tick++) {
		int waiting = !atomic_load_explicit(&s->writer.ready, memory_order_acquire);

		for (int i = 0; i < s->run.n_lanes; i++)
			waiting += atomic_load_explicit(&s->run.lanes[i].state, memory_order_acquire) == LANE_STARTING;
		if (!waiting)
			return true;
		usleep(5000);
	}
	return false;
}

static bool wait_started(const struct session *s)
{
	for (int tick = 0; tick < 2000; tick++) {
		if (atomic_load_explicit(&s->run.started, memory_order_acquire))
			return true;
		usleep(1000 + 4000 * (tick > 100));
	}
	return false;
}

static int start_threads(struct session *s)
{
	struct run *run = &s->run;
	const struct cpus *apart = cpus_count(&s->housekeeping) ? &s->housekeeping : &s->allowed;

	s->writer.run = run;
	s->writer.cpus = *apart;
	/* Longer batches where the writer shares a CPU with a lane, or the board is small. The ring holds 10 s. */
	s->writer.batch_ns = cpus_count(&s->housekeeping) && cpus_count(&s->allowed) > 2 ? 100000000 : 250000000;
	rt_pin(0, apart);
	capture_start(&s->capture, apart);
	if (writer_start(&s->writer))
		return say_fail(EXIT_BOARD, "cannot start a thread: %s", strerror(errno));
	for (int i = 0; i < run->n_lanes; i++) {
		int error = lane_start(&run->lanes[i]);

		if (error)
			return say_fail(EXIT_BOARD, "cannot start a thread: %s", strerror(error));
	}
	if (!wait_ready(s))
		return say_fail(EXIT_BOARD, "not every lane got to run within 10 s; is a busy thread of a higher priority on its CPU?");
	for (int i = 0; i < run->n_lanes; i++) {
		struct lane *lane = &run->lanes[i];

		if (atomic_load(&lane->state) == LANE_REFUSED)
			return refused(s, lane);
		if (lane->refused && !*s->fallback)
			snprintf(s->fallback, sizeof s->fallback, "%s %d was refused (%s): the lanes run as %s %d",
				 rt_policy_name(run->policy), run->priority, strerror(lane->refused), rt_policy_name(lane->got_policy),
				 lane->got_priority);
		if (lane->lock_refused && s->mlock_wanted)
			snprintf(s->mlock_error, sizeof s->mlock_error, "the stacks of the lanes: %s", strerror(lane->lock_refused));
		lane->counts_at_start = rt_counts(lane_measured(lane)); /* for its migrations; the lane itself notes the rest */
	}
	return EXIT_DONE;
}

static int start_and_supervise(struct session *s)
{
	struct run *run = &s->run;
	int code;

	code = start_threads(s);
	if (code)
		return code;
	if (*s->fallback)
		say_note("%s", s->fallback);
	/* The same priority as the writer, so that many ordinary processes cannot delay the end of the run. */
	if (s->writer.obtained.policy == SCHED_FIFO)
		rt_set_policy(0, SCHED_FIFO, s->writer.obtained.priority);
	s->main_obtained = rt_look(0);
	s->timer_slack_ns = run->lanes[0].got_policy == SCHED_OTHER ? 1 : 0; /* the kernel gives real-time threads none */
	s->main_cpu_start_ns = rt_cpu_ns(s->main_tid);
	atomic_store(&run->start, 1);
	lanes_wake(run);
	if (!wait_started(s))
		return say_fail(EXIT_BOARD, "not every lane got to run within 10 s; is a busy thread of a higher priority on its CPU?");
	report_facts(s);
	writer_go(&s->writer);
	return supervise(s);
}

/* Everything before the first thread. 0, or an exit code. */
static int prepare(struct session *s)
{
	const struct method *method = s->run.method;
	int code;

	if ((code = settings_take(s)) || (code = settings_cpus(s)) || (code = prepare_signals(s)) || (code = prepare_lanes(s)))
		return code;
	if (method->prepare && (code = method->prepare(s->plan, &s->run)))
		return code;
	if ((code = settings_output(s)))
		return code;
	s->clock = clock_measure();
	if (s->clock.getres_ns >= 1000000)
		say_note("no high-resolution timers here: the clock ticks every %.3g ms, and wake-ups are late by up to that",
			 (double)s->clock.getres_ns / 1e6);
	hold_idle_states(s);
	s->run.marker_fd = s->run.tracing_fd = -1;
	if (s->run.break_ns)
		trace_open(&s->trace, &s->run);
	if (s->run.trace) {
		capture_prepare(&s->capture, &s->run, tracefs_roots);
		s->run.trace = s->capture.ready; /* else all of the run is untraced */
		s->writer.capture = s->capture.ready ? &s->capture : NULL;
		if (!s->capture.ready)
			say_note("no trace: %s; the run goes on without it", s->capture.error);
	}
	limit_spinning(&s->run);
	return prepare_memory(s);
}

void measure(const struct method *method, const struct plan *plan)
{
	static struct session s; /* static: the threads outlive every frame */
	int code;

	s.plan = plan;
	s.run.method = method;
	s.run.measure = method->measure;
	s.main_tid = rt_tid();
	code = prepare(&s);
	if (!code)
		code = start_and_supervise(&s);
	if (method->end)
		method->end(&s.run);
	_exit(code); /* the lanes are still there: run nothing that they could use */
}
