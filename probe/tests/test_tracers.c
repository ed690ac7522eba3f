/* The kernel's tracers: the text of their samples, and the account of what its ring lost and what it skipped. */
#include <string.h>

#include "run/account.h"
#include "run/tracer_text.h"
#include "tap.h"

/* As trace_pipe showed it on a virtual board with Debian 12's 6.1.0-56-rt-amd64. */
static const char irq[] = "          <idle>-0       [001] d..h1..   492.832019: #542   context    irq timer_latency   2185410 ns";
static const char thread[] = "           <...>-889     [000] .......   489.780356: #10    context thread timer_latency   2677440 ns";

static const char user[] = "    rtprobe-user-412     [000] .....    21.503107: #17    context user-ret timer_latency     68416 ns";

static void read_samples(void)
{
	struct timerlat_sample s;
	char cut[sizeof irq];
	int taken = 0;

	OK(timerlat_parse(irq, &s) && s.context == TIMERLAT_IRQ && s.number == 542 && s.latency_ns == 2185410 && s.at_ns == 492832019000,
	   "a sample of the interrupt");
	OK(timerlat_parse(thread, &s) && s.context == TIMERLAT_THREAD && s.number == 10 && s.latency_ns == 2677440 &&
		   s.at_ns == 489780356000,
	   "a sample of the thread");
	OK(timerlat_parse(user, &s) && s.context == TIMERLAT_USER && s.number == 17 && s.latency_ns == 68416 && s.at_ns == 21503107000,
	   "a sample of the way to user space");
	for (size_t length = 0; length < sizeof irq - 1; length++) {
		memcpy(cut, irq, length);
		cut[length] = 0;
		taken += timerlat_parse(cut, &s);
	}
	OK(taken == 0, "no line that is cut anywhere is a sample");
}

static void refuse_others(void)
{
	static const char *const others[] = {
		"CPU:0 [LOST 12 EVENTS]",
		"",
		"x 54.029328: #1 context user timer_latency 932 ns",
		"x 54.0293: #1 context irq timer_latency 932 ns",
		"x 54.029328: #1 context irq timer_latency -932 ns",
		"x 54.029328: #99999999999999999999 context irq timer_latency 1 ns",
		"x 54.029328: #1 context irq timer_latency 18446744073709551615 ns",
		": #1 context irq timer_latency 1 ns",
	};
	struct timerlat_sample s;

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		OK(!timerlat_parse(others[i], &s), "not a sample: '%s'", others[i]);
}

/* Of the same board. */
static const char window[] =
	"           <...>-898     [001] .......   495.220643: 1004662     703359  29.99048   38591    172      0    135      0     19";
static const char gap[] =
	"           <...>-907     [000] d......   504.120206: #2     inner/outer(us): 8771/12108 ts:1795413535.373227280 count:120";

static void read_windows(void)
{
	struct osnoise_sample noise;
	struct hwlat_sample found;
	char cut[sizeof window + sizeof gap];
	int taken = 0;

	OK(osnoise_parse(window, &noise) && noise.at_ns == 495220643000 && noise.runtime_ns == 1004662000 && noise.noise_ns == 703359000 &&
		   noise.longest_ns == 38591000,
	   "a window of osnoise");
	OK(hwlat_parse(gap, &found) && found.at_ns == 504120206000 && found.longest_ns == 12108000,
	   "a gap of hwlat: the larger of the two");
	for (size_t length = 0; length < sizeof gap - strlen("1795413535.373227280 count:120") - 1; length++) {
		memcpy(cut, gap, length);
		cut[length] = 0;
		taken += hwlat_parse(cut, &found);
	}
	for (size_t length = 0; length < sizeof window - strlen("     19") - 1; length++) {
		memcpy(cut, window, length);
		cut[length] = 0;
		taken += osnoise_parse(cut, &noise);
	}
	OK(taken == 0, "no line that is cut before its last number is one");
	OK(!osnoise_parse(gap, &noise) && !osnoise_parse(irq, &noise) && !hwlat_parse(window, &found) && !hwlat_parse(irq, &found),
	   "the lines of one tracer are not those of another");
	OK(!osnoise_parse("x 495.220643: 1 2 3.4 5 6 7 8 9 10 x", &noise) && !osnoise_parse("x 495.220643: 1 2 3 4 5 6 7 8 9", &noise) &&
		   !hwlat_parse("x 495.220643: #1 inner/outer(us): -1/2 ts:1", &found),
	   "nor is what only looks like one");
}

static void windows_miss_nothing_by_their_value(void)
{
	static struct run run = { .interval_ns = 1000000 };
	static struct lane lane = { .run = &run, .limit = 100, .windows = true };
	struct account a;

	atomic_store(&lane.hits.level_ns, HITS_OFF);
	OK(!ring_open(&lane.ring, 1024), "a ring");
	a = account_begin(&lane);
	account_add(&a, 5000000, 0);
	OK(a.stats.missed == 0 && a.stats.next_k == 1, "noise of five intervals is one window");
	account_skip(&a, 4, 0);
	account_add(&a, 1, 0);
	OK(a.stats.missed == 3 && a.stats.count == 2 && a.stats.next_k == 5, "the windows until the next one were not looked at");
	ring_close(&lane.ring);
}

static void account_of_gaps(void)
{
	static struct run run = { .interval_ns = 1000000 };
	static struct lane lane = { .run = &run, .limit = 100 };
	struct account a;

	atomic_store(&lane.hits.level_ns, HITS_OFF);
	OK(!ring_open(&lane.ring, 1024), "a ring");
	a = account_begin(&lane);
	account_skip(&a, 3, 0);
	account_add(&a, 500, 0);
	OK(a.stats.missed == 3 && a.stats.dropped == 0 && a.stats.count == 1 && a.stats.next_k == 4, "the kernel skipped three");
	account_skip(&a, 10, 4);
	account_add(&a, 2500000, 0);
	OK(a.stats.dropped == 4 && a.stats.missed == 3 + 2 + 2 && a.stats.count == 6 && a.stats.next_k == 13,
	   "of six between, the ring lost four; the late one missed two more");
	account_skip(&a, 14, 9);
	OK(a.stats.dropped == 5 && a.stats.next_k == 14, "never more lost than fit between");
	OK(a.stats.count + a.stats.missed == a.stats.next_k, "every activation is accounted for");
	ring_close(&lane.ring);
}

int main(void)
{
	read_samples();
	refuse_others();
	account_of_gaps();
	read_windows();
	windows_miss_nothing_by_their_value();
	return tap_end();
}
