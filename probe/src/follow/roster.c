#include "follow/roster.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/files.h"
#include "os/procstat.h"

enum { PATH = 300, PROCESSES_MOST = 256 };

int roster_open(struct roster *r, pid_t pid, const char *comm)
{
	*r = (struct roster){ .pid = pid, .started = pid ? process_start(pid) : 0, .self = getpid() };
	if (comm)
		snprintf(r->comm, sizeof r->comm, "%s", comm); /* the kernel keeps 15 characters, too */
	r->list = calloc(ROSTER_MOST, sizeof *r->list);
	r->processes = calloc(PROCESSES_MOST, sizeof *r->processes);
	return r->list && r->processes ? 0 : -1;
}

/* --- the table of tids --- */

static size_t slot_of(const struct roster *r, int32_t tid)
{
	size_t at = (uint32_t)tid * UINT32_C(2654435761) % ROSTER_SLOTS;

	while (r->slot[at].tid && r->slot[at].tid != tid)
		at = (at + 1) % ROSTER_SLOTS;
	return at;
}

static void set_lane(struct roster *r, int32_t tid, int lane)
{
	const size_t at = slot_of(r, tid);

	if (!r->slot[at].tid)
		r->used++;
	r->slot[at].tid = tid;
	r->slot[at].lane = (int16_t)lane;
}

/* Forgets the tids that are not followed: numbers are used again. */
static void forget_others(struct roster *r)
{
	memset(r->slot, 0, sizeof r->slot);
	r->used = 0;
	for (int i = 0; i < r->n; i++)
		set_lane(r, r->list[i]->wakeups.tid, i);
}

/* --- /proc --- */

static bool task_stat(int32_t pid, int32_t tid, struct procstat *s)
{
	char path[PATH];

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
	return procstat_read(path, s) && s->state != 'Z' && s->state != 'X';
}

static bool read_turns(const struct followed *f, struct turns *turns)
{
	char path[PATH], text[128];
	unsigned long long ran, waited, times;
	struct procstat s;

	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", f->pid, f->wakeups.tid);
	if (read_small(path, text, sizeof text) <= 0 || sscanf(text, "%llu %llu %llu", &ran, &waited, &times) != 3 ||
	    !task_stat(f->pid, f->wakeups.tid, &s))
		return false;
	*turns = (struct turns){ ran, waited, times, s.minor_faults, s.major_faults };
	return true;
}

static void add(struct roster *r, int32_t pid, int32_t tid, const char *name)
{
	struct followed *f;
	const size_t at = slot_of(r, tid);

	if (r->slot[at].tid && r->slot[at].lane >= 0) { /* known, or a number that is used again */
		r->list[r->slot[at].lane]->gone = false;
		return;
	}
	f = r->n < ROSTER_MOST ? calloc(1, sizeof *f) : NULL;
	if (!f) {
		r->left_out++;
		set_lane(r, tid, -1);
		return;
	}
	f->wakeups.tid = tid;
	f->pid = pid;
	f->level_ns = WAKEUPS_NO_LEVEL;
	snprintf(f->name, sizeof f->name, "%s", name);
	if (read_turns(f, &f->at_first))
		f->last = f->at_first;
	set_lane(r, tid, r->n);
	r->list[r->n++] = f;
}

/* Calls `visit` for each number that names a directory in `path`. */
static void each_number(struct roster *r, const char *path, void (*visit)(struct roster *r, int32_t number, int32_t above), int32_t above)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *end;
		const long number = strtol(entry->d_name, &end, 10);

		if (end != entry->d_name && !*end && number > 0)
			visit(r, (int32_t)number, above);
	}
	if (directory)
		closedir(directory);
}

static void visit_thread(struct roster *r, int32_t tid, int32_t pid)
{
	struct procstat s;

	if (task_stat(pid, tid, &s))
		add(r, pid, tid, s.name);
}

/* A thread of the name in a process of another name. */
static void visit_named(struct roster *r, int32_t tid, int32_t pid)
{
	struct procstat s;

	if (tid != pid && task_stat(pid, tid, &s) && !strcmp(s.name, r->comm))
		add(r, pid, tid, s.name);
}

static void visit_process(struct roster *r, int32_t pid, int32_t unused)
{
	struct procstat s;
	char path[PATH];

	(void)unused;
	if (pid == r->self || !task_stat(pid, pid, &s))
		return;
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	if (strcmp(s.name, r->comm)) {
		if (s.threads > 1)
			each_number(r, path, visit_named, pid);
		return;
	}
	if (r->n_processes < PROCESSES_MOST)
		r->processes[r->n_processes++] = pid;
	each_number(r, path, visit_thread, pid);
}

int roster_scan(struct roster *r)
{
	char path[PATH];
	int there = 0;

	for (int i = 0; i < r->n; i++)
		r->list[i]->gone = true;
	forget_others(r);
	if (!r->pid) {
		r->n_processes = 0;
		each_number(r, "/proc", visit_process, 0);
	} else if (process_start(r->pid) == r->started) {
		snprintf(path, sizeof path, "/proc/%d/task", r->pid);
		each_number(r, path, visit_thread, r->pid);
	}
	for (int i = 0; i < r->n; i++)
		there += !r->list[i]->gone;
	return there;
}

int roster_lane(struct roster *r, int32_t tid)
{
	const size_t at = slot_of(r, tid);
	struct procstat s;

	if (tid <= 0)
		return -1;
	if (r->slot[at].tid)
		return r->slot[at].lane;
	if (r->used > ROSTER_SLOTS / 2)
		forget_others(r);
	if (r->pid && task_stat(r->pid, tid, &s))
		add(r, r->pid, tid, s.name);
	for (int i = 0; i < r->n_processes; i++)
		if (task_stat(r->processes[i], tid, &s)) {
			add(r, r->processes[i], tid, s.name);
			break;
		}
	if (!r->slot[slot_of(r, tid)].tid)
		set_lane(r, tid, -1);
	return r->slot[slot_of(r, tid)].lane;
}

void roster_turns(struct roster *r)
{
	for (int i = 0; i < r->n; i++)
		if (!r->list[i]->gone)
			read_turns(r->list[i], &r->list[i]->last);
}
