/* cyclic: how late does a sleeping thread run after its timer was due? One pinned real-time thread per CPU. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "os/sleeper.h"
#include "os/usdt.h"
#include "run/account.h"
#include "run/method.h"

static enum sleep_way sleep_way;
static enum sleep_clock sleep_clock;
static char names[MAX_CPUS][24]; /* of lanes without a CPU of their own */
static _Atomic int failed; /* errno of a lane that could not sleep in this way */

static const struct option_spec cyclic_settings[] = {
	{ "sleep", 0, OPT_CHOICE, NULL, sleep_way_names, 0, 0, "clock_nanosleep", false, "how a lane sleeps until its due time" },
	{ "runtime", 0, OPT_DURATION, "ns", NULL, 2000, 1000000000, NULL, false,
	  "--policy deadline: the CPU time that a lane may take in each interval (default: a tenth of it)" },
	{ "clock", 0, OPT_CHOICE, NULL, sleep_clock_names, 0, 0, "monotonic", false, "the clock that counts the time of its sleep" },
	{ 0 },
};

static int not_there(int error)
{
	const char *way = sleep_way_names[sleep_way], *clock = sleep_clock_names[sleep_clock];

	if (error == EINVAL && sleep_clock != SLEEP_MONOTONIC)
		return say_fail(EXIT_USAGE, "this kernel has no --sleep %s with --clock %s; use --clock monotonic%s", way, clock,
				sleep_way == SLEEP_NANOSLEEP ? "" : ", or --sleep clock_nanosleep");
	return say_fail(EXIT_BOARD, "this kernel does not sleep until a moment (--sleep %s, --clock %s: %s); nothing was measured", way,
			clock, strerror(error));
}

static int take_deadline(const struct plan *plan, struct run *run)
{
	if (run->policy != POLICY_DEADLINE)
		return plan_given(plan, "runtime") ? say_fail(EXIT_USAGE, "--runtime is for --policy deadline") : EXIT_DONE;
	run->runtime_ns = plan_given(plan, "runtime") ? plan_number(plan, "runtime") : run->interval_ns / 10;
	if (run->runtime_ns > run->interval_ns)
		return say_fail(EXIT_USAGE, "--runtime is longer than the --interval, which is the period of the lanes");
	for (int i = 0; i < run->n_lanes; i++) {
		snprintf(names[i], sizeof names[i], "deadline %d", i);
		run->lanes[i].name = names[i];
	}
	return EXIT_DONE;
}

/* Each lane opens its own in its thread. Here the kernel is asked whether it would get one. */
static int cyclic_prepare(const struct plan *plan, struct run *run)
{
	struct sleeper sleeper;
	int error = rt_choose_sleep(), code = take_deadline(plan, run);

	if (code)
		return code;
	sleep_way = (enum sleep_way)plan_number(plan, "sleep");
	sleep_clock = (enum sleep_clock)plan_number(plan, "clock");
	if (!error)
		error = sleeper_open(&sleeper, sleep_way, sleep_clock);
	if (error)
		return not_there(error);
	sleeper_close(&sleeper);
	return EXIT_DONE;
}

static void measure_lateness(struct lane *lane, struct sleeper *sleeper)
{
	struct account account = account_begin(lane);

	while (account_is_open(&account)) {
		const int64_t due_ns = account_due_ns(&account);
		const int error = sleeper_until(sleeper, due_ns);
		const int64_t now_ns = mono_ns(), late_ns = now_ns - due_ns;

		if (account_is_over(&account, due_ns))
			break;
		if (late_ns < 0 && (error || sleep_way == SLEEP_SIGNAL || sleeper_was_set(sleeper)))
			continue; /* woken by a signal, or because the clock was set, not by the timer */
		USDT_TWO("activation", due_ns, now_ns);
		account_add(&account, late_ns, now_ns);
		if (sleeper_was_set(sleeper))
			atomic_store(&lane->clock_steps, sleeper->steps);
	}
}

static void cyclic_measure(struct lane *lane)
{
	struct sleeper sleeper;
	const int error = sleeper_open(&sleeper, sleep_way, sleep_clock);

	if (error) {
		atomic_store(&failed, error);
		run_stop(lane->run, STOP_ERROR, mono_ns());
		return;
	}
	measure_lateness(lane, &sleeper);
	sleeper_close(&sleeper);
}

static void cyclic_end(struct run *run)
{
	(void)run;
	if (atomic_load(&failed))
		say_fail(EXIT_BOARD, "a lane got no timer of its own (--sleep %s: %s); raise the limit (ulimit -n, ulimit -i)",
			 sleep_way_names[sleep_way], strerror(atomic_load(&failed)));
}

const struct method method_cyclic = {
	.name = "cyclic",
	.summary = "lateness of a real-time thread that sleeps until an absolute time",
	.measure = "wake-up",
	.settings = cyclic_settings,
	.takes_deadline = true,
	.prepare = cyclic_prepare,
	.measure_lane = cyclic_measure,
	.end = cyclic_end,
};
