/*
 * rtprobe guard: starts a command, and ends the command and all its descendants in bounded time, whatever happens to the host: at
 * --max, when the owner goes (attached), on a signal, or when the command ends by itself. Then it puts back what the journal lists.
 * The guard is a child subreaper, so no descendant can leave its tree (family.h). A second process, the standby, takes over if the
 * guard itself is killed (standby.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard/family.h"
#include "guard/journal.h"
#include "guard/reaper.h"
#include "guard/standby.h"
#include "guard/usage.h"
#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/loop.h"
#include "stream/facts.h"

enum { OUTPUT_BLOCK = 65536 };
static const int64_t ms_ns = 1000000;
/*
 * Between SIGTERM and SIGKILL: stress-ng needed 2.4 s under load. Only time in which the guard itself runs counts, at most `step_ns` from
 * one look to the next: while the machine stands still, the command cannot end either. `grace_limit_ns` bounds the grace in any case.
 */
static const int64_t grace_ns = 10000000000;
static const int64_t grace_limit_ns = 20000000000;
static const int64_t command_alone_ns = 4000000000; /* of the grace, in which the command may end its children itself */
static const int64_t look_ns = 50000000, step_ns = 100000000;
static const int64_t reap_patience_ns = 200000000;   /* after the command's end, before what is not reaped yet counts as left over */
static const int64_t kill_patience_ns = 10000000000; /* then only processes stuck in the kernel can be left */

enum phase { RUNNING, ASKED, KILLING, GONE };

struct guard {
	const struct plan *plan;
	struct loop loop;
	struct family family;
	struct journal journal;
	struct group group;
	struct standby standby;
	struct reaper reaper;
	int policy, priority; /* obtained by the guard */
	bool wrap, exited, owner_told;
	pid_t child;
	struct ended end; /* once exited */
	int64_t exited_ns;
	int timer;  /* fires at --max; -1 without */
	int pipe[2]; /* the command's stdout and stderr, -1 when closed */
	enum phase phase;
	const char *why; /* what ended it: "child", "max", "owner", "signal" */
	int64_t phase_until_ns;
	int64_t looked_ns, grace_used_ns;
	size_t in_group;         /* processes that SIGKILL found in the cgroup */
	int64_t group_killed_ns; /* 0: not by the cgroup */
	size_t stuck;
};

/* ---- the command ---- */

static _Noreturn void become_command(const struct guard *g, pid_t guard_pid, int report, const int out[2])
{
	int null = open("/dev/null", O_RDONLY), error;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard_pid)
		_exit(EXIT_BOARD);	/* the guard died before it could bind us */
	group_join(&g->group);
	place_restore(&g->standby.before);
	if (null > STDERR_FILENO) {
		dup2(null, STDIN_FILENO);
		close(null);
	}
	if (g->wrap) {
		dup2(out[0], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
	}
	loop_undo_signals(&g->loop);
	execvp(g->plan->rest[0], g->plan->rest);
	error = errno;
	if (write(report, &error, sizeof error) < 0)
		_exit(EXIT_BUG);
	_exit(EXIT_BOARD);
}

static int open_pipes(struct guard *g, int write_end[2])
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		g->pipe[i] = write_end[i] = -1;
		if (!g->wrap)
			continue;
		if (pipe2(ends, O_CLOEXEC))
			return -1;
		g->pipe[i] = ends[0];
		write_end[i] = ends[1];
		if (fcntl(ends[0], F_SETFL, O_NONBLOCK))
			return -1;
	}
	return 0;
}

/* The errno of the child's exec, 0 when it worked (or hangs in the kernel: then --max decides). */
static int exec_result(int report)
{
	struct pollfd fd = {.fd = report, .events = POLLIN};
	int error = 0;

	if (poll(&fd, 1, 5000) <= 0 || read(report, &error, sizeof error) != (ssize_t)sizeof error)
		return 0;
	return error;
}

/* Starts the command. 0, or the errno that kept it from starting. */
static int start(struct guard *g)
{
	int out[2], report[2], error = 0;
	pid_t self = getpid();

	if (open_pipes(g, out) || pipe2(report, O_CLOEXEC))
		return errno;
	g->child = fork();
	if (g->child == 0)
		become_command(g, self, report[1], out);
	if (g->child < 0)
		error = errno;
	close(report[1]);
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
	if (!error)
		error = exec_result(report[0]);
	close(report[0]);
	if (error)
		g->child = -1;	/* if there was one, it has ended, and goes with us */
	g->family.child = g->child;
	if (g->child > 0) {
		atomic_store(g->standby.child, g->child);
		reaper_begin(&g->reaper, g->child);
	}
	return error;
}

/* ---- what the stream says ---- */

static void send_facts(struct guard *g)
{
	struct json j;

	facts_begin(&j, g->plan);
	json_array(&j, "command_argv");
	for (int i = 0; i < g->plan->n_rest; i++)
		json_string(&j, NULL, g->plan->rest[i]);
	json_end_array(&j);
	if (plan_set(g->plan, "max"))
		json_int(&j, "max_ns", plan_number(g->plan, "max"));
	else
		json_null(&j, "max_ns");
	if (g->child > 0)
		json_int(&j, "child_pid", g->child);
	else
		json_null(&j, "child_pid");
	json_bool(&j, "attached", g->loop.attached);
	json_string(&j, "cgroup", g->group.path[0] ? g->group.path : NULL);
	json_string(&j, "policy", rt_policy_name(g->policy));
	json_int(&j, "priority", g->priority);
	json_end_object(&j);
	outlet_json(&g->loop.out, FRAME_FACTS, &j);
}

static int64_t timeval_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static void send_started(struct guard *g)
{
	struct json j;

	event_begin(&j, "child_started");
	json_int(&j, "pid", g->child);
	event_send(&g->loop.out, &j);
}

static void send_exited(struct guard *g)
{
	struct json j;

	event_begin_at(&j, "child_exited", g->exited_ns);
	json_int(&j, "pid", g->child);
	if (WIFEXITED(g->end.status)) {
		json_int(&j, "exit_code", WEXITSTATUS(g->end.status));
		json_null(&j, "signal");
	} else {
		json_null(&j, "exit_code");
		json_int(&j, "signal", WTERMSIG(g->end.status));
	}
	json_int(&j, "user_ns", g->end.user_ns);
	json_int(&j, "system_ns", g->end.system_ns);
	event_send(&g->loop.out, &j);
}

static void send_killed(struct guard *g)
{
	struct json j;

	event_begin(&j, "child_killed");
	json_string(&j, "why", g->why);
	json_uint(&j, "left", g->family.n_killed > g->in_group ? g->family.n_killed : g->in_group);
	json_uint(&j, "stuck", g->stuck);
	event_send(&g->loop.out, &j);
}

static void send_owner_gone(struct guard *g)
{
	struct json j;

	g->owner_told = true;
	event_begin(&j, "owner_gone");
	event_send(&g->loop.out, &j);
}

static void send_end(struct guard *g, const char *reason, int exit_code)
{
	struct rusage all;
	struct json j;

	getrusage(RUSAGE_CHILDREN, &all);
	end_begin(&j, reason, exit_code);
	json_int(&j, "user_ns", timeval_ns(all.ru_utime));	/* of all descendants, orphans too */
	json_int(&j, "system_ns", timeval_ns(all.ru_stime));
	json_end_object(&j);
	outlet_json(&g->loop.out, FRAME_END, &j);
}

static void send_usage(struct guard *g, const struct usage *u)
{
	struct json j;

	event_begin_at(&j, "usage", u->mono_ns);
	json_uint(&j, "processes", u->processes);
	json_uint(&j, "threads", u->threads);
	json_uint(&j, "real_time", u->real_time);
	json_int(&j, "cpu_ns", u->cpu_ns);
	event_send(&g->loop.out, &j);
}

/* ---- the course of things ---- */

/* No descendant is left anywhere: all of them hang from us. */
static bool childless(const struct guard *g)
{
	return atomic_load(&g->reaper.childless);
}

/* Has the command ended? */
static void look(struct guard *g)
{
	if (!g->exited && reaper_look(g->child, &g->end)) {
		g->exited = true;
		g->exited_ns = mono_ns();
		reaper_release(&g->reaper);
		send_exited(g);
	}
}

/* Takes what the command wrote, unless the stream's reader is behind: then the command has to wait, as it would at a pipe. */
static bool take_output(struct guard *g, int which)
{
	static unsigned char block[16 + OUTPUT_BLOCK];
	ssize_t n = read(g->pipe[which], block + 16, OUTPUT_BLOCK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close(g->pipe[which]);
		g->pipe[which] = -1;
		return false;
	}
	put_u64(block, (uint64_t)mono_ns());
	put_u32(block + 8, (uint32_t)which + 1);
	put_u32(block + 12, 0);
	outlet_frame(&g->loop.out, FRAME_OUTPUT, block, 16 + (size_t)n);
	return true;
}

static void take_usage(struct guard *g)
{
	struct usage u;
	ssize_t n = read(g->standby.usage_fd, &u, sizeof u);

	if (n == (ssize_t)sizeof u) {
		send_usage(g, &u);
	} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		close(g->standby.usage_fd);	/* its process is gone */
		g->standby.usage_fd = -1;
	}
}

static bool max_reached(struct guard *g)
{
	uint64_t expired;

	return g->timer >= 0 && read(g->timer, &expired, sizeof expired) > 0;
}

static void begin_end(struct guard *g, const char *why)
{
	g->why = why;
	g->phase = ASKED;
	g->looked_ns = mono_ns();
	g->phase_until_ns = g->looked_ns + grace_limit_ns;
	family_ask(&g->family, !g->exited);
}

/* While the command runs: is there a reason to end it? */
static void decide(struct guard *g)
{
	if (g->loop.out.error && g->loop.attached)
		g->loop.owner_gone = true;	/* nobody reads any more */
	if (g->loop.owner_gone) {
		send_owner_gone(g);
		begin_end(g, "owner");
	} else if (g->loop.stop_signal) {
		begin_end(g, "signal");
	} else if (max_reached(g)) {
		begin_end(g, "max");
	} else if (g->exited && mono_ns() >= g->exited_ns + reap_patience_ns) {
		begin_end(g, "child");
	}
}

static bool grace_is_over(struct guard *g, int64_t now)
{
	int64_t since = now - g->looked_ns;

	g->looked_ns = now;
	g->grace_used_ns += since < step_ns ? since : step_ns;
	return g->grace_used_ns >= grace_ns || now >= g->phase_until_ns;
}

static void go_on_ending(struct guard *g, int stops_before)
{
	int64_t now = mono_ns();

	if (g->phase == ASKED && (grace_is_over(g, now) || g->loop.stops > stops_before)) {
		g->phase = KILLING;
		g->phase_until_ns = now + kill_patience_ns;
		g->in_group = group_count(&g->group);
		if (group_kill(&g->group)) {
			g->group_killed_ns = now;
			return;
		}
	}
	if (g->phase == ASKED) {
		/* Programs with workers (stress-ng) end them in order, and call it an error when others do. */
		family_ask(&g->family, !g->exited && g->grace_used_ns < command_alone_ns);
	} else if (now < g->phase_until_ns) {
		family_kill(&g->family);
	} else {
		g->stuck = family_alive(&g->family);
		g->phase = GONE;
	}
}

/* When to look again at the latest; scans of /proc are spaced so that a storm of forks cannot make the guard the hog. */
static int64_t next_look_ns(const struct guard *g)
{
	if (g->phase == RUNNING)
		return g->exited ? g->exited_ns + reap_patience_ns : INT64_MAX;
	if (g->phase == KILLING && mono_ns() < g->group_killed_ns + look_ns)
		return g->group_killed_ns + look_ns;	/* the family is for what has left the cgroup */
	return mono_ns() + (g->phase == ASKED ? look_ns : 2 * ms_ns);
}

static void wait_for_news(struct guard *g)
{
	bool room = outlet_pending(&g->loop.out) < OUTLET_ROOM;
	struct pollfd extra[5] = {
		{.fd = g->phase == RUNNING ? g->timer : -1, .events = POLLIN},
		{.fd = room ? g->pipe[0] : -1, .events = POLLIN},
		{.fd = room ? g->pipe[1] : -1, .events = POLLIN},
		{.fd = room ? g->standby.usage_fd : -1, .events = POLLIN},
		{.fd = childless(g) ? -1 : g->reaper.fd, .events = POLLIN},
	};

	loop_wait(&g->loop, next_look_ns(g), extra, 5);
	for (int i = 0; i < 2; i++)
		if (extra[1 + i].revents)
			take_output(g, i);
	if (extra[3].revents)
		take_usage(g);
}

static void supervise(struct guard *g)
{
	int stops = 0;
	int64_t next_ns = 0;

	while (g->phase != GONE) {
		wait_for_news(g);
		look(g);
		if (g->phase == RUNNING) {
			if (g->exited && childless(g) && !loop_asked_to_end(&g->loop)) {
				g->why = "child";
				g->phase = GONE;
				return;
			}
			decide(g);
			stops = g->loop.stops;
			next_ns = next_look_ns(g);
		} else if (childless(g)) {
			g->phase = GONE;
		} else if (mono_ns() >= next_ns || g->loop.stops > stops) {
			go_on_ending(g, stops);
			stops = g->loop.stops;
			next_ns = next_look_ns(g);
		}
	}
	send_killed(g);
}

/* What is still in the pipes when everybody is gone. */
static void take_rest(struct guard *g, int64_t until_ns)
{
	for (int i = 0; i < 2; i++) {
		while (g->pipe[i] >= 0 && take_output(g, i))
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
	struct itimerspec at = {.it_value = {(time_t)(max_ns / 1000000000), (long)(max_ns % 1000000000)}};

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
	error = start(g);
	send_facts(g);
	if (error)
		return say_fail(EXIT_BOARD, "cannot start '%s': %s; is it on the board, executable, and in PATH?", g->plan->rest[0],
				strerror(error));
	send_started(g);
	supervise(g);
	reaper_raise_priority(&g->reaper);
	if (g->stuck)
		say_fail(EXIT_BOARD, "%zu processes of '%s' could not be ended even by SIGKILL: they hang in the kernel, see "
			 "/proc/PID/stack", g->stuck, g->plan->rest[0]);
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
	until_ns = reader_until_ns(g);
	take_rest(g, until_ns);
	send_end(g, end_reason(g), code);
	return loop_close(&g->loop, until_ns, code);
}

static int guard_run(const struct plan *plan)
{
	static struct guard g = {.child = -1, .timer = -1, .pipe = {-1, -1}}; /* not on a stack: the reaper may outlive this function */
	int code;

	g.plan = plan;
	g.wrap = plan_flag(plan, "wrap");

	if (plan_flag(plan, "usage") && !g.wrap && !plan_text(plan, "output"))
		return say_fail(EXIT_USAGE, "--usage needs a stream to write to: give --wrap or -o FILE");
	code = journal_open(&g.journal, plan_text(plan, "restore"));
	if (code)
		return code;
	if (plan_flag(plan, "cgroup"))
		group_make(&g.group);
	g.standby = (struct standby){.group = &g.group, .journal = &g.journal, .max_ns = plan_number(plan, "max"), .usage = plan_flag(plan, "usage")};
	if (standby_start(&g.standby, &code))
		code = guard_and_tell(&g);
	group_remove(&g.group);
	journal_close(&g.journal);
	family_free(&g.family);
	return code;
}

static const struct option_spec guard_options[] = {
	{.name = "attached", .type = OPT_FLAG, .help = "end everything when stdin ends: its other end is the owner's"},
	{.name = "wrap", .type = OPT_FLAG, .help = "write a stream: events, and what CMD writes to stdout and stderr"},
	{.name = "cgroup", .type = OPT_FLAG, .help = "put the command into a cgroup of its own, where that changes nothing else, and end it by that"},
	{.name = "usage", .type = OPT_FLAG, .help = "tell once a second what the command and its descendants use: processes, threads, CPU time"},
	{.name = "max", .letter = 'D', .type = OPT_DURATION, .unit = "ns", .min = 1000000, .max = INT64_C(31622400000000000),
	 .help = "end everything after this time at the latest (on a clock that counts suspend)"},
	{.name = "restore", .type = OPT_TEXT, .unit = "FILE", .help = "lines PATH<TAB>VALUE, written back at the end, last line first"},
	{.name = "output", .letter = 'o', .type = OPT_TEXT, .unit = "FILE", .help = "where the guard's stream goes instead of stdout"},
	{0},
};

const struct command command_guard = {
	.name = "guard",
	.summary = "starts CMD and ends it with all its descendants in bounded time",
	.takes_rest = true,
	.options = guard_options,
	.run = guard_run,
};
