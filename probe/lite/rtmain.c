/* Commands and the run. */
#include "rtlane.h"
#include "rtline.h"
#include "rtlite.h"

#include <stddef.h>
#include <string.h>

#define MS INT64_C(1000000)
#define DAY (INT64_C(86400000) * MS)

enum { LEAD_MS = 20, BEAT_MS = 1000, CTRL_C = 3 };

/* What a command may set. Every number has its unit in its name. */
static const struct setting {
	const char *name;
	size_t offset;
	int64_t least, most, standard;
} settings[] = {
	{ "count", offsetof(struct rtl_plan, count), 1, 4000000000, 10000 },
	{ "interval_ns", offsetof(struct rtl_plan, interval_ns), 10000, 3600000 * MS, MS },
	{ "deadline_ns", offsetof(struct rtl_plan, deadline_ns), 0, 3600000 * MS, 0 },
	{ "bin_ns", offsetof(struct rtl_plan, bin_ns), 1, MS, 1000 },
	{ "priority", offsetof(struct rtl_plan, priority), 1, 98, 90 },
	{ "lanes", offsetof(struct rtl_plan, lanes), 1, RTL_LANES, 1 },
	{ "load_ns", offsetof(struct rtl_plan, load_ns), 1000, 1000 * MS, 100000 },
	{ "load_every_ns", offsetof(struct rtl_plan, load_every_ns), 10000, 10000 * MS, 10 * MS },
};

static void tell_plan(void)
{
	rtl_line_begin("PLAN");
	rtl_line_field("count", rtl_plan.count);
	rtl_line_field("interval_ns", rtl_plan.interval_ns);
	rtl_line_field("deadline_ns", rtl_plan.deadline_ns);
	rtl_line_field("bin_ns", rtl_plan.bin_ns);
	rtl_line_end();
	rtl_line_begin("LOAD");
	rtl_line_word("load", rtl_plan.load);
	rtl_line_field("load_ns", rtl_plan.load_ns);
	rtl_line_field("load_every_ns", rtl_plan.load_every_ns);
	rtl_line_end();
}

static void tell_error(const char *what, const char *about)
{
	rtl_line_begin("ERROR");
	rtl_line_word("what", what);
	rtl_line_word("about", *about ? about : "-");
	rtl_line_end();
}

static void tell_beat(const struct rtl_lane *l)
{
	rtl_line_begin("BEAT");
	rtl_line_field("lane", l->index);
	rtl_line_field("n", l->beat_n);
	rtl_line_field("missed", l->beat_missed);
	rtl_line_field("max_us", l->beat_max_us);
	rtl_line_end();
}

static void run(void)
{
	int started = 0;
	int64_t origin_ns;

	rtl_tell_facts();
	tell_plan();
	memset(rtl_lanes, 0, sizeof rtl_lanes);
	rtl_stop = 0;
	origin_ns = rtl_now_ns() + LEAD_MS * MS;
	for (int i = 0; i < rtl_plan.lanes; i++) {
		struct rtl_lane *l = &rtl_lanes[i];

		l->index = i;
		l->min_ns = INT64_MAX;
		l->first_due_ns = origin_ns + rtl_plan.interval_ns * i / rtl_plan.lanes;
		l->fixed = 1;
		l->priority = rtl_thread(rtl_lane_measure, l, (int)rtl_plan.priority, i, &l->fixed);
		started += l->priority >= 0;
		rtl_line_begin("THREAD");
		rtl_line_field("lane", i);
		rtl_line_field("cpu", i);
		rtl_line_field("first_due_ns", l->first_due_ns);
		rtl_line_field("asked", rtl_plan.priority);
		rtl_line_field("priority", l->priority);
		rtl_line_field("fixed", l->fixed);
		rtl_line_end();
	}
	if (rtl_load_start(rtl_plan.load, rtl_plan.load_ns, rtl_plan.load_every_ns, (int)rtl_plan.lanes))
		tell_error("no-such-load", rtl_plan.load);
	if (!started)
		rtl_load_stop();
	while (!rtl_join(BEAT_MS)) {
		for (int i = 0; i < rtl_plan.lanes; i++)
			if (!rtl_lanes[i].ended && rtl_lanes[i].priority >= 0)
				tell_beat(&rtl_lanes[i]);
		if (!rtl_stop && rtl_port.typed && rtl_port.typed() == CTRL_C) {
			rtl_stop = 1;
			rtl_line_begin("STOPPED");
			rtl_line_end();
		}
	}
	for (int i = 0; i < rtl_plan.lanes; i++)
		rtl_lane_tell(&rtl_lanes[i]);
	rtl_line_close();
}

static int read_number(const char *s, int64_t *value)
{
	int64_t n = 0;

	if (!*s)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || n > DAY)
			return -1;
		n = 10 * n + (*s - '0');
	}
	*value = n;
	return 0;
}

static int set(const char *key, const char *value)
{
	int64_t n;

	if (!strcmp(key, "load")) {
		if (strlen(value) >= sizeof rtl_plan.load)
			return -1;
		strcpy(rtl_plan.load, value);
		return 0;
	}
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		if (strcmp(key, settings[i].name))
			continue;
		if (read_number(value, &n) || n < settings[i].least || n > settings[i].most)
			return -1;
		memcpy((char *)&rtl_plan + settings[i].offset, &n, sizeof n);
		return 0;
	}
	return -1;
}

/* Cuts the next word off. NULL: there is none. */
static char *next(char **rest)
{
	char *word;

	while (**rest == ' ')
		++*rest;
	if (!**rest)
		return NULL;
	word = *rest;
	while (**rest && **rest != ' ')
		++*rest;
	if (**rest)
		*(*rest)++ = 0;
	return word;
}

/* 0: go on with the next command. */
static int carry_out(char *command)
{
	char *verb = next(&command), *word;

	if (!verb)
		return 0;
	if (!strcmp(verb, "quit"))
		return 1;
	if (!strcmp(verb, "check")) {
		rtl_check_port();
		return 0;
	}
	if (strcmp(verb, "run")) {
		tell_error("no-such-command", verb);
		return 0;
	}
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		memcpy((char *)&rtl_plan + settings[i].offset, &settings[i].standard, sizeof settings[i].standard);
	strcpy(rtl_plan.load, "none");
	while ((word = next(&command))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = 0;
		if (!value || set(word, value)) {
			tell_error("no-such-setting-or-value", word);
			return 0;
		}
	}
	if (rtl_plan.count > 7 * DAY / rtl_plan.interval_ns)
		tell_error("longer-than-a-week", "count");
	else
		run();
	return 0;
}

void rtl_main(void)
{
#ifdef RTL_AUTORUN
	char command[] = RTL_AUTORUN;

	carry_out(command);
#else
	char command[160];
	int length = 0, c;

	rtl_line_begin("READY");
	rtl_line_end();
	while ((c = rtl_get()) >= 0) {
		if (c != '\n' && c != '\r') {
			if (length < (int)sizeof command)
				command[length++] = (char)c;
			continue;
		}
		if (length == (int)sizeof command) {
			tell_error("command-too-long", "-");
		} else {
			command[length] = 0;
			if (carry_out(command))
				return;
		}
		rtl_line_begin("READY");
		rtl_line_end();
		length = 0;
	}
#endif
}
