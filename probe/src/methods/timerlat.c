/* timerlat: the kernel's own tracer wakes a thread of the kernel by a timer on each CPU, and records how late the timer's interrupt and
 * that thread ran. We start it, read every sample, and put its settings back. Two lanes a CPU: the interrupt, then the thread. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/files.h"
#include "os/rt.h"
#include "os/say.h"
#include "os/tracefs.h"
#include "run/account.h"
#include "run/kernel_tracer.h"
#include "run/method.h"
#include "run/timerlat_text.h"

enum { LINE_MOST = 512, THREADS_TICKS = 500, GRID_TICKS = 200, TICK_NS = 20000000, PERIOD_LEAST_US = 100, PERIOD_MOST_US = 1000000 };
/* How long after the end of the run the last samples may come out of the trace. */
static const int64_t last_samples_ns = 150000000;

/* The trace of one CPU, on its way to the two lanes. */
struct feed {
	int fd;
	size_t used;
	char text[LINE_MOST];
	bool skip; /* the line was too long: up to its end */
	int64_t grid_ns; /* a due time */
	sem_t done; /* the reader is through: the other lane may end */
	char names[TIMERLAT_CONTEXTS][32];
};

/* What is known of the samples of one lane. */
struct sequence {
	struct lane *lane;
	struct account account;
	bool any, over;
	uint64_t number, k; /* of its newest sample */
};

static const struct {
	const char *name, *measure;
} contexts[TIMERLAT_CONTEXTS] = { [TIMERLAT_IRQ] = { "irq", "timer-irq" }, [TIMERLAT_THREAD] = { "thread", "timer-thread" } };

static struct kernel_tracer tracer;
static struct feed *feeds; /* one a CPU */

/* --- the start --- */

static void sleep_a_tick(void)
{
	const struct timespec tick = { 0, TICK_NS };

	nanosleep(&tick, NULL);
}

static int check_plan(const struct plan *plan, const struct run *run)
{
	const int64_t us = run->interval_ns / 1000;

	if (run->interval_ns % 1000 || us < PERIOD_LEAST_US || us > PERIOD_MOST_US)
		return say_fail(EXIT_USAGE, "timerlat takes an --interval of whole microseconds from 100us to 1s");
	if (run->trace)
		return say_fail(EXIT_USAGE, "--trace-above goes with cyclic, not with timerlat: run them one after the other");
	if (plan_flag(plan, "aligned"))
		return say_fail(EXIT_USAGE, "--aligned: the kernel chooses the moments of timerlat; leave it out");
	return EXIT_DONE;
}

static int start_tracer(const struct run *run)
{
	struct tracer_setting setting[] = {
		{ "timerlat_period_us", "" },
		{ "stop_tracing_us", "0" },
		{ "stop_tracing_total_us", "0" },
		{ "print_stack", "0" },
		{ "cpus", "" }, /* last: a running tracer starts anew for it */
		{ NULL, "" },
	};
	struct cpus measured = { 0 };

	for (int i = 0; i < run->n_lanes; i++)
		cpus_add(&measured, run->lanes[i].cpu);
	format_cpus(&measured, setting[4].value, sizeof setting[4].value);
	snprintf(setting[0].value, sizeof setting[0].value, "%lld", (long long)(run->interval_ns / 1000));
	return tracer_start(&tracer, "timerlat", setting, tracefs_roots);
}

/* The kernel's thread timerlat/CPU; 0: there is none (yet). */
static pid_t find_thread(int cpu)
{
	char wanted[32], path[300], name[64];
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	snprintf(wanted, sizeof wanted, "timerlat/%d", cpu);
	while (directory && !found && (entry = readdir(directory))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
		if (read_small(path, name, sizeof name) > 0 && !strcmp(name, wanted))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (directory)
		closedir(directory);
	return found;
}

/* Gives the kernel's thread the policy that was asked for. */
static int take_thread(const struct run *run, struct lane *lane)
{
	pid_t thread = find_thread(lane->cpu);
	int error;

	for (int ticks = 0; !thread && ticks < THREADS_TICKS; ticks++) {
		sleep_a_tick();
		thread = find_thread(lane->cpu);
	}
	if (!thread)
		return say_fail(EXIT_BOARD,
				"the kernel started no thread timerlat/%d within 10 s; is CPU %d held by a busy thread, or is "
				"NO_OSNOISE_WORKLOAD in osnoise/options?",
				lane->cpu, lane->cpu);
	error = rt_set_policy(thread, run->policy, run->priority);
	if (error)
		return say_fail(EXIT_BOARD, "%s %d was refused for the kernel's thread timerlat/%d: %s", rt_policy_name(run->policy),
				run->priority, lane->cpu, strerror(error));
	for (int i = 0; i < TIMERLAT_CONTEXTS; i++) {
		lane[i].measured_tid = thread;
		lane[i].got_policy = run->policy;
		lane[i].got_priority = run->priority;
	}
	return EXIT_DONE;
}

/* --- the samples of a CPU --- */

static bool next_line(struct feed *f, char *line)
{
	char *end = memchr(f->text, '\n', f->used);
	bool whole;

	if (!end)
		return false;
	*end = 0;
	whole = !f->skip;
	memcpy(line, f->text, (size_t)(end - f->text) + 1);
	f->used -= (size_t)(end + 1 - f->text);
	memmove(f->text, end + 1, f->used);
	f->skip = false;
	if (!whole)
		*line = 0;
	return true;
}

/* The next sample that the kernel has; false: none now. */
static bool next_sample(struct feed *f, struct timerlat_sample *sample)
{
	char line[LINE_MOST];
	ssize_t got;

	for (;;) {
		while (next_line(f, line))
			if (timerlat_parse(line, sample))
				return true;
		if (f->used == sizeof f->text) {
			f->used = 0;
			f->skip = true;
		}
		got = read(f->fd, f->text + f->used, sizeof f->text - f->used);
		if (got <= 0)
			return false;
		f->used += (size_t)got;
	}
}

static int64_t rounded(int64_t value, int64_t unit)
{
	return (value >= 0 ? value + unit / 2 : value - unit / 2) / unit;
}

/* The due times of a CPU have a start of their own. A record is written shortly after its latency was taken: the smallest such delay of
 * the first samples tells the start best. */
static int find_grid(const struct run *run, struct feed *f, int cpu)
{
	struct timerlat_sample sample;
	int seen = 0;

	for (int ticks = 0; seen < 5 && ticks < GRID_TICKS; ticks++) {
		sleep_a_tick();
		while (next_sample(f, &sample)) {
			const int64_t due_ns = sample.at_ns - sample.latency_ns;
			int64_t early_ns;

			if (sample.context != TIMERLAT_IRQ)
				continue;
			early_ns = seen++ ? due_ns - f->grid_ns - rounded(due_ns - f->grid_ns, run->interval_ns) * run->interval_ns : 0;
			f->grid_ns = early_ns < 0 ? f->grid_ns + early_ns : seen == 1 ? due_ns : f->grid_ns;
		}
	}
	return seen ? EXIT_DONE : say_fail(EXIT_BOARD, "timerlat runs, but gave no sample of CPU %d within 4 s", cpu);
}

static int open_feed(struct run *run, struct lane *lane, struct feed *f)
{
	char path[TRACER_PATH + 64];
	int code;

	sem_init(&f->done, 0, 0);
	snprintf(path, sizeof path, "%s/per_cpu/cpu%d/trace_pipe", tracer.directory, lane->cpu);
	f->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (f->fd < 0)
		return say_fail(EXIT_BOARD, "%s: %s", path, strerror(errno));
	if ((code = take_thread(run, lane)) || (code = find_grid(run, f, lane->cpu)))
		return code;
	for (int i = 0; i < TIMERLAT_CONTEXTS; i++) {
		snprintf(f->names[i], sizeof f->names[i], "cpu%d %s", lane->cpu, contexts[i].name);
		lane[i].name = f->names[i];
		lane[i].measure = contexts[i].measure;
		lane[i].kernel_samples = true;
		lane[i].grid_ns = f->grid_ns;
	}
	return EXIT_DONE;
}

static void timerlat_end(struct run *run)
{
	int error;

	(void)run;
	for (struct feed *f = feeds; f && f->fd > 0; f++) /* an open file keeps the instance */
		close(f->fd);
	error = tracer_stop(&tracer);
	if (error)
		say_note("the tracer's instance could not be removed: %s", strerror(error));
}

static int timerlat_prepare(const struct plan *plan, struct run *run)
{
	int code;

	feeds = calloc((size_t)(run->n_lanes / TIMERLAT_CONTEXTS) + 1, sizeof *feeds);
	if (!feeds)
		return say_fail(EXIT_BOARD, "no memory");
	if ((code = check_plan(plan, run)) || (code = start_tracer(run)))
		return code;
	for (int i = 0; !code && i < run->n_lanes; i += TIMERLAT_CONTEXTS)
		code = open_feed(run, &run->lanes[i], &feeds[i / TIMERLAT_CONTEXTS]);
	return code;
}

/* --- the measurement --- */

/* Which activation it is. The interrupt's record comes at once; that of the thread may be late, and then the interrupt's tells. */
static int64_t place(const struct sequence *of, const struct sequence *irq, const struct timerlat_sample *sample)
{
	const struct lane *lane = of->lane;

	if (of != irq && irq->any && irq->number == sample->number)
		return (int64_t)irq->k;
	return rounded(sample->at_ns - sample->latency_ns - lane->first_due_ns, lane->run->interval_ns);
}

static void take_sample(struct sequence *of, const struct sequence *irq, const struct timerlat_sample *sample)
{
	const int64_t k = place(of, irq, sample);
	const uint64_t lost = of->any ? sample->number - of->number - 1 : 0;

	of->any = true;
	of->number = sample->number;
	if (k < 0 || of->over)
		return;
	of->k = (uint64_t)k;
	if ((uint64_t)k < of->account.stats.next_k)
		return; /* the machine stood still between a latency and its record: this activation is counted already */
	if (!account_is_open(&of->account) || (uint64_t)k >= of->account.limit ||
	    account_is_over(&of->account, of->lane->first_due_ns + k * of->lane->run->interval_ns)) {
		of->over = true;
		return;
	}
	account_skip(&of->account, (uint64_t)k, lost);
	account_add(&of->account, sample->latency_ns, sample->at_ns);
}

/* Is nothing more to be waited for? */
static bool is_past_end(const struct lane *lane)
{
	const struct run *run = lane->run;
	const bool stopped = atomic_load_explicit(&run->stop, memory_order_acquire);
	const int64_t end_ns = stopped ? run->close_ns : run->planned_end_ns ? run->planned_end_ns : INT64_MAX - last_samples_ns;

	return atomic_load_explicit(&lane->state, memory_order_relaxed) != LANE_RUNNING || mono_ns() > end_ns + last_samples_ns;
}

static void timerlat_measure(struct lane *lane)
{
	struct feed *f = &feeds[lane->index / TIMERLAT_CONTEXTS];
	struct sequence of[TIMERLAT_CONTEXTS];
	struct timerlat_sample sample;

	lane->counts_at_start = rt_counts(lane->measured_tid);
	if (lane->index % TIMERLAT_CONTEXTS) { /* the thread of the first lane reads for both */
		while (sem_wait(&f->done) && atomic_load(&lane->state) == LANE_RUNNING)
			;
		return;
	}
	for (int i = 0; i < TIMERLAT_CONTEXTS; i++)
		of[i] = (struct sequence){ .lane = lane + i, .account = account_begin(lane + i) };
	while (!of[TIMERLAT_IRQ].over || !of[TIMERLAT_THREAD].over) {
		const bool past = is_past_end(lane);
		bool any = false;

		while (next_sample(f, &sample)) {
			take_sample(&of[sample.context], &of[TIMERLAT_IRQ], &sample);
			any = true;
		}
		if (past && !any)
			break;
		sleep_a_tick();
	}
	sem_post(&f->done);
}

const struct method method_timerlat = {
	.name = "timerlat",
	.summary = "lateness of the kernel's own timer interrupt and thread, by its tracer timerlat",
	.measure = "timer-thread",
	.lanes_per_cpu = TIMERLAT_CONTEXTS,
	.prepare = timerlat_prepare,
	.measure_lane = timerlat_measure,
	.end = timerlat_end,
};
