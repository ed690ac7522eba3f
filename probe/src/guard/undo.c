#include "guard/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard/setting.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "os/files.h"
#include "os/procstat.h"
#include "os/rt.h"

enum { PATH_TEXT = 512 };
static const int64_t patience_ns = 2000000000;
static const long again_ns = 10000000;

static enum undone failed(char why[UNDO_WHY], const char *what)
{
	snprintf(why, UNDO_WHY, "%s", what);
	return UNDO_FAILED;
}

long field_number(const struct fields *f, int at)
{
	return at < f->n ? strtol(f->text[at], NULL, 10) : 0;
}

int policy_of(const char *name)
{
	const char *plus = strchr(name, '+');
	const size_t length = plus ? (size_t)(plus - name) : strlen(name);

	for (int policy = 0; policy <= SCHED_IDLE; policy++) {
		const char *known = rt_policy_name(policy);

		if (strlen(known) == length && !strncmp(known, name, length))
			return policy | (plus ? RESET_ON_FORK : 0);
	}
	return -1;
}

static bool same_thread(const struct fields *f)
{
	return process_start((pid_t)field_number(f, 1)) == strtoull(f->text[2], NULL, 10);
}

/* ---- files ---- */

static enum undone undo_value(const struct fields *f, char why[UNDO_WHY])
{
	const char *path = f->text[1], *old = f->text[2];
	char now[SETTING_TEXT];
	int error = setting_read(path, now, sizeof now);

	if (!error && setting_same(path, now, old))
		return UNDO_SAME;
	error = setting_write(path, old);
	if (error)
		return failed(why, strerror(error));
	if (setting_read(path, now, sizeof now))
		return UNDO_SAME; /* a file that nobody can read: what was written has to do */
	if (!setting_same(path, now, old)) {
		snprintf(why, UNDO_WHY, "it stays at %.200s", now);
		return UNDO_FAILED;
	}
	return UNDO_CHANGED;
}

/* The kernel leaves an interrupt on its CPU as long as the list allows it: so first only the CPU where it was is allowed. */
static enum undone undo_irq(const struct fields *f, char why[UNDO_WHY])
{
	char now[SETTING_TEXT];

	if (!setting_read(f->text[1], now, sizeof now) && setting_same(f->text[1], now, f->text[2]))
		return UNDO_SAME;
	setting_write(f->text[1], f->text[3]);
	return undo_value(f, why);
}

/* ---- threads ---- */

static enum undone undo_policy(const struct fields *f, char why[UNDO_WHY])
{
	const pid_t tid = (pid_t)field_number(f, 1);
	const int policy = policy_of(f->text[3]), priority = (int)field_number(f, 4);
	struct obtained now;
	int error;

	if (!same_thread(f))
		return UNDO_SAME;
	now = rt_look(tid);
	if (now.known && now.policy == (policy & ~RESET_ON_FORK) && now.priority == priority)
		return UNDO_SAME;
	error = policy < 0 ? EINVAL : rt_set_policy(tid, policy, priority);
	return error ? failed(why, strerror(error)) : UNDO_CHANGED;
}

static enum undone undo_affinity(const struct fields *f, char why[UNDO_WHY])
{
	const pid_t tid = (pid_t)field_number(f, 1);
	struct obtained now;
	struct cpus old;
	const char *reason;
	int error;

	if (!same_thread(f))
		return UNDO_SAME;
	if (parse_cpus(f->text[3], &old, &reason))
		return failed(why, reason);
	now = rt_look(tid);
	if (!memcmp(&now.affinity, &old, sizeof old))
		return UNDO_SAME;
	error = rt_pin(tid, &old);
	return error ? failed(why, strerror(error)) : UNDO_CHANGED;
}

/* ---- groups ---- */

/* Whether the file of a group names the process. */
static bool is_member(const char *file, const char *pid)
{
	size_t length, n = strlen(pid);
	char *text = read_whole(file, &length);
	bool found = false;

	for (char *line = text; line && *line && !found; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		found = !strncmp(line, pid, n) && (line[n] == '\n' || !line[n]);
	free(text);
	return found;
}

static enum undone undo_moved(const struct fields *f, char why[UNDO_WHY])
{
	int error;

	if (!same_thread(f) || is_member(f->text[3], f->text[1]))
		return UNDO_SAME;
	error = setting_write(f->text[3], f->text[1]);
	return error ? failed(why, strerror(error)) : UNDO_CHANGED;
}

static enum undone undo_controller(const struct fields *f, char why[UNDO_WHY])
{
	char text[SETTING_TEXT], off[80];
	int error;

	if (read_small(f->text[1], text, sizeof text) < 0)
		return UNDO_SAME;
	for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n")) {
		if (strcmp(word, f->text[2]))
			continue;
		snprintf(off, sizeof off, "-%s", f->text[2]);
		error = setting_write(f->text[1], off);
		return error ? failed(why, strerror(error)) : UNDO_CHANGED;
	}
	return UNDO_SAME;
}

/* Moves the members of `path` to its parent, by the file that both have. */
static void empty(const char *path, const char *file)
{
	char own[PATH_TEXT], parent[PATH_TEXT];
	size_t length;
	char *text;

	snprintf(own, sizeof own, "%s/%s", path, file);
	snprintf(parent, sizeof parent, "%s/../%s", path, file);
	text = read_whole(own, &length);
	for (char *pid = text ? strtok(text, "\n") : NULL; pid; pid = strtok(NULL, "\n"))
		setting_write(parent, pid);
	free(text);
}

static enum undone undo_directory(const struct fields *f, char why[UNDO_WHY])
{
	static const char *const members[] = { "cgroup.threads", "cgroup.procs", "tasks" };
	char partition[PATH_TEXT];

	if (access(f->text[1], F_OK))
		return UNDO_SAME;
	snprintf(partition, sizeof partition, "%s/cpuset.cpus.partition", f->text[1]);
	if (!access(partition, F_OK))
		setting_write(partition, "member");
	/* On a busy board programs in it start others while they are moved. */
	for (int64_t began_ns = mono_ns();;) {
		for (size_t i = 0; i < sizeof members / sizeof *members; i++)
			empty(f->text[1], members[i]);
		if (!rmdir(f->text[1]))
			return UNDO_CHANGED;
		if (errno != EBUSY || mono_ns() - began_ns >= patience_ns)
			return failed(why, strerror(errno));
		nanosleep(&(struct timespec){ 0, again_ns }, NULL);
	}
}

static enum undone undo_mount(const struct fields *f, char why[UNDO_WHY])
{
	struct stat own, parent;
	char above[PATH_TEXT];

	snprintf(above, sizeof above, "%s/..", f->text[1]);
	if (stat(f->text[1], &own) || stat(above, &parent) || own.st_dev == parent.st_dev)
		return UNDO_SAME;
	return umount(f->text[1]) ? failed(why, strerror(errno)) : UNDO_CHANGED;
}

/* ---- services ---- */

/* In a child: the status of systemctl goes into the pipe, because a reaper may take the status of the child itself. */
static _Noreturn void tell_systemctl(int report, const char *verb, const char *unit)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		sigprocmask(SIG_SETMASK, &(sigset_t){ 0 }, NULL);
		execlp("systemctl", "systemctl", "--quiet", verb, unit, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(write(report, &status, sizeof status) < 0);
}

int service_command(const char *verb, const char *unit)
{
	int report[2], status = -1;
	ssize_t n;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return errno;
	pid = fork();
	if (pid == 0) {
		signal(SIGCHLD, SIG_DFL);
		tell_systemctl(report[1], verb, unit);
	}
	close(report[1]);
	do {
		n = pid < 0 ? 0 : read(report[0], &status, sizeof status);
	} while (n < 0 && errno == EINTR);
	close(report[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof status || !WIFEXITED(status))
		return EINTR;
	return WEXITSTATUS(status) == 127 ? ENOENT : WEXITSTATUS(status) ? EPERM : 0;
}

static enum undone undo_service(const struct fields *f, char why[UNDO_WHY])
{
	int error = service_command("is-active", f->text[1]);

	if (!error)
		return UNDO_SAME;
	error = error == ENOENT ? error : service_command("start", f->text[1]);
	return error ? failed(why, error == ENOENT ? "there is no systemctl" : "systemctl could not start it") : UNDO_CHANGED;
}

/* ---- all ---- */

static enum undone undo_hold(const struct fields *f, char why[UNDO_WHY])
{
	(void)f;
	(void)why;
	return UNDO_SAME;
}

static const struct {
	const char *kind;
	int fields, key; /* all of a line; those that say which thing it is */
	enum undone (*undo)(const struct fields *f, char why[UNDO_WHY]);
} kinds[] = {
	{ "value", 3, 2, undo_value },     { "irq", 4, 2, undo_irq },
	{ "policy", 5, 3, undo_policy },   { "affinity", 4, 3, undo_affinity },
	{ "moved", 4, 3, undo_moved },     { "directory", 2, 2, undo_directory },
	{ "mount", 2, 2, undo_mount },     { "controller", 3, 3, undo_controller },
	{ "service", 2, 2, undo_service }, { "hold", 3, 2, undo_hold },
};

enum undone undo(const struct fields *f, char why[UNDO_WHY])
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (fields_are(f, kinds[i].kind, kinds[i].fields))
			return kinds[i].undo(f, why);
	return failed(why, "the journal's line is of no kind that is known");
}

int undo_same_thing(const struct fields *one, const struct fields *other)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!fields_are(one, kinds[i].kind, kinds[i].fields) || !fields_are(other, kinds[i].kind, kinds[i].fields))
			continue;
		for (int at = 1; at < kinds[i].key; at++)
			if (strcmp(one->text[at], other->text[at]))
				return 0;
		return 1;
	}
	return 0;
}
