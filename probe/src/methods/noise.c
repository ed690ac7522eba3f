/* noise: a thread on each CPU reads the clock in a loop, and adds up what was taken from it. Two lanes a CPU, as osnoise has them: all that was
 * taken in a window, and the longest gap that reaches into it. An activation is a window of one interval. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/account.h"
#include "run/gaps.h"
#include "run/method.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)

enum { TOTAL, LONGEST, LANES };
enum { READS_OF_A_GAP = 4 }; /* a gap must be longer than so many readings of the clock */

static const struct {
	const char *name, *measure;
} kinds[LANES] = { [TOTAL] = { "total", "noise-total" }, [LONGEST] = { "longest", "noise-longest" } };

/* Of one CPU. */
struct spinner {
	struct gaps gaps;
	char names[LANES][32];
	struct account accounts[LANES];
	int64_t begin_ns, end_ns; /* the open window */
	int64_t taken_ns, longest_ns;
};

static struct spinner *spinners;
static int64_t threshold_ns;

static const struct option_spec settings[] = {
	{ "threshold", 0, OPT_DURATION, "ns", NULL, 100, S, "5us", false, "a gap from this on is noise" },
	{ 0 },
};

static int check_plan(const struct run *run)
{
	const struct clock_facts clock = clock_measure();
	const int64_t read_ns = clock.step_ns > clock.read_cost_ns ? clock.step_ns : clock.read_cost_ns;
	const int error = rt_choose_sleep();

	if (error)
		return say_fail(EXIT_BOARD, "this kernel does not sleep until a moment (clock_nanosleep: %s); nothing was measured",
				strerror(error));
	if (run->trace)
		return say_fail(EXIT_USAGE, "--trace-above goes with cyclic, not with noise: run them one after the other");
	if (run->interval_ns < 100 * US || run->interval_ns > 10 * S)
		return say_fail(EXIT_USAGE, "noise takes an --interval from 100us to 10s, for example --interval 1s");
	if (threshold_ns >= run->interval_ns)
		return say_fail(EXIT_USAGE, "--threshold must be below the --interval: a gap is looked for in each window");
	if (threshold_ns < READS_OF_A_GAP * read_ns)
		return say_fail(EXIT_USAGE,
				"--threshold %" PRId64 "ns: reading the clock takes up to %" PRId64 " ns here; use --threshold %" PRId64
				"ns or more",
				threshold_ns, read_ns, READS_OF_A_GAP * read_ns);
	return settings_leave_a_cpu(run);
}

static int noise_prepare(const struct plan *plan, struct run *run)
{
	int code;

	threshold_ns = plan_number(plan, "threshold");
	settings_ordinary(plan, run);
	if ((code = check_plan(run)))
		return code;
	spinners = calloc((size_t)run->n_slots, sizeof *spinners);
	if (!spinners)
		return say_fail(EXIT_BOARD, "no memory");
	for (int i = 0; i < run->n_lanes; i++) {
		struct lane *lane = &run->lanes[i];
		struct spinner *spinner = &spinners[lane->slot];
		const int kind = i % LANES;

		snprintf(spinner->names[kind], sizeof spinner->names[kind], "cpu%d %s", lane->cpu, kinds[kind].name);
		lane->name = spinner->names[kind];
		lane->measure = kinds[kind].measure;
		lane->windows = true;
		lane->whole_windows = true;
		if (kind == TOTAL) {
			memset(&spinner->gaps, 0, sizeof spinner->gaps); /* touched before the run */
			lane->gaps = &spinner->gaps;
		} else {
			lane->taken_by = lane - 1;
		}
	}
	return EXIT_DONE;
}

/* --- the loop --- */

static bool is_open(const struct spinner *s)
{
	return account_is_open(&s->accounts[TOTAL]) && account_is_open(&s->accounts[LONGEST]);
}

/* Told to end before the open window is over? Its end is what counts: nobody looked at the rest of it. */
static bool is_told_to_end(const struct spinner *s)
{
	return account_is_over(&s->accounts[TOTAL], s->end_ns - 1);
}

/* False: it does not count any more, or was the last one. */
static bool close_window(struct spinner *s, int64_t now_ns)
{
	if (is_told_to_end(s))
		return false;
	account_add(&s->accounts[TOTAL], s->taken_ns, now_ns);
	account_add(&s->accounts[LONGEST], s->longest_ns, now_ns);
	s->begin_ns = s->end_ns;
	s->end_ns += s->accounts[TOTAL].interval_ns;
	s->taken_ns = s->longest_ns = 0;
	return is_open(s);
}

/* A window is charged with its part of a gap; how long the whole of it is tells each window that it reaches into. False: the run is over. */
static bool take_gap(struct spinner *s, int64_t from_ns, int64_t to_ns)
{
	const int64_t length_ns = to_ns - from_ns;

	if (to_ns <= s->begin_ns)
		return true;
	gaps_put(&s->gaps, from_ns, length_ns);
	for (;;) {
		const int64_t begin_ns = from_ns > s->begin_ns ? from_ns : s->begin_ns;
		const int64_t end_ns = to_ns < s->end_ns ? to_ns : s->end_ns;

		s->taken_ns += end_ns - begin_ns;
		s->longest_ns = length_ns > s->longest_ns ? length_ns : s->longest_ns;
		if (to_ns < s->end_ns)
			return true;
		if (!close_window(s, to_ns))
			return false;
		if (to_ns == s->begin_ns)
			return true;
	}
}

static void spin(struct spinner *s)
{
	int64_t last_ns = mono_ns();

	while (is_open(s) && !is_told_to_end(s)) {
		const int64_t now_ns = mono_ns();
		const bool gap = now_ns - last_ns >= threshold_ns;

		if (gap && !take_gap(s, last_ns, now_ns))
			return;
		if (now_ns >= s->end_ns && !close_window(s, now_ns))
			return;
		last_ns = now_ns;
	}
}

static void noise_measure(struct lane *lane)
{
	struct spinner *spinner = &spinners[lane->slot];

	for (int i = 0; i < LANES; i++)
		spinner->accounts[i] = account_begin(lane + i);
	spinner->begin_ns = lane->first_due_ns;
	spinner->end_ns = lane->first_due_ns + lane->run->interval_ns;
	while (mono_ns() < lane->first_due_ns - MS && !atomic_load(&lane->run->stop))
		rt_sleep_until(lane->first_due_ns - MS); /* what comes in the last millisecond is not counted */
	spin(spinner);
}

const struct method method_noise = {
	.name = "noise",
	.summary = "time taken from a busy thread in each interval, and the longest gap",
	.measure = "noise-total",
	.settings = settings,
	.spins = true,
	.lanes_per_cpu = LANES,
	.prepare = noise_prepare,
	.measure_lane = noise_measure,
};
