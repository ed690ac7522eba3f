/* cyclic: how late does a sleeping thread run after its timer was due? One pinned real-time thread per CPU. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/files.h"
#include "os/say.h"
#include "run/session.h"

static const char *const isolated[] = { "isolated", NULL };
static const char *const policies[] = { "fifo", "rr", "other", NULL };
static const char *const off[] = { "off", NULL };

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define H (3600 * S)

static const struct option_spec cyclic_options[] = {
	{ "cpus", 0, OPT_CPUS, NULL, isolated, 0, 0, NULL, false, "CPUs to measure, one lane each (default: all this process may use)" },
	{ "policy", 0, OPT_CHOICE, NULL, policies, 0, 0, "fifo", false, "scheduling policy of the lanes" },
	{ "priority", 0, OPT_INTEGER, NULL, NULL, 1, 99, "90", false, "real-time priority of the lanes" },
	{ "interval", 0, OPT_DURATION, "ns", NULL, 10 * US, H, "997us", false, "time between due times of one lane" },
	{ "duration", 0, OPT_DURATION, "ns", NULL, MS, 87600 * H, NULL, false, "how long to measure (default 60s without --count)" },
	{ "count", 0, OPT_INTEGER, "samples", NULL, 1, INT64_C(1000000000000), NULL, false, "samples per lane, instead of --duration" },
	{ "deadline", 0, OPT_DURATION, "ns", NULL, 1, H, NULL, false, "count samples this late or later as exceedances" },
	{ "aligned", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "all lanes at the same moment (default: spread over the interval)" },
	{ "no-mlock", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "do not lock memory" },
	{ "dma-latency", 0, OPT_INTEGER, "us", off, 0, 2000000000, "0", false, "hold /dev/cpu_dma_latency at this" },
	{ "break-above", 0, OPT_DURATION, "ns", NULL, 1, H, NULL, false, "stop the run and the kernel's trace at the first sample this late" },
	{ "no-samples", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "histogram, seconds and spill only, not every sample" },
	{ "spill", 0, OPT_INTEGER, "samples", NULL, 0, 1000000, "100", false, "at most so many late samples kept one by one, a lane and second" },
	{ "text", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "rows for people on stdout; the stream only with --output" },
	{ "attached", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "end when stdin ends" },
	{ "fallback", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "go on without the policy asked for when it is refused" },
	{ "writer-priority", 0, OPT_INTEGER, NULL, NULL, 0, 98, "1", false, "SCHED_FIFO priority of the writer, 0 for none" },
	{ "output", 'o', OPT_TEXT, "FILE", NULL, 0, 0, NULL, false, "write the stream to FILE (default: stdout)" },
	{ 0 },
};

/* --- what was asked --- */

static int take_options(struct session *s)
{
	static const int policy[] = { SCHED_FIFO, SCHED_RR, SCHED_OTHER };
	const struct plan *plan = s->plan;
	struct run *run = &s->run;

	run->policy = policy[plan_number(plan, "policy")];
	run->priority = run->policy == SCHED_OTHER ? 0 : (int)plan_number(plan, "priority");
	run->interval_ns = plan_number(plan, "interval");
	run->duration_ns = plan_number(plan, "duration");
	run->count = (uint64_t)plan_number(plan, "count");
	run->deadline_ns = plan_number(plan, "deadline");
	run->break_ns = plan_number(plan, "break-above");
	run->aligned = plan_flag(plan, "aligned");
	run->fallback = plan_flag(plan, "fallback");
	run->wake_signal = SIGUSR1;
	s->mlock_wanted = !plan_flag(plan, "no-mlock");
	s->attached = plan_flag(plan, "attached");
	s->text = plan_flag(plan, "text");
	s->spill_per_second = plan_number(plan, "spill");
	s->writer.keep_samples = !plan_flag(plan, "no-samples");
	s->writer.priority = run->policy == SCHED_OTHER && !plan_given(plan, "writer-priority") ? 0 : (int)plan_number(plan, "writer-priority");
	if (run->policy == SCHED_OTHER && plan_given(plan, "priority"))
		return say_fail(EXIT_USAGE, "--priority is for fifo and rr; --policy other has none");
	if (run->duration_ns && run->count)
		return say_fail(EXIT_USAGE, "--duration and --count both say when to end; give one of them");
	if (!run->duration_ns && !run->count)
		run->duration_ns = 60 * S;
	if (run->count && run->count > (uint64_t)(87600 * H / run->interval_ns))
		return say_fail(EXIT_USAGE, "--count %" PRIu64 " at this interval takes more than ten years", run->count);
	if (run->duration_ns && run->duration_ns <= run->interval_ns)
		return say_fail(EXIT_USAGE, "--duration %s is no longer than one interval of %s", plan_text(plan, "duration"),
				plan_text(plan, "interval"));
	if (run->policy != SCHED_OTHER && s->writer.priority >= run->priority)
		return say_fail(EXIT_USAGE, "--writer-priority %d must be below the lanes' --priority %d", s->writer.priority, run->priority);
	return EXIT_DONE;
}

static int choose_cpus(struct session *s)
{
	struct cpus online;
	char list[200];

	if (cpus_allowed(&s->allowed))
		return say_fail(EXIT_BOARD, "cannot read the CPU mask of this process: %s", strerror(errno));
	if (cpus_file("/sys/devices/system/cpu/online", &online) || !cpus_count(&online))
		online = s->allowed;
	if (plan_cpus(s->plan, "cpus")) {
		s->measured = *plan_cpus(s->plan, "cpus");
	} else if (plan_set(s->plan, "cpus")) {
		if (cpus_file("/sys/devices/system/cpu/isolated", &s->measured) || !cpus_count(&s->measured))
			return say_fail(EXIT_USAGE, "--cpus isolated: this kernel isolates no CPU; boot with isolcpus=LIST, or give a list");
	} else {
		s->measured = s->allowed;
	}
	for (int cpu = cpus_next(&s->measured, -1); cpu >= 0; cpu = cpus_next(&s->measured, cpu)) {
		struct cpus only = { 0 };
		int error;

		if (!cpus_has(&online, cpu))
			return say_fail(EXIT_USAGE, "--cpus: CPU %d is not there; online: %s", cpu, format_cpus(&online, list, sizeof list));
		cpus_add(&only, cpu);
		error = rt_pin(0, &only); /* a cpuset may forbid it */
		rt_pin(0, &s->allowed);
		if (error)
			return say_fail(EXIT_USAGE, "--cpus: CPU %d is not allowed here (%s); allowed: %s", cpu, strerror(error),
					format_cpus(&s->allowed, list, sizeof list));
	}
	for (int i = 0; i < MAX_CPUS / 64; i++)
		s->housekeeping.bits[i] = s->allowed.bits[i] & ~s->measured.bits[i];
	s->run.n_lanes = cpus_count(&s->measured);
	return EXIT_DONE;
}

static int open_output(struct session *s)
{
	const char *path = plan_text(s->plan, "output");

	s->out_fd = s->text ? -1 : STDOUT_FILENO;
	if (path) {
		s->out_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (s->out_fd < 0)
			return say_fail(EXIT_USAGE, "--output %s: %s", path, strerror(errno));
	} else if (!s->text && isatty(STDOUT_FILENO)) {
		return say_fail(EXIT_USAGE, "the stream is not for terminals; use --text, or -o FILE, or a pipe");
	}
	return EXIT_DONE;
}

/* --- what can be had --- */

static void take_dma_latency(struct session *s)
{
	const int64_t us = plan_number(s->plan, "dma-latency");

	s->dma_latency_us = -1;
	if (us < 0)
		return;
	if (rt_hold_dma_latency((int32_t)us) < 0)
		snprintf(s->dma_error, sizeof s->dma_error, "/dev/cpu_dma_latency: %s", strerror(errno));
	else
		s->dma_latency_us = us;
}

static bool may_lock(uint64_t bytes)
{
	char text[8192];
	const char *caps;
	struct rlimit limit;

	if (read_small("/proc/self/status", text, sizeof text) > 0 && (caps = strstr(text, "\nCapEff:")) &&
	    strtoull(caps + 8, NULL, 16) >> 14 & 1) /* CAP_IPC_LOCK */
		return true;
	return !getrlimit(RLIMIT_MEMLOCK, &limit) && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > bytes);
}

/* Everything now, and everything to come as it is touched: the big tables of the writer stay as small as they are. Where the limit
 * forbids that, what a lane touches: code, ring (lock_rings) and stack. */
static void lock_memory(struct session *s)
{
#ifndef MCL_ONFAULT
	enum { MCL_ONFAULT = 4 };
#endif
	const uint64_t lanes = (uint64_t)s->run.n_lanes;
	const uint64_t need = (UINT64_C(8) << 20) + lanes * (s->ring_samples * 32 + (UINT64_C(10) << 20));
	int bad;

	if (!s->mlock_wanted)
		return;
	bad = mlockall(MCL_CURRENT);
	if (bad)
		snprintf(s->mlock_error, sizeof s->mlock_error, "mlockall: %s", strerror(errno));
	if (may_lock(need)) {
		s->mlocked = !bad && (!mlockall(MCL_FUTURE | MCL_ONFAULT) || !mlockall(MCL_FUTURE));
		return;
	}
	s->run.lock_stacks = true;
	if (!bad)
		snprintf(s->mlock_error, sizeof s->mlock_error, "the limit on locked memory (ulimit -l) is below %" PRIu64
			 " kB: code, rings and stacks of the lanes are locked, the writer's tables are not", need >> 10);
}

static void lock_rings(struct session *s)
{
	for (int i = 0; s->run.lock_stacks && i < s->run.n_lanes; i++)
		if (mlock(s->run.lanes[i].ring.slots, ring_bytes(&s->run.lanes[i].ring)))
			snprintf(s->mlock_error, sizeof s->mlock_error, "the limit on locked memory (ulimit -l) is too small even for the rings");
}

static int allocate(struct session *s)
{
	struct run *run = &s->run;
	int cpu = -1;

	s->ring_samples = 10 * (uint64_t)S / (uint64_t)run->interval_ns + 1;
	lock_memory(s);
	if (posix_memalign((void **)&run->lanes, 64, (size_t)run->n_lanes * sizeof *run->lanes))
		return say_fail(EXIT_BOARD, "no memory for %d lanes", run->n_lanes);
	memset(run->lanes, 0, (size_t)run->n_lanes * sizeof *run->lanes);
	s->writer.sinks = calloc((size_t)run->n_lanes, sizeof *s->writer.sinks);
	s->moved_ns = calloc((size_t)run->n_lanes, sizeof *s->moved_ns);
	s->moved_to = calloc((size_t)run->n_lanes, sizeof *s->moved_to);
	if (!s->writer.sinks || !s->moved_ns || !s->moved_to || emit_open(&s->writer.emit, s->out_fd, 1 << 18))
		return say_fail(EXIT_BOARD, "no memory");
	for (int i = 0; i < run->n_lanes; i++) {
		struct lane *lane = &run->lanes[i];

		lane->run = run;
		lane->index = i;
		lane->cpu = cpu = cpus_next(&s->measured, cpu);
		if (ring_open(&lane->ring, s->ring_samples) ||
		    sink_open(&s->writer.sinks[i], lane, &s->writer.emit, s->writer.keep_samples, (uint64_t)s->spill_per_second))
			return say_fail(EXIT_BOARD, "no memory for lane %d (%" PRIu64 " kB a ring): %s; use a longer --interval or fewer CPUs", i,
					s->ring_samples * sizeof(struct ring_slot) / 1024, strerror(errno));
	}
	s->ring_samples = run->lanes[0].ring.mask + UINT64_C(1);
	lock_rings(s);
	return EXIT_DONE;
}

static void on_wake(int number)
{
	(void)number; /* its only use is to end a sleep */
}

static int prepare_signals(struct session *s)
{
	struct sigaction wake = { .sa_handler = on_wake };
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGUSR1, &wake, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL); /* threads inherit it; lanes open SIGUSR1 for themselves */
	sigdelset(&set, SIGUSR1);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	s->run.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->writer.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->signal_fd < 0 || s->run.wake_fd < 0 || s->writer.wake_fd < 0)
		return say_fail(EXIT_BOARD, "this kernel has no signalfd or eventfd: %s", strerror(errno));
	s->parent = getppid();
	if (s->attached)
		prctl(PR_SET_PDEATHSIG, SIGUSR2);
	return EXIT_DONE;
}

/* A real-time thread that spins, by a bug of ours or of the kernel, must not take the board with it. */
static void guard_spinning(const struct run *run)
{
	struct rlimit limit = { 2000000, 3000000 }; /* us of CPU time without a sleep */

	if (run->policy != SCHED_OTHER)
		setrlimit(RLIMIT_RTTIME, &limit);
}

/* --- threads --- */

static int refused(const struct session *s, const struct lane *lane)
{
	const char *name = s->run.policy == SCHED_FIFO ? "SCHED_FIFO" : "SCHED_RR";
	struct rlimit limit;

	if (lane->pin_refused)
		return say_fail(EXIT_USAGE, "lane %d cannot be pinned to CPU %d: %s", lane->index, lane->cpu, strerror(lane->pin_refused));
	if (geteuid() == 0)
		return say_fail(EXIT_BOARD, "%s %d was refused although this is root: %s; give the process CAP_SYS_NICE, or its cgroup a "
				"real-time budget (cpu.rt_runtime_us), or measure with --policy other", name, s->run.priority,
				strerror(lane->refused));
	if (!getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur > 0 && limit.rlim_cur < (rlim_t)s->run.priority)
		return say_fail(EXIT_BOARD, "%s %d was refused: the limit of this login is %d (ulimit -r); ask for --priority %d, or raise it "
				"(`USER - rtprio %d` in /etc/security/limits.conf), or run as root", name, s->run.priority,
				(int)limit.rlim_cur, (int)limit.rlim_cur, s->run.priority);
	return say_fail(EXIT_BOARD, "%s %d was refused: %s; run as root, or give the program CAP_SYS_NICE (setcap cap_sys_nice+ep), or raise "
			"the limit (ulimit -r 99; `USER - rtprio 99` in /etc/security/limits.conf), or measure with --policy other",
			name, s->run.priority, strerror(lane->refused));
}

/* Until `value` of all lanes and of the writer; bounded, for a hog may sit on a lane's CPU. */
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
	/* Long batches where the writer takes time from a lane or from a small board; the ring holds 10 s. */
	s->writer.batch_ns = cpus_count(&s->housekeeping) && cpus_count(&s->allowed) > 2 ? 100 * MS : 250 * MS;
	rt_pin(0, apart);
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
			snprintf(s->fallback, sizeof s->fallback, "%s %d was refused (%s): the lanes run as %s %d", rt_policy_name(run->policy),
				 run->priority, strerror(lane->refused), rt_policy_name(lane->got_policy), lane->got_priority);
		if (lane->lock_refused && s->mlock_wanted)
			snprintf(s->mlock_error, sizeof s->mlock_error, "the stacks of the lanes: %s", strerror(lane->lock_refused));
		lane->counts_at_start = rt_counts(lane->tid); /* migrations; the lane itself notes the rest */
	}
	return EXIT_DONE;
}

static int measure(struct session *s)
{
	struct run *run = &s->run;
	int code;

	code = start_threads(s);
	if (code)
		return code;
	if (*s->fallback)
		say_note("%s", s->fallback);
	/* As the writer, so that a storm of ordinary processes (forks in a session of their own) cannot hold up the end of the run. */
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

static int cyclic_run(const struct plan *plan)
{
	static struct session s; /* static: the threads outlive every frame */
	int code;

	s.plan = plan;
	s.main_tid = rt_tid();
	if ((code = take_options(&s)) || (code = choose_cpus(&s)) || (code = open_output(&s)) || (code = prepare_signals(&s)))
		return code;
	if ((code = rt_choose_sleep()))
		return say_fail(EXIT_BOARD, "this kernel does not sleep until a moment (clock_nanosleep: %s); nothing was measured",
				strerror(code));
	s.clock = clock_measure();
	if (s.clock.getres_ns >= MS)
		say_note("no high-resolution timers here: the clock ticks every %.3g ms, and wake-ups are late by up to that",
			 (double)s.clock.getres_ns / 1e6);
	take_dma_latency(&s);
	s.run.marker_fd = s.run.tracing_fd = -1;
	if (s.run.break_ns)
		trace_open(&s.trace, &s.run);
	guard_spinning(&s.run);
	code = allocate(&s);
	if (!code)
		code = measure(&s);
	/* The lanes are still there: end without running anything they could stumble over. */
	_exit(code);
}

const struct command method_cyclic = {
	.name = "cyclic",
	.summary = "lateness of a real-time thread that sleeps until an absolute time",
	.options = cyclic_options,
	.run = cyclic_run,
};
