/*
 * The command calls setsid() before exec. So a process group with one descendant of the guard has only descendants, and it is safe to
 * kill the whole group. A process that forks cannot outrun that, as it can outrun a list of pids: the kernel checks for a pending
 * SIGKILL before a fork becomes visible. Whether anything is left is known without /proc: a subreaper without children has no
 * descendants (wait4 says ECHILD).
 */
#include "guard/family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/procstat.h"

static bool read_relative(int proc, const char *name, struct relative *r)
{
	char path[64], text[1024];
	struct procstat stat;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%.32s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	if (!procstat_parse(text, &stat))
		return false;
	*r = (struct relative){
		.pid = (pid_t)atoi(name),
		.ppid = stat.ppid,
		.pgrp = stat.pgrp,
		.start = stat.start_ticks,
		.state = stat.state,
		.ours = -1,
	};
	return true;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct relative *)a)->pid, y = ((const struct relative *)b)->pid;

	return (x > y) - (x < y);
}

static bool reachable(const struct relative *r)
{
	return r->ours == 1 && r->state != 'Z' && r->state != 'X' && r->state != 'x';
}

/* Is `r` below `self`? Walks up, bounded by the number of processes (the tree may change under us). */
static bool below(const struct family *f, const struct relative *r, pid_t self)
{
	for (size_t steps = 0; steps <= f->n; steps++) {
		struct relative key = { .pid = r->ppid };

		if (r->ppid == self)
			return true;
		if (r->ppid <= 1 || r->ours >= 0)
			return r->ours == 1;
		r = bsearch(&key, f->all, f->n, sizeof *f->all, by_pid);
		if (!r)
			return false; /* its parent has ended: the next scan sees the new parent */
	}
	return false;
}

static void kill_now(const struct relative *r)
{
	if (r->pgrp > 1 && r->pgrp != getpgrp())
		kill(-r->pgrp, SIGKILL);
	kill(r->pid, SIGKILL);
}

/*
 * Reads all processes and marks the descendants. With `kill_children`, kills each direct child when it is seen. In a chain of processes
 * that each fork and exit, the newest is soon a child of ours, and it lives shorter than a whole scan takes.
 */
static void scan_below(struct family *f, pid_t self, bool kill_children)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	f->n = 0;
	f->blind = !dir;
	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (f->n == f->cap) {
			size_t cap = f->cap ? 2 * f->cap : 512;
			void *more = realloc(f->all, cap * sizeof *f->all);

			if (!more)
				break; /* no memory: the next scan sees the rest */
			f->all = more;
			f->cap = cap;
		}
		struct relative *r = &f->all[f->n];

		if (!read_relative(dirfd(dir), entry->d_name, r))
			continue;
		if (kill_children && r->ppid == self && r->state != 'Z')
			kill_now(r);
		f->n++;
	}
	closedir(dir);
	f->blind = f->n == 0;
	qsort(f->all, f->n, sizeof *f->all, by_pid);
	for (size_t i = 0; i < f->n; i++)
		f->all[i].ours = below(f, &f->all[i], self);
}

static void scan(struct family *f, bool kill_children)
{
	scan_below(f, getpid(), kill_children);
}

void family_look(struct family *f, pid_t root)
{
	scan_below(f, root, false);
}

/* Adds to a list unless it is there. Returns true if it was new (or could not be noted). */
static bool note(struct pid_at **list, size_t *n, size_t *cap, const struct relative *r)
{
	for (size_t i = 0; i < *n; i++)
		if ((*list)[i].pid == r->pid && (*list)[i].start == r->start)
			return false;
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 64;
		void *bigger = realloc(*list, more * sizeof **list);

		if (!bigger)
			return true;
		*list = bigger;
		*cap = more;
	}
	(*list)[*n].pid = r->pid;
	(*list)[*n].start = r->start;
	(*n)++;
	return true;
}

static size_t blind_signal(const struct family *f, int signal_number)
{
	if (f->child <= 1)
		return 0;
	if (signal_number == SIGTERM)
		kill(-f->child, SIGCONT);
	return kill(-f->child, signal_number) == 0;
}

size_t family_ask(struct family *f, bool child_only)
{
	size_t alive = 0;

	scan(f, false);
	if (f->blind)
		return blind_signal(f, SIGTERM);
	for (size_t i = 0; i < f->n; i++) {
		struct relative *r = &f->all[i];

		if (!reachable(r) || (child_only && r->pid != f->child))
			continue;
		alive++;
		if (note(&f->asked, &f->n_asked, &f->cap_asked, r))
			kill(r->pid, SIGTERM);
		if (r->state == 'T')
			kill(r->pid, SIGCONT); /* a stopped process does not see SIGTERM */
	}
	return alive;
}

size_t family_kill(struct family *f)
{
	size_t alive = 0;

	scan(f, true);
	if (f->blind)
		return blind_signal(f, SIGKILL);
	for (size_t i = 0; i < f->n; i++) {
		struct relative *r = &f->all[i];

		if (!reachable(r))
			continue;
		alive++;
		kill_now(r);
		note(&f->killed, &f->n_killed, &f->cap_killed, r);
	}
	return alive;
}

size_t family_alive(struct family *f)
{
	size_t alive = 0;

	scan(f, false);
	for (size_t i = 0; i < f->n; i++)
		alive += reachable(&f->all[i]);
	return alive;
}

void family_free(struct family *f)
{
	free(f->all);
	free(f->asked);
	free(f->killed);
	memset(f, 0, sizeof *f);
}
