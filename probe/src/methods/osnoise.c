/* osnoise: a thread of the kernel's own tracer reads the clock in a loop on each CPU, and adds up what was taken from it in each window. Two
 * lanes a CPU: all that was taken in a window, and the longest single piece of it. An activation is a window of one interval. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/say.h"
#include "os/tracefs.h"
#include "run/account.h"
#include "run/method.h"
#include "run/tracer_feed.h"

#define US INT64_C(1000)
#define S (1000000 * US)

enum { TOTAL, LONGEST, LANES };

static const struct {
	const char *name, *measure;
} kinds[LANES] = { [TOTAL] = { "total", "noise-total" }, [LONGEST] = { "longest", "noise-longest" } };

/* How long after its end the record of a window may come. */
static const int64_t after_window_ns = 500000000;

struct source {
	struct tracer_feed feed;
	char names[LANES][32];
};

static struct kernel_tracer tracer;
static struct source *sources; /* one a CPU */

static const struct option_spec settings[] = {
	{ "threshold", 0, OPT_DURATION, "ns", NULL, US, S, "5us", false, "a gap from this on is noise; whole microseconds" },
	{ 0 },
};

static int start_tracer(const struct plan *plan, const struct run *run)
{
	struct tracer_setting setting[] = {
		{ "osnoise/runtime_us", "" },
		{ "osnoise/period_us", "" },
		{ "osnoise/stop_tracing_us", "0" },
		{ "osnoise/stop_tracing_total_us", "0" },
		{ "tracing_thresh", "" },
		{ "osnoise/cpus", "" }, /* last: a running tracer starts anew for it */
		{ NULL, "" },
	};

	/* The whole of each window is looked at. */
	for (int i = 0; i < 2; i++)
		snprintf(setting[i].value, sizeof setting[i].value, "%" PRId64, run->interval_ns / US);
	snprintf(setting[4].value, sizeof setting[4].value, "%" PRId64, plan_number(plan, "threshold") / US);
	tracer_cpus(run, setting[5].value, sizeof setting[5].value);
	return tracer_start(&tracer, "osnoise", NULL, setting, tracefs_roots);
}

static bool next_sample(struct source *source, struct osnoise_sample *sample)
{
	char line[TRACER_LINE];

	while (tracer_feed_line(&source->feed, line))
		if (osnoise_parse(line, sample))
			return true;
	return false;
}

/* Windows follow each other from the first one on. */
static int find_grid(const struct run *run, struct lane *lane, struct source *source)
{
	const int64_t until_ns = mono_ns() + 2 * run->interval_ns + 10 * S;
	struct osnoise_sample sample;

	while (!next_sample(source, &sample)) {
		if (mono_ns() > until_ns)
			return say_fail(EXIT_BOARD, "osnoise runs, but gave no window of CPU %d within %" PRId64 " s", lane->cpu,
					(2 * run->interval_ns + 10 * S) / S);
		tracer_sleep_a_tick();
	}
	for (int i = 0; i < LANES; i++)
		lane[i].grid_ns = sample.at_ns;
	return EXIT_DONE;
}

static int open_source(const struct plan *plan, struct run *run, struct lane *lane, struct source *source)
{
	int code;

	if ((code = tracer_feed_open(&source->feed, &tracer, lane->cpu)) || (code = tracer_take_thread("osnoise", lane, LANES)))
		return code;
	if ((plan_given(plan, "policy") || plan_given(plan, "priority")) && (code = tracer_take_policy("osnoise", lane, LANES)))
		return code;
	if ((code = find_grid(run, lane, source)))
		return code;
	for (int i = 0; i < LANES; i++) {
		snprintf(source->names[i], sizeof source->names[i], "cpu%d %s", lane->cpu, kinds[i].name);
		lane[i].name = source->names[i];
		lane[i].measure = kinds[i].measure;
		lane[i].windows = true;
	}
	return EXIT_DONE;
}

static void osnoise_end(struct run *run)
{
	for (int i = 0; sources && i < run->n_slots; i++)
		tracer_feed_close(&sources[i].feed);
	tracer_stop(&tracer);
}

static int osnoise_prepare(const struct plan *plan, struct run *run)
{
	int code;

	settings_ordinary(plan, run);
	if ((code = settings_leave_a_cpu(run)))
		return code;
	sources = calloc((size_t)run->n_slots, sizeof *sources);
	if (!sources)
		return say_fail(EXIT_BOARD, "no memory");
	if ((code = tracer_check_plan("osnoise", plan, run, 1000 * US, 10 * S, "1s")) || (code = start_tracer(plan, run)))
		return code;
	for (int i = 0; !code && i < run->n_lanes; i += LANES)
		code = open_source(plan, run, &run->lanes[i], &sources[run->lanes[i].slot]);
	return code;
}

/* The window begins where the one before it ended, later than the grid where the thread did not run: then windows are missed. */
static void take(struct account *account, int64_t begin_ns, int64_t value_ns, int64_t at_ns, bool *over)
{
	const struct lane *lane = account->lane;
	const int64_t k = tracer_rounded(begin_ns - lane->first_due_ns, lane->run->interval_ns);

	if (k < 0 || *over)
		return;
	*over = !account_is_open(account) || (uint64_t)k >= account->limit || account_is_over(account, begin_ns);
	if (*over)
		return;
	if ((uint64_t)k > account->stats.next_k)
		account_skip(account, (uint64_t)k, 0);
	account_add(account, value_ns, at_ns);
}

static void osnoise_measure(struct lane *lane)
{
	struct source *source = &sources[lane->slot];
	const int64_t after_ns = lane->run->interval_ns + after_window_ns;
	struct account accounts[LANES];
	struct osnoise_sample sample;
	bool over[LANES] = { false };

	for (int i = 0; i < LANES; i++)
		accounts[i] = account_begin(lane + i);
	while (!over[TOTAL] || !over[LONGEST]) {
		const bool past = tracer_is_past_end(lane, after_ns);
		bool any = false;

		while (next_sample(source, &sample)) {
			const int64_t begin_ns = sample.at_ns - sample.runtime_ns;

			take(&accounts[TOTAL], begin_ns, sample.noise_ns, sample.at_ns, &over[TOTAL]);
			take(&accounts[LONGEST], begin_ns, sample.longest_ns, sample.at_ns, &over[LONGEST]);
			any = true;
		}
		if (past && !any)
			break;
		tracer_sleep_a_tick();
	}
}

const struct method method_osnoise = {
	.name = "osnoise",
	.summary = "time taken from a busy thread of the kernel in each interval, by its tracer osnoise",
	.measure = "noise-total",
	.settings = settings,
	.lanes_per_cpu = LANES,
	.prepare = osnoise_prepare,
	.measure_lane = osnoise_measure,
	.end = osnoise_end,
};
