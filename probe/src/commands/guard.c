/*
 * rtprobe guard: starts a command, and ends the command and all its descendants in bounded time, whatever happens to the host: at
 * --max, when the owner goes (attached), on a signal, or when the command ends by itself. Then it puts back what the journal lists.
 * The guard is a child subreaper, so no descendant can leave its tree (family.h). A second process, the standby, takes over if the
 * guard itself is killed (standby.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard/guard.h"
#include "guard/lines.h"
#include "os/clock.h"
#include "os/procstat.h"
#include "os/rt.h"
#include "os/say.h"
#include "os/tracefs.h"

/* What is still in the pipes when everybody is gone. */
static void take_rest(struct guard *g, int64_t until_ns)
{
	for (int i = 0; i < 2; i++) {
		while (g->pipe[i] >= 0 && guard_take_output(g, i))
			if (outlet_pending(&g->loop.out) > OUTLET_ROOM && loop_drain(&g->loop, until_ns, true, OUTLET_ROOM) > OUTLET_ROOM)
				break;
		if (g->pipe[i] >= 0)
			close(g->pipe[i]);
		g->pipe[i] = -1;
	}
}

static void restore_failed(void *context, const char *path, const char *why)
{
	struct guard *g = context;
	struct json j;

	say("cannot put back", path, why);
	event_begin(&j, "restore_failed");
	json_string(&j, "path", path);
	json_string(&j, "error", why);
	event_send(&g->loop.out, &j);
}

static const char *end_reason(const struct guard *g)
{
	if (!g->why)
		return "error";
	return strcmp(g->why, "max") ? g->why : "duration";
}

static int exit_code(const struct guard *g)
{
	if (!g->exited)
		return EXIT_BOARD;
	return WIFEXITED(g->end.status) ? WEXITSTATUS(g->end.status) : 128 + WTERMSIG(g->end.status);
}

/* --max counts from here, on the clock that goes on while the board is suspended. */
static int start_timer(struct guard *g)
{
	int64_t max_ns = plan_number(g->plan, "max");
	struct itimerspec at = { .it_value = { (time_t)(max_ns / 1000000000), (long)(max_ns % 1000000000) } };

	g->timer = -1;
	if (!plan_set(g->plan, "max"))
		return 0;
	g->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (g->timer < 0)
		g->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return g->timer < 0 || timerfd_settime(g->timer, 0, &at, NULL) ? -1 : 0;
}

/* The reader has until --max to take the stream, or a minute without one. */
static int64_t reader_until_ns(const struct guard *g)
{
	struct itimerspec left;

	if (strcmp(end_reason(g), "child"))
		return mono_ns();
	if (g->timer < 0 || timerfd_gettime(g->timer, &left))
		return mono_ns() + 60 * INT64_C(1000000000);
	return mono_ns() + (int64_t)left.it_value.tv_sec * 1000000000 + left.it_value.tv_nsec;
}

static int guard_command(struct guard *g)
{
	int error = prctl(PR_SET_CHILD_SUBREAPER, 1) || start_timer(g) ? errno : 0;
	struct obtained now;

	if (!error)
		error = reaper_prepare(&g->reaper);
	if (error)
		return say_fail(EXIT_BOARD, "cannot guard anything here: %s", strerror(error));
	now = rt_look(0);
	g->policy = now.policy;
	g->priority = now.priority;
	error = guard_start(g);
	guard_send_facts(g);
	if (error)
		return say_fail(EXIT_BOARD, "cannot start '%s': %s; is it on the board, executable, and in PATH?", g->plan->rest[0],
				strerror(error));
	guard_send_started(g);
	guard_supervise(g);
	reaper_raise_priority(&g->reaper);
	if (g->stuck)
		say_fail(EXIT_BOARD,
			 "%zu processes of '%s' could not be ended even by SIGKILL: they hang in the kernel, see "
			 "/proc/PID/stack",
			 g->stuck, g->plan->rest[0]);
	return exit_code(g);
}

/* In the inner process (standby.h). */
static int guard_and_tell(struct guard *g)
{
	const char *path = plan_text(g->plan, "output");
	int code = loop_open(&g->loop, path, g->wrap || path, plan_flag(g->plan, "attached"));
	int64_t until_ns;

	if (!code)
		code = guard_command(g);
	journal_restore(&g->journal, restore_failed, g);
	tracefs_sweep(tracefs_roots);
	until_ns = reader_until_ns(g);
	take_rest(g, until_ns);
	guard_send_end(g, end_reason(g), code);
	return loop_close(&g->loop, until_ns, code);
}

static int note_self(const char *file)
{
	const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char pid[16], start[24];
	int error;

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	snprintf(start, sizeof start, "%" PRIu64, process_start(getpid()));
	error = fd < 0 ? errno : line_append(fd, (const char *const[]){ pid, start }, 2);
	if (fd >= 0)
		close(fd);
	return error;
}

/* The caller goes on; the guard has no terminal and no stream. Its pid and start time go into the file. 0: this is the guard. */
static int go_into_background(const char *file)
{
	int told[2], null, error = 0;
	pid_t pid;

	if (pipe2(told, O_CLOEXEC) || (pid = fork()) < 0)
		return say_fail(EXIT_BOARD, "cannot go into the background: %s", strerror(errno));
	if (pid > 0) {
		close(told[1]);
		waitpid(pid, NULL, 0);
		if (read(told[0], &error, sizeof error) != (ssize_t)sizeof error || error)
			exit(say_fail(EXIT_BOARD, "cannot write %s: %s", file, strerror(error)));
		exit(EXIT_DONE);
	}
	setsid();
	if (fork() != 0)
		_exit(EXIT_DONE);
	error = note_self(file);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (write(told[1], &error, sizeof error) < 0 || error)
		_exit(EXIT_BOARD);
	close(told[0]);
	close(told[1]);
	return 0;
}

static int guard_run(const struct plan *plan)
{
	static struct guard g = { .child = -1, .timer = -1, .pipe = { -1, -1 } }; /* not on a stack: the reaper may outlive this function */
	int code;

	g.plan = plan;
	g.wrap = plan_flag(plan, "wrap");

	if (plan_flag(plan, "usage") && !g.wrap && !plan_text(plan, "output"))
		return say_fail(EXIT_USAGE, "--usage needs a stream to write to: give --wrap or -o FILE");
	if (plan_text(plan, "background") && (g.wrap || plan_flag(plan, "attached")))
		return say_fail(EXIT_USAGE, "--background leaves stdin and stdout: give neither --attached nor --wrap");
	if (plan_flag(plan, "gpu") && !plan_flag(plan, "usage"))
		return say_fail(EXIT_USAGE, "--gpu is a part of --usage: give both");
	code = journal_open(&g.journal, plan_text(plan, "restore"));
	if (!code && plan_text(plan, "background"))
		code = go_into_background(plan_text(plan, "background"));
	if (code)
		return code;
	if (plan_flag(plan, "cgroup"))
		group_make(&g.group);
	g.standby = (struct standby){ .group = &g.group,
				      .journal = &g.journal,
				      .max_ns = plan_number(plan, "max"),
				      .usage = plan_flag(plan, "usage"),
				      .gpu = plan_flag(plan, "gpu") };
	if (standby_start(&g.standby, &code))
		code = guard_and_tell(&g);
	group_remove(&g.group);
	journal_close(&g.journal);
	family_free(&g.family);
	return code;
}

static const struct option_spec guard_options[] = {
	{ .name = "attached", .type = OPT_FLAG, .help = "end everything when stdin ends: its other end is the owner's" },
	{ .name = "wrap", .type = OPT_FLAG, .help = "write a stream: events, and what CMD writes to stdout and stderr" },
	{ .name = "cgroup",
	  .type = OPT_FLAG,
	  .help = "put the command into a cgroup of its own, where that changes nothing else, and end it by that" },
	{ .name = "usage",
	  .type = OPT_FLAG,
	  .help = "tell once a second what the command and its descendants use: processes, threads, CPU time" },
	{ .name = "gpu", .type = OPT_FLAG, .help = "with --usage: also their time on the GPU, and its interrupts" },
	{ .name = "max",
	  .letter = 'D',
	  .type = OPT_DURATION,
	  .unit = "ns",
	  .min = 1000000,
	  .max = INT64_C(31622400000000000),
	  .help = "end everything after this time at the latest (on a clock that counts suspend)" },
	{ .name = "restore",
	  .type = OPT_TEXT,
	  .unit = "FILE",
	  .help = "a journal of settings (wire/SETTINGS.md): put back at the end, last line first" },
	{ .name = "background",
	  .type = OPT_TEXT,
	  .unit = "FILE",
	  .help = "return at once and go on without a terminal; pid and start time go into FILE" },
	{ .name = "output", .letter = 'o', .type = OPT_TEXT, .unit = "FILE", .help = "where the guard's stream goes instead of stdout" },
	{ 0 },
};

const struct command command_guard = {
	.name = "guard",
	.summary = "starts CMD and ends it with all its descendants in bounded time",
	.takes_rest = true,
	.options = guard_options,
	.run = guard_run,
};
