/* What the methods that measure by a tracer of the kernel share: the lines of one CPU, the kernel's threads, the end of a run. */
#ifndef RTPROBE_TRACER_FEED_H
#define RTPROBE_TRACER_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "os/plan.h"
#include "run/kernel_tracer.h"
#include "run/lane.h"
#include "run/tracer_text.h"

/* The trace of one CPU on its way to the lanes of that CPU. The first of them reads for all. */
struct tracer_feed {
	int fd;
	size_t used;
	char text[TRACER_LINE];
	bool skip; /* the line was too long: up to its end */
};

/* 0, or an exit code after an error message. */
int tracer_feed_open(struct tracer_feed *f, const struct kernel_tracer *t, int cpu);
/* An open feed keeps the trace instance. */
void tracer_feed_close(struct tracer_feed *f);
/* The next line that the kernel has, without its end; false: none now. */
bool tracer_feed_line(struct tracer_feed *f, char line[TRACER_LINE]);

/* Notes a thread as what `count` lanes measure; the thread of the first lane reads for all. */
void tracer_note_thread(pid_t thread, struct lane *lane, int count);
/* The same with the kernel's thread NAME/CPU. Waits 10 s for it to be there. 0, or an exit code after an error message. */
int tracer_take_thread(const char *name, struct lane *lane, int count);
/* Gives that thread the policy of the run. 0, or an exit code after an error message. */
int tracer_take_policy(const char *name, struct lane *lane, int count);
/* Sets the file of the tracer's settings that names the measured CPUs. */
char *tracer_cpus(const struct run *run, char *out, size_t size);
/* Is nothing more to be waited for, `after_ns` after the end of the run? */
bool tracer_is_past_end(const struct lane *lane, int64_t after_ns);
/* Refuses what no tracer of the kernel can do; `usual`: an interval to name. 0, or an exit code after an error message. */
int tracer_check_plan(const char *name, const struct plan *plan, const struct run *run, int64_t least_ns, int64_t most_ns,
		      const char *usual);

void tracer_sleep_a_tick(void);
/* value / unit, to the nearest. */
int64_t tracer_rounded(int64_t value, int64_t unit);

#endif
