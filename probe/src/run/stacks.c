#include "run/stacks.h"

#include <stdio.h>

#include "os/tracefs.h"

enum { KERNEL_PRIORITY_OF_0 = 99, TEXT = 128 };

const char *const stacks_events[STACKS_EVENTS] = { "timer/hrtimer_expire_entry", "sched/sched_switch" };

static void path_of(char *out, size_t size, int i)
{
	snprintf(out, size, "events/%s/trigger", stacks_events[i]);
}

/* Out of idle there is nothing to name: a wake-up of an idle CPU costs no stack. */
static void trigger_of(char *out, size_t size, int i, int priority)
{
	if (!i)
		snprintf(out, size, "stacktrace if common_pid != 0");
	else if (priority)
		snprintf(out, size, "stacktrace if next_prio == %d && prev_pid != 0", KERNEL_PRIORITY_OF_0 - priority);
	else
		snprintf(out, size, "stacktrace if prev_pid != 0");
}

void stacks_on(struct stacks *s, const char *directory, int priority)
{
	for (int i = 0; i < STACKS_EVENTS; i++) {
		char path[TEXT], trigger[TEXT];
		int error;

		path_of(path, sizeof path, i);
		trigger_of(trigger, sizeof trigger, i, priority);
		error = tracefs_put(directory, path, trigger);
		s->on[i] = !error;
		if (error)
			s->error = error;
	}
}

void stacks_off(const struct stacks *s, const char *directory)
{
	for (int i = 0; i < STACKS_EVENTS; i++) {
		char path[TEXT];

		path_of(path, sizeof path, i);
		if (s->on[i])
			tracefs_put(directory, path, "!stacktrace");
	}
}
