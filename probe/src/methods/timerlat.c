/* timerlat: the kernel's own tracer wakes a thread by a timer on each CPU, and records how late the timer's interrupt and that thread ran. We
 * start it, read every sample, and put its settings back. Two lanes a CPU: the interrupt, then the thread of the kernel. With --threads user a
 * thread of ours is woken instead, and a third lane tells when it has run in user space.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/rt.h"
#include "os/say.h"
#include "os/tracefs.h"
#include "run/account.h"
#include "run/method.h"
#include "run/tracer_feed.h"
#include "run/tracer_user.h"

enum { GRID_TICKS = 200 };
/* How long after the end of the run the last samples may come out of the trace. */
static const int64_t last_samples_ns = 150000000;

/* One CPU. */
struct source {
	struct tracer_feed feed;
	struct tracer_user user; /* with --threads user */
	int64_t grid_ns; /* a due time */
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
} contexts[TIMERLAT_CONTEXTS] = { [TIMERLAT_IRQ] = { "irq", "timer-irq" },
				  [TIMERLAT_THREAD] = { "thread", "timer-thread" },
				  [TIMERLAT_USER] = { "user", "timer-user" } };

static struct kernel_tracer tracer;
static struct source *sources; /* one a CPU */
static bool user_threads;
static int n_contexts; /* lanes of a CPU */

static const char *const threads[] = { "kernel", "user", NULL };

static const struct option_spec timerlat_settings[] = {
	{ "threads", 0, OPT_CHOICE, NULL, threads, 0, 0, "kernel", false,
	  "what the timer wakes: a thread of the kernel, or one of ours, which also tells the way to user space (Linux 6.5)" },
	{ 0 },
};

/* --- the start --- */

static int start_tracer(const struct run *run)
{
	struct tracer_setting setting[] = {
		{ "osnoise/timerlat_period_us", "" },
		{ "osnoise/stop_tracing_us", "0" },
		{ "osnoise/stop_tracing_total_us", "0" },
		{ "osnoise/print_stack", "0" },
		{ "osnoise/cpus", "" }, /* a running tracer starts anew for it */
		{ user_threads ? "osnoise/options" : NULL, "NO_OSNOISE_WORKLOAD" },
		{ NULL, "" },
	};

	tracer_cpus(run, setting[4].value, sizeof setting[4].value);
	snprintf(setting[0].value, sizeof setting[0].value, "%lld", (long long)(run->interval_ns / 1000));
	return tracer_start(&tracer, "timerlat", NULL, setting, tracefs_roots);
}

/* --- the samples of a CPU --- */

/* The next sample that the kernel has; false: none now. */
static bool next_sample(struct source *source, struct timerlat_sample *sample)
{
	char line[TRACER_LINE];

	while (tracer_feed_line(&source->feed, line))
		if (timerlat_parse(line, sample))
			return true;
	return false;
}

/* The due times of a CPU have a start of their own. A record is written shortly after its latency was taken: the smallest such delay of
 * the first samples tells the start best. */
static int find_grid(const struct run *run, struct source *f, int cpu)
{
	struct timerlat_sample sample;
	int seen = 0;

	for (int ticks = 0; seen < 5 && ticks < GRID_TICKS; ticks++) {
		tracer_sleep_a_tick();
		while (next_sample(f, &sample)) {
			const int64_t due_ns = sample.at_ns - sample.latency_ns;
			int64_t early_ns;

			if (sample.context != TIMERLAT_IRQ)
				continue;
			early_ns = seen++ ? due_ns - f->grid_ns - tracer_rounded(due_ns - f->grid_ns, run->interval_ns) * run->interval_ns
					  : 0;
			f->grid_ns = early_ns < 0 ? f->grid_ns + early_ns : seen == 1 ? due_ns : f->grid_ns;
		}
	}
	return seen ? EXIT_DONE : say_fail(EXIT_BOARD, "timerlat runs, but gave no sample of CPU %d within 4 s", cpu);
}

static int take_thread(const struct run *run, struct lane *lane, struct source *f)
{
	int error;

	if (!user_threads)
		return tracer_take_thread("timerlat", lane, n_contexts);
	error = tracer_user_start(&f->user, tracer.root, lane->cpu, run->wake_signal);
	if (error)
		return say_fail(EXIT_BOARD, "no thread of ours reads %s: %s", f->user.path, strerror(error));
	tracer_note_thread(f->user.tid, lane, n_contexts);
	return EXIT_DONE;
}

static int open_source(struct run *run, struct lane *lane, struct source *f)
{
	int code;

	if ((code = tracer_feed_open(&f->feed, &tracer, lane->cpu)) || (code = take_thread(run, lane, f)) ||
	    (code = tracer_take_policy("timerlat", lane, n_contexts)) || (code = find_grid(run, f, lane->cpu)))
		return code;
	lane[TIMERLAT_IRQ].on_the_way = true;
	for (int i = 0; i < n_contexts; i++) {
		snprintf(f->names[i], sizeof f->names[i], "cpu%d %s", lane->cpu, contexts[i].name);
		lane[i].name = f->names[i];
		lane[i].measure = contexts[i].measure;
		lane[i].grid_ns = f->grid_ns;
	}
	return EXIT_DONE;
}

static void timerlat_end(struct run *run)
{
	for (int i = 0; sources && i < run->n_slots; i++) {
		if (!tracer_user_stop(&sources[i].user))
			say_note("the thread on %s does not end; the kernel will end it with this process", sources[i].user.path);
		tracer_feed_close(&sources[i].feed);
	}
	tracer_stop(&tracer);
}

static int take_threads(const struct plan *plan, struct run *run)
{
	const char *why, *root = tracefs_find(tracefs_roots, &why);

	user_threads = plan_number(plan, "threads") > 0;
	n_contexts = user_threads ? TIMERLAT_CONTEXTS : TIMERLAT_USER;
	run_keep_lanes(run, n_contexts);
	if (!user_threads)
		return EXIT_DONE;
	if (run->trace)
		return say_fail(EXIT_USAGE, "--trace-above goes with --threads kernel");
	if (root && !tracer_user_is_there(root, run->lanes[0].cpu))
		return say_fail(EXIT_USAGE,
				"--threads user: this kernel wakes no threads of programs (no %s/osnoise/per_cpu/cpu%d/timerlat_fd); "
				"Linux has that since 6.5, with the tracer timerlat; use --threads kernel, or cyclic",
				root, run->lanes[0].cpu);
	return EXIT_DONE;
}

static int timerlat_prepare(const struct plan *plan, struct run *run)
{
	int code = take_threads(plan, run);

	if (code)
		return code;
	run->tracer = "timerlat";
	sources = calloc((size_t)run->n_slots, sizeof *sources);
	if (!sources)
		return say_fail(EXIT_BOARD, "no memory");
	if ((code = tracer_check_plan("timerlat", plan, run, INT64_C(100000), INT64_C(1000000000), "1ms")) || (code = start_tracer(run)))
		return code;
	for (int i = 0; !code && i < run->n_lanes; i += n_contexts)
		code = open_source(run, &run->lanes[i], &sources[run->lanes[i].slot]);
	return code;
}

/* --- the measurement --- */

/* Which activation it is. The interrupt's record comes at once; that of the thread may be late, and then the interrupt's tells. */
static int64_t place(const struct sequence *of, const struct sequence *irq, const struct timerlat_sample *sample)
{
	const struct lane *lane = of->lane;

	if (of != irq && irq->any && irq->number == sample->number)
		return (int64_t)irq->k;
	return tracer_rounded(sample->at_ns - sample->latency_ns - lane->first_due_ns, lane->run->interval_ns);
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

static bool all_over(const struct sequence *of)
{
	for (int i = 0; i < n_contexts; i++)
		if (!of[i].over)
			return false;
	return true;
}

static void timerlat_measure(struct lane *lane)
{
	struct source *f = &sources[lane->slot];
	struct sequence of[TIMERLAT_CONTEXTS];
	struct timerlat_sample sample;

	for (int i = 0; i < n_contexts; i++)
		of[i] = (struct sequence){ .lane = lane + i, .account = account_begin(lane + i) };
	while (!all_over(of)) {
		const bool past = tracer_is_past_end(lane, last_samples_ns);
		bool any = false;

		while (next_sample(f, &sample)) {
			if ((int)sample.context < n_contexts)
				take_sample(&of[sample.context], &of[TIMERLAT_IRQ], &sample);
			any = true;
		}
		if (past && !any)
			break;
		tracer_sleep_a_tick();
	}
}

const struct method method_timerlat = {
	.name = "timerlat",
	.summary = "lateness of the kernel's own timer interrupt and thread, by its tracer timerlat",
	.measure = "timer-thread",
	.settings = timerlat_settings,
	.lanes_per_cpu = TIMERLAT_CONTEXTS,
	.prepare = timerlat_prepare,
	.measure_lane = timerlat_measure,
	.end = timerlat_end,
};
