/*
 * CPU time of a tree of processes. The time of a process that has ended is in the account of the process that waited for it: another one
 * in the tree, or the guard, which reaps all orphans. So the sum over tree and guard is complete if all are read at one moment. They are
 * not. But they are read from the root down: a process that is reaped meanwhile is missed once and never counted twice. So the largest
 * sum so far is never above the truth. (The kernel drops the time of a process whose parent ignores SIGCHLD.)
 */
#include "guard/usage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/family.h"
#include "guard/gpu.h"
#include "os/clock.h"
#include "os/procstat.h"
#include "os/rt.h"

enum { SECOND_NS = 1000000000 };

struct member {
	pid_t pid;
	unsigned depth;
};

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct relative *)a)->pid, y = ((const struct relative *)b)->pid;

	return (x > y) - (x < y);
}

static int by_depth(const void *a, const void *b)
{
	unsigned x = ((const struct member *)a)->depth, y = ((const struct member *)b)->depth;

	return (x > y) - (x < y);
}

static unsigned depth_below(const struct family *f, const struct relative *r, pid_t root)
{
	unsigned depth = 1;

	for (; r && r->ppid != root && depth <= f->n; depth++) {
		struct relative key = { .pid = r->ppid };

		r = bsearch(&key, f->all, f->n, sizeof *f->all, by_pid);
	}
	return depth;
}

static uint64_t real_time_threads(pid_t pid)
{
	char path[40];
	struct dirent *entry;
	uint64_t n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.' && rt_is_real_time((pid_t)atoi(entry->d_name));
	if (dir)
		closedir(dir);
	return n;
}

/* Ticks of a process and of those it waited for; adds it to the counts unless it is a zombie or the guard. */
static unsigned long long account(struct usage *u, pid_t pid, bool counts)
{
	struct procstat stat;

	if (!procstat_of(pid, &stat))
		return 0;
	if (!counts) /* the guard: its own time does not count */
		return stat.waited_ticks;
	if (!strchr("ZXx", stat.state)) {
		u->processes++;
		u->threads += stat.threads;
		u->real_time += stat.threads > 1 ? real_time_threads(pid) : rt_is_real_time(pid);
	}
	return stat.user_ticks + stat.system_ticks + stat.waited_ticks;
}

static bool look(struct family *f, pid_t guard, struct usage *u, struct gpu *gpu)
{
	const int64_t tick_ns = SECOND_NS / sysconf(_SC_CLK_TCK);
	struct member *members;
	unsigned long long ticks;
	size_t n = 0;

	*u = (struct usage){ .mono_ns = mono_ns() };
	family_look(f, guard);
	members = f->blind ? NULL : malloc((f->n + 1) * sizeof *members);
	if (!members)
		return false;
	for (size_t i = 0; i < f->n; i++)
		if (f->all[i].ours == 1)
			members[n++] = (struct member){ .pid = f->all[i].pid, .depth = depth_below(f, &f->all[i], guard) };
	qsort(members, n, sizeof *members, by_depth);
	ticks = account(u, guard, false);
	for (size_t i = 0; i < n; i++) {
		ticks += account(u, members[i].pid, true);
		if (gpu)
			gpu_look(gpu, members[i].pid);
	}
	free(members);
	u->cpu_ns = (int64_t)ticks * tick_ns;
	if (gpu) {
		u->gpu = true;
		u->gpu_ns = gpu_engine_ns(gpu);
		u->gpu_interrupts = gpu_interrupts(gpu);
	}
	return true;
}

/* The command may have been given other CPUs since it started, by taskset for example. */
static void follow(pid_t child)
{
	struct obtained theirs = rt_look(child);

	if (theirs.known)
		rt_pin(0, &theirs.affinity);
}

void usage_watch(int fd, pid_t guard, const _Atomic int *child, bool gpu)
{
	int64_t due_ns = mono_ns(), most_ns = 0;
	struct family family = { 0 };
	struct usage u;
	struct gpu seen;

	if (rt_choose_sleep())
		_exit(0); /* no way to sleep */
	if (gpu)
		gpu_begin(&seen);
	for (;;) {
		due_ns += SECOND_NS;
		if (due_ns < mono_ns())
			due_ns = mono_ns(); /* starved by the load: no burst afterwards */
		while (rt_sleep_until(due_ns))
			;
		if (!atomic_load(child))
			continue;
		follow(*child);
		if (!look(&family, guard, &u, gpu ? &seen : NULL))
			continue;
		if (u.cpu_ns < most_ns)
			u.cpu_ns = most_ns;
		most_ns = u.cpu_ns;
		if (write(fd, &u, sizeof u) != (ssize_t)sizeof u)
			_exit(0); /* the guard ended */
	}
}
