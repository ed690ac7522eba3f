/*
 * rtprobe load: small loads for boards without stress-ng. It starts worker processes of the default policy, one of each wanted kind per CPU.
 * They count what they do, and the parent reports the sums. No worker outlives its parent (PDEATHSIG) or its time (its own alarm).
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/files.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/loop.h"
#include "stream/facts.h"

enum { FORK_PAUSE_NS = 200000 };
enum { MAX_WORKERS = 1024, PAGE = 4096, TIMERS = 8, ALARM_SLACK_S = 5 };
static const int64_t second_ns = 1000000000;
static const int64_t memory_default = INT64_C(64) << 20;

/* One worker writes it, the parent reads it. It is a long, because 64-bit atomics need a library on some 32-bit boards. The parent adds up
 * differences, and no worker does 2^32 steps between two reads. Each has its own cache line. */
struct counter {
	_Alignas(64) atomic_ulong steps;
};

struct work {
	struct counter *counter;
	size_t bytes; /* memory: of this worker */
};

struct load_kind {
	const char *name, *unit;
	uint64_t per_step; /* operations a step of the counter stands for */
	void (*run)(const struct work *work); /* never returns */
};

static void step(const struct work *work, unsigned long n)
{
	atomic_fetch_add_explicit(&work->counter->steps, n, memory_order_relaxed);
}

/* ---- the kinds of load ---- */

static volatile uint64_t sink;
static volatile double float_sink;

static uint64_t scramble(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

static void run_cpu(const struct work *work)
{
	uint64_t x = 88172645463325252u;
	double y = 1.0;

	for (;;) {
		for (int i = 0; i < 1000; i++) {
			x = scramble(x);
			x = x / ((x & 1023) + 1) + x * UINT64_C(6364136223846793005) + 1;
			y = y * 0.9999 + (double)(x & 255) / (y + 3.0);
		}
		sink = x;
		float_sink = y;
		step(work, 1);
	}
}

static void run_memory(const struct work *work)
{
	size_t pages = work->bytes / PAGE, words = pages * (PAGE / sizeof(uint64_t));
	volatile uint64_t *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t x = 88172645463325252u, sum = 0;

	if (at == MAP_FAILED)
		_exit(EXIT_BOARD);
	for (;;) {
		for (size_t page = 0; page < pages; page++) { /* stream in */
			for (size_t i = 0; i < PAGE / sizeof *at; i++)
				at[page * (PAGE / sizeof *at) + i] = x + i;
			step(work, 1);
		}
		for (size_t page = 0; page < pages; page++) { /* stream out */
			for (size_t i = 0; i < PAGE / sizeof *at; i++)
				sum += at[page * (PAGE / sizeof *at) + i];
			step(work, 1);
		}
		for (size_t page = 0; page < pages; page++) { /* as many cache lines, in random order */
			for (int line = 0; line < PAGE / 64; line++) {
				x = scramble(x);
				at[x % words] += x;
			}
			step(work, 1);
		}
		sink = sum;
	}
}

/* The periods of the timers have no common factor, so that the timers expire alone and in bursts. */
static void run_timer(const struct work *work)
{
	static const long period_ns[TIMERS] = { 197000, 211000, 307000, 401000, 503000, 601000, 809000, 997000 };
	struct pollfd fds[TIMERS];

	for (int i = 0; i < TIMERS; i++) {
		struct itimerspec every = { { 0, period_ns[i] }, { 0, period_ns[i] } };

		fds[i].fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		fds[i].events = POLLIN;
		if (fds[i].fd < 0 || timerfd_settime(fds[i].fd, 0, &every, NULL))
			_exit(EXIT_BOARD);
	}
	for (;;) {
		poll(fds, TIMERS, -1);
		for (int i = 0; i < TIMERS; i++) {
			uint64_t expired;

			if (fds[i].revents && read(fds[i].fd, &expired, sizeof expired) == (ssize_t)sizeof expired)
				step(work, (unsigned long)expired);
		}
	}
}

static void run_fork(const struct work *work)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); /* EAGAIN: the board is full of processes */
		else if (waitpid(pid, NULL, 0) == pid)
			step(work, 1);
		/* Without a pause a loop of forks keeps ordinary threads of other sessions off the CPU for seconds (autogroup). */
		nanosleep(&(struct timespec){ .tv_nsec = FORK_PAUSE_NS }, NULL);
	}
}

static const struct load_kind load_kinds[] = {
	{ "cpu", "rounds", 1, run_cpu },
	{ "memory", "bytes", PAGE, run_memory },
	{ "timer", "expiries", 1, run_timer },
	{ "fork", "forks", 1, run_fork },
};
enum { N_KINDS = sizeof load_kinds / sizeof *load_kinds, MEMORY = 1 };
#define KIND_NAMES "cpu|memory|timer|fork|all"

/* ---- the parent ---- */

struct worker {
	pid_t pid; /* 0: reaped */
	int kind, cpu;
	unsigned long seen;
};

struct load {
	const struct plan *plan;
	struct loop loop;
	struct cpus cpus;
	bool wanted[N_KINDS];
	int per_kind, n;
	int64_t size; /* of all memory workers together */
	int64_t start_ns, end_ns;
	uint64_t operations[N_KINDS];
	struct worker workers[MAX_WORKERS];
	struct counter *counters;
	int lost; /* index + 1 of a worker that ended by itself */
	int lost_status;
};

/* 0: the kernel does not tell (before 3.14). */
static int64_t memory_available(void)
{
	char text[4096], *line;
	long long kib = 0;

	if (read_small("/proc/meminfo", text, sizeof text) < 0 || !(line = strstr(text, "MemAvailable:")))
		return 0;
	return sscanf(line, "MemAvailable: %lld", &kib) == 1 ? (int64_t)kib * 1024 : 0;
}

static int choose_size(struct load *load)
{
	int64_t available = memory_available(), least = (int64_t)load->per_kind * PAGE;

	if (plan_given(load->plan, "size")) {
		load->size = plan_number(load->plan, "size");
		if (available && load->size > available / 2)
			return say_fail(EXIT_USAGE, "--size %lld is more than half of the %lld bytes available on this board; lower it",
					(long long)load->size, (long long)available);
	} else {
		load->size = available && available / 4 < memory_default ? available / 4 : memory_default;
	}
	if (load->size < least)
		load->size = least;
	return 0;
}

static int choose_cpus(struct load *load)
{
	const struct cpus *asked = plan_cpus(load->plan, "cpus");
	char list[256];

	if (cpus_allowed(&load->cpus))
		return say_fail(EXIT_BOARD, "cannot learn the allowed CPUs: %s", strerror(errno));
	if (!asked)
		return 0;
	for (int cpu = cpus_next(asked, -1); cpu >= 0; cpu = cpus_next(asked, cpu))
		if (!cpus_has(&load->cpus, cpu))
			return say_fail(EXIT_USAGE, "--cpus: CPU %d is not among those this process may use (%s)", cpu,
					format_cpus(&load->cpus, list, sizeof list));
	load->cpus = *asked;
	return 0;
}

static int choose_kinds(struct load *load)
{
	const char *name = load->plan->args[0];
	bool all = !strcmp(name, "all"), known = all;

	for (int i = 0; i < N_KINDS; i++) {
		load->wanted[i] = all || !strcmp(name, load_kinds[i].name);
		known |= load->wanted[i];
	}
	return known ? 0 : say_fail(EXIT_USAGE, "there is no load '%s'; it is one of " KIND_NAMES, name);
}

static int prepare(struct load *load)
{
	int code = choose_kinds(load), kinds_wanted = 0;

	if (!code)
		code = choose_cpus(load);
	if (code)
		return code;
	for (int i = 0; i < N_KINDS; i++)
		kinds_wanted += load->wanted[i];
	load->per_kind = plan_given(load->plan, "workers") ? (int)plan_number(load->plan, "workers") : cpus_count(&load->cpus);
	if (load->per_kind * kinds_wanted > MAX_WORKERS)
		return say_fail(EXIT_USAGE, "%d workers of %d kinds are more than %d; lower --workers", load->per_kind, kinds_wanted,
				MAX_WORKERS);
	return choose_size(load);
}

static _Noreturn void become_worker(const struct load *load, int index, pid_t parent)
{
	const struct worker *w = &load->workers[index];
	struct work work = { .counter = &load->counters[index], .bytes = (size_t)(load->size / load->per_kind) };
	int64_t left_s = (load->end_ns - mono_ns()) / second_ns + ALARM_SLACK_S;
	struct cpus set = { { 0 } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_BOARD);
	loop_undo_signals(&load->loop);
	signal(SIGALRM, SIG_DFL);
	alarm(left_s > ALARM_SLACK_S ? (unsigned)left_s : ALARM_SLACK_S); /* if the parent is stopped or starved */
	cpus_add(&set, w->cpu);
	if (rt_pin(0, &set))
		_exit(EXIT_BOARD);
	load_kinds[w->kind].run(&work);
	_exit(EXIT_BUG);
}

static int start_workers(struct load *load)
{
	pid_t self = getpid();

	load->counters = mmap(NULL, MAX_WORKERS * sizeof *load->counters, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (load->counters == MAP_FAILED)
		return say_fail(EXIT_BOARD, "no memory for the workers: %s", strerror(errno));
	if (rt_set_policy(0, SCHED_OTHER, 0))
		return say_fail(EXIT_BOARD, "cannot leave the real-time policy this was started with");
	for (int kind = 0; kind < N_KINDS; kind++) {
		int cpu = -1;

		for (int i = 0; load->wanted[kind] && i < load->per_kind; i++) {
			struct worker *w = &load->workers[load->n];

			cpu = cpus_next(&load->cpus, cpu);
			if (cpu < 0)
				cpu = cpus_next(&load->cpus, -1);
			*w = (struct worker){ .kind = kind, .cpu = cpu };
			w->pid = fork();
			if (w->pid == 0)
				become_worker(load, load->n, self);
			if (w->pid < 0)
				return say_fail(EXIT_BOARD, "cannot start worker %d: %s", load->n + 1, strerror(errno));
			load->n++;
		}
	}
	return 0;
}

static void send_facts(struct load *load)
{
	struct json j;

	facts_begin(&j, load->plan);
	json_string(&j, "load", load->plan->args[0]);
	json_cpus(&j, "cpus", &load->cpus);
	json_int(&j, "workers", load->per_kind);
	json_int(&j, "size_bytes", load->size);
	json_int(&j, "duration_ns", plan_number(load->plan, "duration"));
	json_end_object(&j);
	outlet_json(&load->loop.out, FRAME_FACTS, &j);
}

/* One event for each kind: the operations of all its workers since the start. */
static void report(struct load *load)
{
	for (int i = 0; i < load->n; i++) {
		struct worker *w = &load->workers[i];
		unsigned long now = atomic_load_explicit(&load->counters[i].steps, memory_order_relaxed);

		load->operations[w->kind] += (uint64_t)(unsigned long)(now - w->seen) * load_kinds[w->kind].per_step;
		w->seen = now;
	}
	for (int kind = 0; kind < N_KINDS; kind++) {
		struct json j;

		if (!load->wanted[kind])
			continue;
		event_begin(&j, "work");
		json_string(&j, "kind", load_kinds[kind].name);
		json_uint(&j, "operations", load->operations[kind]);
		json_string(&j, "unit", load_kinds[kind].unit);
		event_send(&load->loop.out, &j);
	}
}

/* A worker never ends by itself. If one did, there is less load than was asked for: an error. */
static void look_for_lost(struct load *load)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < load->n; i++)
			if (load->workers[i].pid == pid) {
				load->workers[i].pid = 0;
				load->lost = i + 1;
				load->lost_status = status;
			}
}

static const char *supervise(struct load *load)
{
	int64_t next_ns = load->start_ns + second_ns;

	for (;;) {
		int64_t now;

		loop_wait(&load->loop, next_ns < load->end_ns ? next_ns : load->end_ns, NULL, 0);
		look_for_lost(load);
		if (load->lost || load->loop.out.error)
			return "error";
		if (loop_asked_to_end(&load->loop))
			return load->loop.stop_signal ? "signal" : "owner";
		now = mono_ns();
		if (now >= load->end_ns)
			return "duration";
		if (now < next_ns)
			continue;
		if (outlet_pending(&load->loop.out) < OUTLET_ROOM)
			report(load); /* sums since the start: a report left out for a slow reader loses nothing */
		next_ns += ((now - next_ns) / second_ns + 1) * second_ns;
	}
}

static void end_workers(struct load *load)
{
	for (int i = 0; i < load->n; i++)
		if (load->workers[i].pid > 0)
			kill(load->workers[i].pid, SIGKILL);
	for (int i = 0; i < load->n; i++)
		while (load->workers[i].pid > 0 && waitpid(load->workers[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
}

static int say_lost(const struct load *load)
{
	const struct worker *w = &load->workers[load->lost - 1];
	int status = load->lost_status;

	if (WIFSIGNALED(status))
		return say_fail(EXIT_BOARD, "a %s worker on CPU %d was ended by signal %d (%s)", load_kinds[w->kind].name, w->cpu,
				WTERMSIG(status), WTERMSIG(status) == SIGKILL ? "out of memory? lower --size" : "not by rtprobe");
	return say_fail(EXIT_BOARD, "a %s worker on CPU %d could not go on (exit %d): is there memory, and may it run there?",
			load_kinds[w->kind].name, w->cpu, WEXITSTATUS(status));
}

static void send_end(struct load *load, const char *reason, int exit_code)
{
	struct rusage all;
	struct json j;

	getrusage(RUSAGE_CHILDREN, &all);
	end_begin(&j, reason, exit_code);
	json_int(&j, "user_ns", (int64_t)all.ru_utime.tv_sec * second_ns + (int64_t)all.ru_utime.tv_usec * 1000);
	json_int(&j, "system_ns", (int64_t)all.ru_stime.tv_sec * second_ns + (int64_t)all.ru_stime.tv_usec * 1000);
	json_end_object(&j);
	outlet_json(&load->loop.out, FRAME_END, &j);
}

static int load_command(struct load *load)
{
	const char *reason = "error";
	int code;

	load->start_ns = mono_ns();
	load->end_ns = load->start_ns + plan_number(load->plan, "duration");
	send_facts(load);
	code = start_workers(load);
	if (!code)
		reason = supervise(load);
	end_workers(load);
	report(load);
	if (load->lost)
		code = say_lost(load);
	send_end(load, reason, code);
	return code;
}

static int load_run(const struct plan *plan)
{
	struct load *load = calloc(1, sizeof *load);
	int code;

	if (!load)
		return say_fail(EXIT_BOARD, "no memory");
	load->plan = plan;
	code = prepare(load);
	if (!code) {
		code = loop_open(&load->loop, plan_text(plan, "output"), true, plan_flag(plan, "attached"));
		if (!code)
			code = load_command(load);
		code = loop_close(&load->loop, load->end_ns + 60 * second_ns, code);
	}
	free(load);
	return code;
}

static const struct option_spec load_options[] = {
	{ .name = "cpus",
	  .letter = 'a',
	  .type = OPT_CPUS,
	  .help = "one worker of each kind on each of these CPUs (default: all allowed ones)" },
	{ .name = "duration",
	  .letter = 'D',
	  .type = OPT_DURATION,
	  .unit = "ns",
	  .min = 10000000,
	  .max = INT64_C(31622400000000000),
	  .standard = "60s",
	  .help = "end after this time" },
	{ .name = "size",
	  .type = OPT_INTEGER,
	  .unit = "bytes",
	  .min = PAGE,
	  .max = INT64_C(1) << 40,
	  .help = "memory of all memory workers together (default: 64 MiB, at most a quarter of what is available)" },
	{ .name = "workers",
	  .type = OPT_INTEGER,
	  .unit = "processes",
	  .min = 1,
	  .max = MAX_WORKERS,
	  .help = "workers of each kind, spread over the CPUs (default: one per CPU)" },
	{ .name = "attached", .type = OPT_FLAG, .help = "end when stdin ends" },
	{ .name = "output", .letter = 'o', .type = OPT_TEXT, .unit = "FILE", .help = "where the stream goes instead of stdout" },
	{ 0 },
};

const struct command command_load = {
	.name = "load",
	.summary = "keeps CPUs, memory, timers or fork busy, and says how much was done",
	.arguments = KIND_NAMES,
	.min_arguments = 1,
	.max_arguments = 1,
	.options = load_options,
	.run = load_run,
};
