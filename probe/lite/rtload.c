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

int rtl_load_start(const char *kind, int64_t busy_ns, int64_t every_ns)
{
	int own;

	load.stop = 0;
	load.busy_ns = busy_ns;
	load.every_ns = every_ns;
	if (!strcmp(kind, "none"))
		return 0;
	if (!strcmp(kind, "below"))
		return rtl_thread(below, 0, 0, 0, &own) < 0;
	if (!strcmp(kind, "above"))
		return rtl_thread(above, 0, 99, 0, &own) < 0;
	if (!strcmp(kind, "critical") && rtl_port.critical)
		return rtl_thread(sections, 0, 0, 0, &own) < 0;
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
