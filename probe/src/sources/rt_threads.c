/*
 * @rt-threads: every thread of a real-time class with its CPU time, so that a thread above or beside a lane has a name.
 * A search of all of /proc is expensive, so it happens at every tenth reading. Threads created since the last two readings are found
 * without a search: the kernel tells the newest thread number, and asking the policy of one number takes less than a microsecond. If
 * there are too many new numbers, or they began anew, it searches at once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/files.h"
#include "os/procstat.h"
#include "os/rt.h"
#include "sources/source.h"

enum { SEARCH_EVERY = 10, NEW_AT_MOST = 1000, KEPT_OPEN = 100 };

struct thread {
	pid_t tid, pid;
	int stat, schedstat; /* -1: not open */
};

struct rt_threads {
	struct thread *list; /* sorted by tid */
	size_t n, capacity;
	unsigned readings;
	pid_t last, before_last; /* the newest thread number at the last reading and at the one before */
};

static void forget(struct thread *t)
{
	if (t->stat >= 0)
		close(t->stat);
	if (t->schedstat >= 0)
		close(t->schedstat);
	t->stat = t->schedstat = -1;
}

/* The process a thread belongs to, 0 if it is gone. */
static pid_t process_of(pid_t tid)
{
	char path[40], text[1024], *line;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	line = read_small(path, text, sizeof text) > 0 ? strstr(text, "\nTgid:") : NULL;
	return line ? (pid_t)atoi(line + 6) : 0;
}

/* Adds a thread in order, unless it is known. Without memory it is left out until the next search. */
static void add(struct rt_threads *r, pid_t tid, pid_t pid)
{
	size_t at = r->n;

	while (at && r->list[at - 1].tid > tid)
		at--;
	if (at && r->list[at - 1].tid == tid)
		return;
	if (r->n == r->capacity) {
		size_t capacity = r->capacity ? 2 * r->capacity : 64;
		struct thread *bigger = realloc(r->list, capacity * sizeof *bigger);

		if (!bigger)
			return;
		r->list = bigger;
		r->capacity = capacity;
	}
	memmove(&r->list[at + 1], &r->list[at], (r->n - at) * sizeof *r->list);
	r->list[at] = (struct thread){ .tid = tid, .pid = pid, .stat = -1, .schedstat = -1 };
	r->n++;
}

static void search_process(struct rt_threads *r, const char *name)
{
	char path[40];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%.16s/task", name);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0 && rt_is_real_time(tid))
			add(r, tid, (pid_t)atoi(name));
	}
	closedir(dir);
}

/* 0, or -1 and errno if /proc cannot be read. */
static int search_all(struct rt_threads *r)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			search_process(r, entry->d_name);
	closedir(dir);
	return 0;
}

/* The number of the newest thread (the last field of loadavg); 0: not known. */
static pid_t newest(void)
{
	char text[128], *blank;

	blank = read_small("/proc/loadavg", text, sizeof text) > 0 ? strrchr(text, ' ') : NULL;
	return blank ? (pid_t)atoi(blank + 1) : 0;
}

/* A thread often becomes real-time some time after its creation, so look back over two readings. 0, or -1 and errno. */
static int search_new(struct rt_threads *r, pid_t now)
{
	if (now < r->before_last || now - r->before_last > NEW_AT_MOST)
		return search_all(r);
	for (pid_t tid = r->before_last + 1; tid <= now; tid++) {
		pid_t pid = rt_is_real_time(tid) ? process_of(tid) : 0;

		if (pid)
			add(r, tid, pid);
	}
	return 0;
}

/* Reads /proc/PID/task/TID/NAME, and keeps it open if `keep`. Bytes and a NUL, or -1. */
static ssize_t read_of(const struct thread *t, const char *name, int *fd, bool keep, char *text, size_t size)
{
	char path[80];
	ssize_t n;

	if (*fd < 0) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)t->pid, (int)t->tid, name);
		*fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	n = *fd < 0 ? -1 : pread(*fd, text, size - 1, 0);
	if (*fd >= 0 && (n < 0 || !keep)) {
		close(*fd);
		*fd = -1;
	}
	text[n > 0 ? n : 0] = 0;
	return n;
}

/* So that a name cannot end the line. */
static void make_printable(char *name)
{
	for (char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}

/* One line. False: the thread is gone, or no longer real-time. */
static bool look(struct thread *t, bool keep, struct lines *out)
{
	char text[1024];
	unsigned long long run_ns;
	struct procstat stat;

	if (read_of(t, "stat", &t->stat, keep, text, sizeof text) <= 0 || !procstat_parse(text, &stat) ||
	    !rt_is_real_time_policy(stat.policy))
		return false;
	make_printable(stat.name);
	if (read_of(t, "schedstat", &t->schedstat, keep, text, sizeof text) <= 0 || sscanf(text, "%llu", &run_ns) != 1 || !run_ns)
		run_ns = (stat.user_ticks + stat.system_ticks) * (1000000000ull / (unsigned long long)sysconf(_SC_CLK_TCK));
	lines_add(out, "%d %d %s %d %d %llu %llu %llu %s\n", (int)t->tid, (int)t->pid, rt_policy_name(stat.policy), stat.priority, stat.cpu,
		  run_ns, (unsigned long long)stat.minor_faults, (unsigned long long)stat.major_faults, stat.name);
	return true;
}

static void *rt_threads_open(const char *argument, const struct source_place *place)
{
	(void)argument;
	(void)place;
	return calloc(1, sizeof(struct rt_threads));
}

static ssize_t rt_threads_read(void *state, char *to, size_t size, bool *more)
{
	struct rt_threads *r = state;
	struct lines out = { .at = to, .size = size };
	pid_t now = newest();
	size_t kept = 0;

	(void)more;
	if (r->readings++ % SEARCH_EVERY == 0 ? search_all(r) : search_new(r, now))
		return -1;
	r->before_last = r->readings == 1 ? now : r->last;
	r->last = now;
	for (size_t i = 0; i < r->n; i++) {
		if (look(&r->list[i], kept < KEPT_OPEN, &out))
			r->list[kept++] = r->list[i];
		else
			forget(&r->list[i]);
	}
	r->n = kept;
	return (ssize_t)out.used;
}

static void rt_threads_close(void *state)
{
	struct rt_threads *r = state;

	for (size_t i = 0; i < r->n; i++)
		forget(&r->list[i]);
	free(r->list);
	free(r);
}

const struct source source_rt_threads = {
	.name = "@rt-threads",
	.summary = "threads of a real-time class with their CPU time and page faults",
	.open = rt_threads_open,
	.read = rt_threads_read,
	.close = rt_threads_close,
};
