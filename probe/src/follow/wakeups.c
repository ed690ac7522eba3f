#include "follow/wakeups.h"

enum { STEP_BITS = 5, FEW = 20, ENOUGH = 1000, TIMES_TAIL = 4, TIMES_MEDIAN = 8 };

static unsigned bin_of(int64_t ns)
{
	const uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
	unsigned power, bin;

	if (value < WAKEUP_STEPS)
		return (unsigned)value;
	power = 63 - (unsigned)__builtin_clzll(value);
	bin = (power - STEP_BITS + 1) * WAKEUP_STEPS + (unsigned)(value >> (power - STEP_BITS) & (WAKEUP_STEPS - 1));
	return bin < WAKEUP_BINS ? bin : WAKEUP_BINS - 1;
}

static int64_t lower_of(unsigned bin)
{
	const unsigned power = bin / WAKEUP_STEPS;

	if (!power)
		return bin;
	return (int64_t)(WAKEUP_STEPS + bin % WAKEUP_STEPS) << (power - 1);
}

static void count(struct wakeups *w, int64_t ns)
{
	w->min_ns = !w->n || ns < w->min_ns ? ns : w->min_ns;
	w->max_ns = !w->n || ns > w->max_ns ? ns : w->max_ns;
	w->sum_ns += ns;
	w->n++;
	w->bins[bin_of(ns)]++;
}

/* A thread on its way to sleep may be woken before it has left the CPU: then the wake-up began there. One that goes on running was not
 * asleep, and its waking means nothing. */
static void leave(struct wakeups *w, bool runnable)
{
	w->running = false;
	if (runnable)
		w->woken_ns = 0;
	w->early = w->woken_ns != 0;
}

bool wakeups_take(struct wakeups *w, const struct moment *m, struct wakeup *found)
{
	if (m->kind == MOMENT_LOSS) {
		w->running = w->early = false;
		w->woken_ns = 0;
		return false;
	}
	if (m->kind == MOMENT_WAKING) {
		if (m->tid == w->tid && (!w->woken_ns || w->early || w->running)) {
			w->woken_ns = m->ns;
			w->early = false;
		}
		return false;
	}
	if (m->out == w->tid && m->tid != w->tid)
		leave(w, m->out_runnable);
	if (m->tid != w->tid || m->out == w->tid)
		return false;
	w->running = true;
	if (!w->woken_ns)
		return false; /* it was preempted before, or its waking was not seen */
	*found = (struct wakeup){ w->woken_ns, m->ns, m->cpu };
	w->woken_ns = 0;
	w->early = false;
	count(w, found->ran_ns - found->woken_ns);
	return true;
}

int64_t wakeups_quantile(const struct wakeups *w, uint64_t top, uint64_t bottom)
{
	const uint64_t rank = (w->n * top + bottom - 1) / bottom;
	uint64_t upto = 0;

	for (unsigned bin = 0; bin < WAKEUP_BINS && w->n; bin++) {
		upto += w->bins[bin];
		if (upto >= rank)
			return lower_of(bin);
	}
	return 0;
}

int64_t wakeups_level(const struct wakeups *w)
{
	if (w->n < FEW)
		return WAKEUPS_NO_LEVEL;
	return w->n < ENOUGH ? TIMES_MEDIAN * wakeups_quantile(w, 1, 2) : TIMES_TAIL * wakeups_quantile(w, 999, 1000);
}
