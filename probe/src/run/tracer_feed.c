#include "run/tracer_feed.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/files.h"
#include "os/rt.h"
#include "os/say.h"

enum { THREADS_TICKS = 500, TICK_NS = 20000000 };

void tracer_sleep_a_tick(void)
{
	const struct timespec tick = { 0, TICK_NS };

	nanosleep(&tick, NULL);
}

int64_t tracer_rounded(int64_t value, int64_t unit)
{
	return (value >= 0 ? value + unit / 2 : value - unit / 2) / unit;
}

int tracer_check_plan(const char *name, const struct plan *plan, const struct run *run, int64_t least_ns, int64_t most_ns,
		      const char *usual)
{
	if (run->interval_ns % 1000 || run->interval_ns < least_ns || run->interval_ns > most_ns)
		return say_fail(EXIT_USAGE, "%s takes an --interval of whole microseconds from %lldus to %llds, for example --interval %s",
				name, (long long)(least_ns / 1000), (long long)(most_ns / 1000000000), usual);
	if (run->trace && !run->tracer)
		return say_fail(EXIT_USAGE, "--trace-above goes with cyclic and timerlat, not with %s: run them one after the other", name);
	if (plan_flag(plan, "aligned"))
		return say_fail(EXIT_USAGE, "--aligned: the kernel chooses the moments of %s; leave it out", name);
	return EXIT_DONE;
}

char *tracer_cpus(const struct run *run, char *out, size_t size)
{
	struct cpus measured = { 0 };

	for (int i = 0; i < run->n_lanes; i++)
		cpus_add(&measured, run->lanes[i].cpu);
	return format_cpus(&measured, out, size);
}

/* The kernel's thread NAME/CPU; 0: there is none (yet). */
static pid_t find_thread(const char *name, int cpu)
{
	char wanted[32], path[300], comm[64];
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	snprintf(wanted, sizeof wanted, "%s/%d", name, cpu);
	while (directory && !found && (entry = readdir(directory))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
		if (read_small(path, comm, sizeof comm) > 0 && !strcmp(comm, wanted))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (directory)
		closedir(directory);
	return found;
}

void tracer_note_thread(pid_t thread, struct lane *lane, int count)
{
	for (int i = 0; i < count; i++) {
		lane[i].kernel_samples = true;
		lane[i].measured_tid = thread;
		lane[i].taken_by = i ? lane : NULL;
		lane[i].got_policy = SCHED_OTHER;
	}
}

int tracer_take_thread(const char *name, struct lane *lane, int count)
{
	pid_t thread = find_thread(name, lane->cpu);

	for (int ticks = 0; !thread && ticks < THREADS_TICKS; ticks++) {
		tracer_sleep_a_tick();
		thread = find_thread(name, lane->cpu);
	}
	if (!thread)
		return say_fail(EXIT_BOARD,
				"the kernel started no thread %s/%d within 10 s; is CPU %d held by a busy thread, or is "
				"NO_OSNOISE_WORKLOAD in osnoise/options?",
				name, lane->cpu, lane->cpu);
	tracer_note_thread(thread, lane, count);
	return EXIT_DONE;
}

int tracer_take_policy(const char *name, struct lane *lane, int count)
{
	const struct run *run = lane->run;
	const int error = rt_set_policy(lane->measured_tid, run->policy, run->priority);

	if (error)
		return say_fail(EXIT_BOARD, "%s %d was refused for the kernel's thread %s/%d: %s", rt_policy_name(run->policy),
				run->priority, name, lane->cpu, strerror(error));
	for (int i = 0; i < count; i++) {
		lane[i].got_policy = run->policy;
		lane[i].got_priority = run->priority;
	}
	return EXIT_DONE;
}

int tracer_feed_open(struct tracer_feed *f, const struct kernel_tracer *t, int cpu)
{
	char path[TRACER_PATH + 64];

	snprintf(path, sizeof path, "%s/per_cpu/cpu%d/trace_pipe", t->directory, cpu);
	f->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return f->fd < 0 ? say_fail(EXIT_BOARD, "%s: %s", path, strerror(errno)) : EXIT_DONE;
}

void tracer_feed_close(struct tracer_feed *f)
{
	if (f->fd > 0)
		close(f->fd);
	f->fd = -1;
}

/* The first whole line in f->text; of one that was too long nothing is left. */
static bool next_line(struct tracer_feed *f, char *line)
{
	char *end = memchr(f->text, '\n', f->used);
	bool whole;

	if (!end)
		return false;
	*end = 0;
	whole = !f->skip;
	memcpy(line, f->text, (size_t)(end - f->text) + 1);
	f->used -= (size_t)(end + 1 - f->text);
	memmove(f->text, end + 1, f->used);
	f->skip = false;
	if (!whole)
		*line = 0;
	return true;
}

bool tracer_feed_line(struct tracer_feed *f, char line[TRACER_LINE])
{
	ssize_t got;

	while (!next_line(f, line)) {
		if (f->used == sizeof f->text) {
			f->used = 0;
			f->skip = true;
		}
		got = read(f->fd, f->text + f->used, sizeof f->text - f->used);
		if (got <= 0)
			return false;
		f->used += (size_t)got;
	}
	return true;
}

bool tracer_is_past_end(const struct lane *lane, int64_t after_ns)
{
	const struct run *run = lane->run;
	const bool stopped = atomic_load_explicit(&run->stop, memory_order_acquire);
	const int64_t end_ns = stopped ? run->close_ns : run->planned_end_ns ? run->planned_end_ns : INT64_MAX - after_ns;

	return atomic_load_explicit(&lane->state, memory_order_relaxed) != LANE_RUNNING || mono_ns() > end_ns + after_ns;
}
