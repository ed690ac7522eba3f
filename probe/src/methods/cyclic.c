/* cyclic: how late does a sleeping thread run after its timer was due? One pinned real-time thread per CPU. */
#include <string.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/account.h"
#include "run/method.h"

static int cyclic_prepare(const struct plan *plan, struct run *run)
{
	const int error = rt_choose_sleep();

	(void)plan;
	(void)run;
	if (error)
		return say_fail(EXIT_BOARD, "this kernel does not sleep until a moment (clock_nanosleep: %s); nothing was measured",
				strerror(error));
	return EXIT_DONE;
}

static void cyclic_measure(struct lane *lane)
{
	struct account account = account_begin(lane);

	while (account_is_open(&account)) {
		const int64_t due_ns = account_due_ns(&account);
		const int error = rt_sleep_until(due_ns);
		const int64_t now_ns = mono_ns(), late_ns = now_ns - due_ns;

		if (account_is_over(&account, due_ns))
			break;
		if (error && late_ns < 0)
			continue; /* woken by a signal, not by the timer */
		account_add(&account, late_ns, now_ns);
	}
}

const struct method method_cyclic = {
	.name = "cyclic",
	.summary = "lateness of a real-time thread that sleeps until an absolute time",
	.measure = "wake-up",
	.prepare = cyclic_prepare,
	.measure_lane = cyclic_measure,
};
