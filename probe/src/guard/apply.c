#include "guard/apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/lines.h"
#include "guard/setting.h"
#include "guard/undo.h"
#include "os/cpus.h"
#include "os/files.h"
#include "os/procstat.h"
#include "os/rt.h"
#include "os/say.h"

enum { WHY_TEXT = 256 };

enum state { SAME, TOOK, DIFFERS, REFUSED, VANISHED };
static const char *const state_names[] = { "same", "took", "differs", "refused", "gone" };

struct job {
	const struct applying *a;
	const struct fields *f;
	int index;
	int error; /* of the journal */
	char now[SETTING_TEXT];
	char why[WHY_TEXT];
};

static enum state refuse(struct job *j, int error)
{
	snprintf(j->why, sizeof j->why, "%s", strerror(error));
	return REFUSED;
}

static bool only_told(const struct job *j)
{
	return j->a->journal < 0;
}

/* A line of the journal. Without a journal it is told, with the index of the plan's line. 0 or errno. */
static int note(struct job *j, const char *const *fields, int n)
{
	const char *told[8];
	char index[16];
	int error;

	if (!only_told(j)) {
		error = line_append(j->a->journal, fields, n);
	} else {
		snprintf(index, sizeof index, "%d", j->index);
		told[0] = index;
		memcpy(told + 1, fields, (size_t)n * sizeof *fields);
		error = line_append(j->a->results, told, n + 1);
	}
	if (error)
		j->error = error;
	return error;
}

/* ---- files ---- */

static int note_value(struct job *j, const char *path)
{
	char old[SETTING_TEXT], effective[300], where[SETTING_TEXT];
	const size_t length = strlen(path), end = strlen("smp_affinity_list");

	if (setting_read(path, old, sizeof old))
		return 0; /* it cannot be put back, and is not changed by us */
	if (length > end && length < sizeof effective && !strcmp(path + length - end, "smp_affinity_list")) {
		snprintf(effective, sizeof effective, "%.*seffective_affinity_list", (int)(length - end), path);
		if (!setting_read(effective, where, sizeof where) && *where)
			return note(j, (const char *const[]){ "irq", path, old, where }, 4);
	}
	return note(j, (const char *const[]){ "value", path, old }, 3);
}

static int note_affinity(struct job *j, pid_t tid, uint64_t start, const struct cpus *cpus)
{
	char id[16], began[24], list[1024];

	snprintf(id, sizeof id, "%d", (int)tid);
	snprintf(began, sizeof began, "%" PRIu64, start);
	return note(j, (const char *const[]){ "affinity", id, began, format_cpus(cpus, list, sizeof list) }, 4);
}

/* The CPUs of all threads of a process that may not use every CPU. */
static int note_threads_of(struct job *j, const char *process, const struct cpus *all)
{
	char path[300];
	struct dirent *entry;
	DIR *tasks;
	int error = 0;

	snprintf(path, sizeof path, "/proc/%.200s/task", process);
	tasks = opendir(path);
	while (tasks && !error && (entry = readdir(tasks)) != NULL) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct obtained now = { 0 };
		struct procstat s = { 0 };

		/* A worker of the kernel goes to the CPU of the work that it serves: nothing that could be put back. */
		if (tid > 0 && procstat_of(tid, &s) && !s.kept)
			now = rt_look(tid);
		if (now.known && memcmp(&now.affinity, all, sizeof *all) != 0)
			error = note_affinity(j, tid, s.start_ticks, &now.affinity);
	}
	if (tasks)
		closedir(tasks);
	return error;
}

static int note_all_threads(struct job *j)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct cpus all;
	int error = 0;

	if (cpus_file("/sys/devices/system/cpu/online", &all))
		memset(&all, 0, sizeof all);
	while (proc && !error && (entry = readdir(proc)) != NULL)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			error = note_threads_of(j, entry->d_name, &all);
	if (proc)
		closedir(proc);
	return error;
}

static int note_also(struct job *j, const char *pattern)
{
	glob_t found;
	int error = 0;

	if (!strcmp(pattern, "@threads"))
		return note_all_threads(j);
	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc && !error; i++)
		if (strcmp(found.gl_pathv[i], j->f->text[1]) != 0)
			error = note_value(j, found.gl_pathv[i]);
	globfree(&found);
	return error;
}

static enum state read_back(struct job *j, const char *path, const char *wanted)
{
	if (setting_read(path, j->now, sizeof j->now))
		j->now[0] = 0;
	return setting_same(path, j->now, wanted) ? TOOK : DIFFERS;
}

/* What may change with it is journaled before it, so that it is put back after it. */
static enum state apply_write(struct job *j)
{
	const char *path = j->f->text[1], *value = j->f->text[2];
	int error = setting_read(path, j->now, sizeof j->now);

	if (error)
		return refuse(j, error);
	if (setting_same(path, j->now, value))
		return SAME;
	for (int i = 3; i < j->f->n; i++)
		if (note_also(j, j->f->text[i]))
			return refuse(j, j->error);
	if (note_value(j, path))
		return refuse(j, j->error);
	if (only_told(j))
		return TOOK;
	error = setting_write(path, value);
	return error ? refuse(j, error) : read_back(j, path, value);
}

static enum state apply_set(struct job *j)
{
	int error;

	for (int i = 3; i < j->f->n; i++)
		if (note_also(j, j->f->text[i]))
			return refuse(j, j->error);
	error = only_told(j) ? 0 : setting_write(j->f->text[1], j->f->text[2]);
	if (error)
		return refuse(j, error);
	return only_told(j) ? TOOK : read_back(j, j->f->text[1], j->f->text[2]);
}

static enum state apply_hold(struct job *j)
{
	const int32_t value = (int32_t)strtol(j->f->text[2], NULL, 10);
	int32_t obtained = -1;
	int fd;

	if (access(j->f->text[1], W_OK))
		return refuse(j, errno);
	if (note(j, (const char *const[]){ "hold", j->f->text[1], j->f->text[2] }, 3))
		return refuse(j, j->error);
	if (only_told(j))
		return TOOK;
	fd = open(j->f->text[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || write(fd, &value, sizeof value) != (ssize_t)sizeof value)
		return refuse(j, errno);
	if (read(fd, &obtained, sizeof obtained) == (ssize_t)sizeof obtained)
		snprintf(j->now, sizeof j->now, "%" PRId32, obtained);
	return obtained <= value ? TOOK : DIFFERS; /* the smallest of all holders counts; it stays open */
}

/* ---- threads ---- */

/* When the thread started; 0 if it is gone, or is not the one that is meant. A plan says `=NAME` where it does not know the start. */
static uint64_t start_of(const struct job *j)
{
	const char *told = j->f->text[2];
	struct procstat s;
	char path[40];

	snprintf(path, sizeof path, "/proc/%ld/stat", field_number(j->f, 1));
	if (!procstat_read(path, &s))
		return 0;
	return (*told == '=' ? !strcmp(s.name, told + 1) : s.start_ticks == strtoull(told, NULL, 10)) ? s.start_ticks : 0;
}

static enum state apply_policy(struct job *j)
{
	const pid_t tid = (pid_t)field_number(j->f, 1);
	const int policy = policy_of(j->f->text[3]), priority = (int)field_number(j->f, 4);
	struct obtained was = rt_look(tid);
	const uint64_t start = start_of(j);
	char name[32], number[16], began[24];
	int error;

	if (!was.known || !start)
		return VANISHED;
	snprintf(j->now, sizeof j->now, "%s %d", rt_policy_name(was.policy), was.priority);
	if (was.policy == policy && was.priority == priority)
		return SAME;
	if (was.policy > SCHED_IDLE || policy < 0)
		return refuse(j, EINVAL); /* a deadline has parameters that are not put back */
	snprintf(name, sizeof name, "%s%s", rt_policy_name(was.policy), was.reset_on_fork ? "+reset" : "");
	snprintf(number, sizeof number, "%d", was.priority);
	snprintf(began, sizeof began, "%" PRIu64, start);
	if (note(j, (const char *const[]){ "policy", j->f->text[1], began, name, number }, 5))
		return refuse(j, j->error);
	if (only_told(j))
		return TOOK;
	error = rt_set_policy(tid, policy | (was.reset_on_fork ? RESET_ON_FORK : 0), priority);
	if (error)
		return refuse(j, error);
	was = rt_look(tid);
	snprintf(j->now, sizeof j->now, "%s %d", rt_policy_name(was.policy), was.priority);
	return was.policy == policy && was.priority == priority ? TOOK : DIFFERS;
}

static enum state apply_affinity(struct job *j)
{
	const pid_t tid = (pid_t)field_number(j->f, 1);
	struct obtained was = rt_look(tid);
	const uint64_t start = start_of(j);
	struct cpus wanted;
	const char *why;
	int error;

	if (!was.known || !start)
		return VANISHED;
	if (parse_cpus(j->f->text[3], &wanted, &why))
		return refuse(j, EINVAL);
	format_cpus(&was.affinity, j->now, 1024);
	if (!memcmp(&was.affinity, &wanted, sizeof wanted))
		return SAME;
	if (note_affinity(j, tid, start, &was.affinity))
		return refuse(j, j->error);
	if (only_told(j))
		return TOOK;
	error = rt_pin(tid, &wanted);
	if (error)
		return refuse(j, error);
	was = rt_look(tid);
	format_cpus(&was.affinity, j->now, 1024);
	return !memcmp(&was.affinity, &wanted, sizeof wanted) ? TOOK : DIFFERS;
}

/* A thread of a program (not of the kernel) that may use all CPUs, and is not held to some of them by a group. */
static bool may_go_anywhere(pid_t tid, const struct cpus *all, struct obtained *now)
{
	struct procstat s;

	if (!procstat_of(tid, &s) || s.ppid == 2 || tid == 2)
		return false;
	*now = rt_look(tid);
	return now->known && !memcmp(&now->affinity, all, sizeof *all);
}

struct moving {
	struct job *job;
	struct cpus all, wanted;
	size_t moved, refused;
};

static void move_thread(struct moving *m, pid_t tid)
{
	struct obtained now;

	if (tid <= 0 || m->job->error || !may_go_anywhere(tid, &m->all, &now) ||
	    note_affinity(m->job, tid, process_start(tid), &now.affinity))
		return;
	if (only_told(m->job) || !rt_pin(tid, &m->wanted))
		m->moved++;
	else
		m->refused++;
}

static void move_threads_of(struct moving *m, const char *process)
{
	char path[300];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%.200s/task", process);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)) != NULL)
		move_thread(m, (pid_t)strtol(entry->d_name, NULL, 10));
	if (tasks)
		closedir(tasks);
}

/* Twice, because a thread that is not moved yet may have made new ones. Our own threads stay: what they measure they are pinned to. */
static enum state apply_programs(struct job *j)
{
	struct moving m = { .job = j };
	struct dirent *entry;
	const char *why;
	DIR *proc;

	if (cpus_file("/sys/devices/system/cpu/online", &m.all) || parse_cpus(j->f->text[1], &m.wanted, &why))
		return refuse(j, EINVAL);
	for (int round = 0; round < (only_told(j) ? 1 : 2); round++) {
		proc = opendir("/proc");
		while (proc && (entry = readdir(proc)) != NULL)
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strtol(entry->d_name, NULL, 10) != (long)getpid())
				move_threads_of(&m, entry->d_name);
		if (proc)
			closedir(proc);
	}
	snprintf(j->now, sizeof j->now, "%zu threads moved, %zu refused", m.moved, m.refused);
	return j->error ? refuse(j, j->error) : m.moved ? TOOK : SAME;
}

/* ---- groups, mounts, services ---- */

static enum state apply_directory(struct job *j)
{
	if (!access(j->f->text[1], F_OK))
		return refuse(j, EEXIST);
	if (note(j, (const char *const[]){ "directory", j->f->text[1] }, 2))
		return refuse(j, j->error);
	return only_told(j) || !mkdir(j->f->text[1], 0755) ? TOOK : refuse(j, errno);
}

static bool has_word(char *text, const char *wanted)
{
	for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n"))
		if (!strcmp(word, wanted))
			return true;
	return false;
}

static enum state apply_controller(struct job *j)
{
	char text[SETTING_TEXT], on[80];
	int error;

	if (read_small(j->f->text[1], text, sizeof text) < 0)
		return refuse(j, errno);
	if (has_word(text, j->f->text[2]))
		return SAME;
	if (note(j, (const char *const[]){ "controller", j->f->text[1], j->f->text[2] }, 3))
		return refuse(j, j->error);
	snprintf(on, sizeof on, "+%s", j->f->text[2]);
	error = only_told(j) ? 0 : setting_write(j->f->text[1], on);
	return error ? refuse(j, error) : TOOK;
}

static enum state apply_move(struct job *j)
{
	int error;

	if (process_start((pid_t)field_number(j->f, 2)) != strtoull(j->f->text[3], NULL, 10))
		return VANISHED;
	if (note(j, (const char *const[]){ "moved", j->f->text[2], j->f->text[3], j->f->text[4] }, 4))
		return refuse(j, j->error);
	error = only_told(j) ? 0 : setting_write(j->f->text[1], j->f->text[2]);
	return error ? refuse(j, error) : TOOK;
}

static bool of_a_program(const char *tid)
{
	struct procstat s;
	char path[80];

	snprintf(path, sizeof path, "/proc/%.20s/stat", tid);
	return procstat_read(path, &s) && s.ppid != 2 && strcmp(tid, "2") != 0;
}

/* Twice, because a thread that is not moved yet may have made new ones. They go back when the directory is removed. */
static enum state apply_gather(struct job *j)
{
	size_t moved = 0, length;
	char *text;

	for (int i = 3; i < j->f->n; i++)
		if (note_also(j, j->f->text[i]))
			return refuse(j, j->error);
	for (int round = 0; round < 2 && !only_told(j); round++) {
		text = read_whole(j->f->text[2], &length);
		if (!text)
			return refuse(j, errno);
		for (char *tid = strtok(text, "\n"); tid; tid = strtok(NULL, "\n"))
			moved += of_a_program(tid) && !setting_write(j->f->text[1], tid);
		free(text);
	}
	snprintf(j->now, sizeof j->now, "%zu threads moved", moved);
	return TOOK;
}

static enum state apply_mount(struct job *j)
{
	if (access(j->f->text[2], F_OK))
		return refuse(j, errno);
	if (note(j, (const char *const[]){ "mount", j->f->text[2] }, 2))
		return refuse(j, j->error);
	return only_told(j) || !mount(j->f->text[1], j->f->text[2], j->f->text[1], 0, NULL) ? TOOK : refuse(j, errno);
}

static enum state apply_service(struct job *j)
{
	int error = service_command("is-active", j->f->text[1]);

	if (error)
		return error == EPERM ? SAME : refuse(j, error);
	if (note(j, (const char *const[]){ "service", j->f->text[1] }, 2))
		return refuse(j, j->error);
	error = only_told(j) ? 0 : service_command("stop", j->f->text[1]);
	return error ? refuse(j, error) : TOOK;
}

/* ---- all ---- */

static const struct {
	const char *kind;
	int fields;
	enum state (*apply)(struct job *j);
} kinds[] = {
	{ "write", 3, apply_write },       { "hold", 3, apply_hold },         { "policy", 5, apply_policy },
	{ "affinity", 4, apply_affinity }, { "programs", 2, apply_programs }, { "directory", 2, apply_directory },
	{ "set", 3, apply_set },           { "gather", 3, apply_gather },     { "controller", 3, apply_controller },
	{ "move", 5, apply_move },         { "mount", 3, apply_mount },       { "service", 2, apply_service },
};

static int tell(struct job *j, enum state state)
{
	char index[16];

	if (only_told(j) && state != REFUSED && state != SAME && state != VANISHED)
		return 0; /* the line of the journal was told */
	snprintf(index, sizeof index, "%d", j->index);
	return line_append(j->a->results, (const char *const[]){ index, state_names[state], j->now, j->why }, 4);
}

static int apply_line(const struct applying *a, const struct fields *f, int index)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct job j = { .a = a, .f = f, .index = index };
		int error;

		if (!fields_are(f, kinds[i].kind, kinds[i].fields))
			continue;
		error = tell(&j, kinds[i].apply(&j));
		error = error ? error : j.error;
		return error ? say_fail(EXIT_BOARD, "line %d: cannot be journaled: %s; nothing more is changed", index + 1, strerror(error))
			     : 0;
	}
	return say_fail(EXIT_USAGE, "line %d of the plan is of no kind that is known: %s", index + 1, f->n ? f->text[0] : "");
}

int apply_plan(const struct applying *a, char *text)
{
	int index = 0, code = 0;

	for (char *line = text, *next; line && *line && !code; line = next, index++) {
		struct fields f;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		fields_split(&f, line);
		code = apply_line(a, &f, index);
	}
	return code;
}
