/* hwlat: a thread of the kernel's own tracer switches interrupts off on each CPU for a part of each interval, and reads the clock in a loop. A
 * gap then comes from below the kernel: firmware (SMI) or a hypervisor. An activation is an interval; its value is the longest gap, or 0
 * where the kernel found none above the threshold. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "os/tracefs.h"
#include "run/account.h"
#include "run/method.h"
#include "run/tracer_feed.h"

#define US INT64_C(1000)
#define S (1000000 * US)

/* How long after its end a finding may come: it is recorded with interrupts off. */
static const int64_t after_window_ns = 500000000;

struct source {
	struct tracer_feed feed;
	struct hwlat_sample found; /* read ahead */
	bool ahead;
	int64_t switches; /* of the kernel's thread: it sleeps once an interval */
};

static struct kernel_tracer tracer;
static struct source *sources; /* one a CPU */

static const struct option_spec settings[] = {
	{ "threshold", 0, OPT_DURATION, "ns", NULL, US, S, "10us", false, "a gap from this on is found; whole microseconds" },
	{ "width", 0, OPT_DURATION, "ns", NULL, 100 * US, 5 * S, NULL, false,
	  "how long interrupts are off in each interval (default: half of it); whole microseconds" },
	{ 0 },
};

static int64_t width_of(const struct plan *plan, const struct run *run)
{
	return plan_given(plan, "width") ? plan_number(plan, "width") : run->interval_ns / 2;
}

static int start_tracer(const struct plan *plan, const struct run *run)
{
	struct tracer_setting setting[] = {
		{ "hwlat_detector/width", "" },
		{ "hwlat_detector/window", "" },
		{ "hwlat_detector/mode", "per-cpu" },
		{ "tracing_thresh", "" },
		{ NULL, "" },
	};
	char mask[1024];

	snprintf(setting[0].value, sizeof setting[0].value, "%" PRId64, width_of(plan, run) / US);
	snprintf(setting[1].value, sizeof setting[1].value, "%" PRId64, run->interval_ns / US);
	snprintf(setting[3].value, sizeof setting[3].value, "%" PRId64, plan_number(plan, "threshold") / US);
	run_cpu_mask(run, mask, sizeof mask);
	return tracer_start(&tracer, "hwlat", mask, setting, tracefs_roots);
}

static int open_source(struct lane *lane, struct source *source)
{
	int code;

	if ((code = tracer_feed_open(&source->feed, &tracer, lane->cpu)) || (code = tracer_take_thread("hwlatd", lane, 1)))
		return code;
	lane->grid_ns = mono_ns();
	lane->windows = true;
	return EXIT_DONE;
}

static void hwlat_end(struct run *run)
{
	for (int i = 0; sources && i < run->n_slots; i++)
		tracer_feed_close(&sources[i].feed);
	tracer_stop(&tracer);
}

static int hwlat_prepare(const struct plan *plan, struct run *run)
{
	int code;

	if ((code = tracer_check_plan("hwlat", plan, run, 1000 * US, 10 * S, "1s")))
		return code;
	if (plan_given(plan, "policy") || plan_given(plan, "priority"))
		return say_fail(EXIT_USAGE, "--policy and --priority mean nothing to hwlat: interrupts are off while it looks");
	if (width_of(plan, run) >= run->interval_ns)
		return say_fail(EXIT_USAGE, "--width must be below the --interval: the CPU does nothing else meanwhile");
	settings_ordinary(plan, run);
	sources = calloc((size_t)run->n_slots, sizeof *sources);
	if (!sources)
		return say_fail(EXIT_BOARD, "no memory");
	if ((code = start_tracer(plan, run)))
		return code;
	for (int i = 0; !code && i < run->n_lanes; i++)
		code = open_source(&run->lanes[i], &sources[i]);
	return code;
}

/* The longest gap found in a window that ended before `until_ns`; -1: none was found. */
static int64_t found_until(struct source *source, int64_t until_ns)
{
	char line[TRACER_LINE];
	int64_t longest_ns = -1;

	for (;;) {
		while (!source->ahead && tracer_feed_line(&source->feed, line))
			source->ahead = hwlat_parse(line, &source->found);
		if (!source->ahead || source->found.at_ns >= until_ns)
			return longest_ns;
		source->ahead = false;
		if (source->found.longest_ns > longest_ns)
			longest_ns = source->found.longest_ns;
	}
}

/* Has the kernel's thread looked since the last question? */
static bool has_looked(const struct lane *lane, struct source *source)
{
	const int64_t switches = rt_counts(lane->measured_tid).voluntary_switches;
	const bool looked = switches > source->switches;

	source->switches = switches;
	return looked;
}

static void hwlat_measure(struct lane *lane)
{
	struct source *source = &sources[lane->slot];
	struct account account = account_begin(lane);
	uint64_t k = 0;

	found_until(source, lane->first_due_ns);
	source->switches = rt_counts(lane->measured_tid).voluntary_switches;
	while (account_is_open(&account)) {
		const int64_t due_ns = lane->first_due_ns + (int64_t)k * lane->run->interval_ns;
		const int64_t end_ns = due_ns + lane->run->interval_ns;
		int64_t longest_ns;
		bool looked;

		while (mono_ns() < end_ns + after_window_ns && !tracer_is_past_end(lane, lane->run->interval_ns + after_window_ns))
			tracer_sleep_a_tick();
		if (mono_ns() < end_ns || k >= account.limit || account_is_over(&account, due_ns))
			break;
		longest_ns = found_until(source, end_ns);
		looked = has_looked(lane, source);
		if (longest_ns >= 0 || looked) {
			if (k > account.stats.next_k)
				account_skip(&account, k, 0);
			if (k == account.stats.next_k)
				account_add(&account, longest_ns > 0 ? longest_ns : 0, end_ns);
		}
		k++;
	}
}

const struct method method_hwlat = {
	.name = "hwlat",
	.summary = "longest gap from below the kernel (firmware, hypervisor) in each interval, by its tracer hwlat",
	.measure = "hardware-gap",
	.settings = settings,
	.prepare = hwlat_prepare,
	.measure_lane = hwlat_measure,
	.end = hwlat_end,
};
