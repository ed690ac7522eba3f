/* Loads of known effect beside the lanes: a thread below them, a thread above them, interrupts, sections without interrupts. */
#include "rtlite.h"

#include <string.h>

static struct {
	volatile int stop;
	int64_t busy_ns, every_ns;
} load;

static void spin(int64_t ns)
{
	const int64_t until_ns = rtl_now_ns() + ns;

	while (rtl_now_ns() < until_ns && !load.stop)
		;
}

/* Below the lanes: it takes all the time that they leave. */
static void below(void *argument)
{
	(void)argument;
	while (!load.stop)
		spin(load.every_ns);
}

static void above(void *argument)
{
	int64_t due_ns = rtl_now_ns();

	(void)argument;
	while (!load.stop) {
		due_ns += load.every_ns;
		if (rtl_sleep_until_ns(due_ns))
			return;
		spin(load.busy_ns);
	}
}

static void sections(void *argument)
{
	(void)argument;
	while (!load.stop) {
		int64_t until_ns;

		rtl_port.critical(1);
		until_ns = rtl_now_ns() + load.busy_ns;
		while (rtl_now_ns() < until_ns)
			;
		rtl_port.critical(0);
		spin(load.every_ns);
	}
}

/* On each CPU that is measured: a lane without its load would be told with one. */
static int start_on(int cpus, void (*run)(void *), int priority)
{
	int failed = 0, own;

	for (int cpu = 0; cpu < cpus; cpu++)
		failed |= rtl_thread(run, 0, priority, cpu, &own) < 0;
	return failed;
}

int rtl_load_start(const char *kind, int64_t busy_ns, int64_t every_ns, int cpus)
{
	load.stop = 0;
	load.busy_ns = busy_ns;
	load.every_ns = every_ns;
	if (!strcmp(kind, "none"))
		return 0;
	if (!strcmp(kind, "below"))
		return start_on(cpus, below, 0);
	if (!strcmp(kind, "above"))
		return start_on(cpus, above, 99);
	if (!strcmp(kind, "critical") && rtl_port.critical)
		return start_on(cpus, sections, 0);
	if (!strcmp(kind, "storm") && rtl_port.storm)
		return rtl_port.storm(every_ns, busy_ns);
	return -1;
}

void rtl_load_stop(void)
{
	load.stop = 1;
	if (rtl_port.storm)
		rtl_port.storm(0, 0);
}
