/* The facts of a port, and whether it keeps what it promises. */
#include "rtlane.h"
#include "rtline.h"
#include "rtlite.h"

#include <stddef.h>

#define MS INT64_C(1000000)

enum { CLOCK_READS = 1000, SLEEPS = 50 };

void rtl_tell_facts(void)
{
	int64_t step_ns = INT64_MAX, last_ns = rtl_now_ns(), first_ns = last_ns;

	for (int i = 0; i < CLOCK_READS; i++) {
		const int64_t now_ns = rtl_now_ns();

		if (now_ns != last_ns && now_ns - last_ns < step_ns)
			step_ns = now_ns - last_ns;
		last_ns = now_ns;
	}
	rtl_line_begin("FACTS");
	rtl_line_word("os", rtl_port.os);
	rtl_line_word("board", rtl_port.board);
	rtl_line_word("policy", rtl_port.policy);
	rtl_line_end();
	rtl_line_begin("CLOCK");
	rtl_line_word("clock", rtl_port.clock);
	rtl_line_field("hz", rtl_port.clock_hz);
	rtl_line_field("step_ns", step_ns == INT64_MAX ? 0 : step_ns);
	rtl_line_field("read_ns", (last_ns - first_ns) / CLOCK_READS);
	rtl_line_word("sleep", rtl_port.sleep);
	rtl_line_field("tick_hz", rtl_port.tick_hz);
	rtl_line_end();
}

static void told(const char *name, int ok, int64_t value)
{
	rtl_line_begin("CHECK");
	rtl_line_word("name", name);
	rtl_line_field("ok", ok);
	rtl_line_field("value", value);
	rtl_line_end();
}

static volatile int ran_at;

static void note_run(void *argument)
{
	(void)argument;
	ran_at = 1;
}

/* What a port promises, as far as it can be seen from inside. */
void rtl_check_port(void)
{
	int64_t last_ns = rtl_now_ns(), back_ns = 0, early = 0, refused = 0, worst_ns = 0;
	int own = 1, priority;

	rtl_tell_facts();
	for (int i = 0; i < CLOCK_READS; i++) {
		const int64_t now_ns = rtl_now_ns();

		back_ns += now_ns < last_ns;
		last_ns = now_ns;
	}
	told("clock-never-backwards", !back_ns, back_ns);
	for (int i = 0; i < SLEEPS; i++) {
		const int64_t due_ns = rtl_now_ns() + MS + i * 10000;
		int64_t late_ns;

		refused += rtl_sleep_until_ns(due_ns) != 0;
		late_ns = rtl_now_ns() - due_ns;
		early += late_ns < 0;
		worst_ns = late_ns > worst_ns ? late_ns : worst_ns;
	}
	told("sleep-works", !refused, refused);
	told("sleep-never-early", !early, early);
	told("sleep-worst-lateness-ns", 1, worst_ns);
	ran_at = 0;
	priority = rtl_thread(note_run, 0, 90, 0, &own);
	told("thread-starts", priority >= 0, priority);
	told("thread-has-fixed-priority", own, priority);
	told("join-waits", priority < 0 || (rtl_join(1000) && ran_at), priority);
	rtl_line_close();
}
