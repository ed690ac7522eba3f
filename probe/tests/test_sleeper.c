/* Each way of sleeping ends no sooner than it should, by each clock that it has, and a clock that was set is noticed. */
#include <errno.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/sleeper.h"
#include "tap.h"

static const int64_t ms_ns = 1000000;

static void test_way(enum sleep_way way, enum sleep_clock clock)
{
	struct sleeper sleeper;
	const int error = sleeper_open(&sleeper, way, clock);
	int64_t due_ns;

	if (way == SLEEP_POLL && clock != SLEEP_MONOTONIC) {
		OK(error == EINVAL, "poll is refused with %s", sleep_clock_names[clock]);
		return;
	}
	if (way == SLEEP_TIMERFD && clock == SLEEP_TAI && error == EINVAL)
		return; /* no kernel so far has it */
	OK(!error, "%s opens with %s", sleep_way_names[way], sleep_clock_names[clock]);
	for (int i = 0; i < 3; i++) {
		due_ns = mono_ns() + 2 * ms_ns;
		OK(!sleeper_until(&sleeper, due_ns), "%s sleeps by %s", sleep_way_names[way], sleep_clock_names[clock]);
		/* the offset of the clock is known to a few ns, or a little more where the machine stands still */
		OK(mono_ns() >= due_ns - ms_ns / 10 || sleeper_was_set(&sleeper), "not shorter than asked for");
	}
	OK(!sleeper_until(&sleeper, mono_ns() - ms_ns), "a moment in the past ends at once");
	sleeper_close(&sleeper);
}

/* As if the clock had been set by `by_ns`: what the sleeper knows of it is wrong by as much. */
static void test_set(enum sleep_clock clock, int64_t by_ns)
{
	struct sleeper sleeper;

	OK(!sleeper_open(&sleeper, SLEEP_NANOSLEEP, clock), "%s is there", sleep_clock_names[clock]);
	sleeper.offset_ns -= by_ns;
	OK(sleeper_was_set(&sleeper) && sleeper.steps == 1, "%s set by %lld ns is noticed", sleep_clock_names[clock], (long long)by_ns);
	OK(!sleeper_was_set(&sleeper) && sleeper.steps == 1, "once");
	sleeper_close(&sleeper);
}

int main(void)
{
	struct sleeper sleeper;

	OK(!rt_choose_sleep(), "this kernel sleeps");
	for (int way = 0; way < SLEEP_WAYS; way++)
		for (int clock = 0; clock < SLEEP_CLOCKS; clock++)
			test_way((enum sleep_way)way, (enum sleep_clock)clock);
	for (int clock = SLEEP_REALTIME; clock < SLEEP_CLOCKS; clock++) {
		test_set((enum sleep_clock)clock, 3600000 * ms_ns);
		test_set((enum sleep_clock)clock, -ms_ns);
	}
	OK(!sleeper_open(&sleeper, SLEEP_NANOSLEEP, SLEEP_MONOTONIC) && !sleeper_was_set(&sleeper), "monotonic is never set");
	return tap_end();
}
