/*
 * rtprobe repeat: runs a command on some CPUs again and again until its time is over, and counts the rounds. So a program that ends by
 * itself (hackbench, a compiler) becomes a lasting load, and a program that never ends (a server) is ended. A round that fails ends the
 * command with an error, because then there is less load than was asked for.
 *
 * With --tell it measures fixed work: each round is told with its time, its CPU time and what it wrote, and the round under way at the end
 * may finish, because rounds that are cut would be the long ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/loop.h"
#include "stream/facts.h"

static const int64_t second_ns = 1000000000;
static const int64_t grace_ns = 500000000;  /* between SIGTERM and SIGKILL; shorter than the time after which a guard asks the children */
static const int64_t short_ns = 1000000; /* least time between two rounds, so that a command that ends at once makes no storm of forks */

static const int64_t finish_ns = INT64_C(30000000000); /* how long a round that is told may go on after the end of the time */
enum { OUTPUT_KEPT = 16000 }; /* of a round */

struct repeat {
	const struct plan *plan;
	struct loop loop;
	int64_t end_ns, started_ns;
	uint64_t rounds;
	pid_t child; /* 0: none */
	bool tell;
	bool asked; /* to end */
	bool cut; /* a round was not allowed to finish */
	int status; /* of the last child, or -1 */
	int pipe; /* --tell: what the round writes, or -1 */
	size_t n_output;
	char output[OUTPUT_KEPT + 1];
};

static int take_place(const struct plan *plan)
{
	const struct cpus *cpus = plan_cpus(plan, "cpus");
	char list[256];

	if (rt_set_policy(0, SCHED_OTHER, 0))
		return say_fail(EXIT_BOARD, "cannot leave the real-time policy this was started with");
	if (cpus && rt_pin(0, cpus))
		return say_fail(EXIT_USAGE, "--cpus: cannot run on CPUs %s: %s", format_cpus(cpus, list, sizeof list), strerror(errno));
	return 0;
}

/* Its stdout becomes stderr, because stdout is the stream's; or both become `told`. */
static _Noreturn void become_command(const struct repeat *r, pid_t parent, int told)
{
	int in[2];

	if (!plan_flag(r->plan, "hold-stdin"))
		in[0] = open("/dev/null", O_RDONLY);
	else if (pipe(in)) /* the command holds the writing end of its own stdin, too: it never ends */
		_exit(say_fail(EXIT_BOARD, "no pipe for the stdin of '%s': %s", r->plan->rest[0], strerror(errno)));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_BOARD);
	setpgid(0, 0);
	if (in[0] > STDERR_FILENO) {
		dup2(in[0], STDIN_FILENO);
		close(in[0]);
	}
	if (told >= 0)
		dup2(told, STDERR_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	loop_undo_signals(&r->loop);
	execvp(r->plan->rest[0], r->plan->rest);
	_exit(say_fail(EXIT_BOARD, "cannot start '%s': %s", r->plan->rest[0], strerror(errno)));
}

static int start_round(struct repeat *r)
{
	pid_t self = getpid();
	int ends[2] = { -1, -1 };

	if (r->tell && pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return say_fail(EXIT_BOARD, "no pipe for the output of '%s': %s", r->plan->rest[0], strerror(errno));
	if (r->tell)
		fcntl(ends[1], F_SETFL, 0); /* the command expects a pipe that blocks */
	r->pipe = ends[0];
	r->n_output = 0;
	r->started_ns = mono_ns();
	r->child = fork();
	if (r->child == 0)
		become_command(r, self, ends[1]);
	if (r->tell)
		close(ends[1]);
	if (r->child < 0) {
		r->child = 0;
		return say_fail(EXIT_BOARD, "cannot start '%s': %s", r->plan->rest[0], strerror(errno));
	}
	setpgid(r->child, r->child); /* parent and child both do it, because either may run first */
	return 0;
}

/* What the round wrote so far; of more than there is room for, the end. */
static void take_output(struct repeat *r)
{
	char block[4096];
	ssize_t n;

	while (r->pipe >= 0 && (n = read(r->pipe, block, sizeof block)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		if (r->n_output + (size_t)n > OUTPUT_KEPT) {
			const size_t gone = r->n_output + (size_t)n - OUTPUT_KEPT;

			memmove(r->output, r->output + gone, r->n_output - gone);
			r->n_output -= gone;
		}
		memcpy(r->output + r->n_output, block, (size_t)n);
		r->n_output += (size_t)n;
	}
	if (r->pipe >= 0)
		close(r->pipe);
	r->pipe = -1;
}

static int64_t time_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * second_ns + (int64_t)t.tv_usec * 1000;
}

static void tell_round(struct repeat *r, int64_t ended_ns, const struct rusage *used)
{
	struct json j;

	r->output[r->n_output] = 0;
	for (size_t i = 0; i < r->n_output; i++)
		if (!r->output[i])
			r->output[i] = '?';
	event_begin_at(&j, "round", ended_ns);
	json_int(&j, "started_ns", r->started_ns);
	json_int(&j, "user_ns", time_ns(used->ru_utime));
	json_int(&j, "system_ns", time_ns(used->ru_stime));
	json_string(&j, "output", r->output);
	event_send(&r->loop.out, &j);
}

static void reap(struct repeat *r)
{
	siginfo_t info = { 0 };
	struct rusage used;
	int64_t ended_ns;
	int status;

	if (!r->child || waitid(P_PID, (id_t)r->child, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid != r->child)
		return;
	ended_ns = mono_ns();
	kill(-r->child, SIGKILL); /* kill what the round left behind, while its process group still has this number */
	if (wait4(r->child, &status, 0, &used) != r->child)
		return;
	r->child = 0;
	r->status = status;
	take_output(r);
	if (r->pipe >= 0) /* somebody outside the round's process group holds the other end */
		close(r->pipe);
	r->pipe = -1;
	if (r->asked)
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		r->rounds++;
		if (r->tell)
			tell_round(r, ended_ns, &used);
	} else if (r->tell) {
		fwrite(r->output, 1, r->n_output, stderr);
	}
}

static bool failed(const struct repeat *r)
{
	return !r->child && r->status >= 0 && !(WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0);
}

static void ask(struct repeat *r)
{
	int64_t until_ns = mono_ns() + grace_ns;

	r->asked = true;
	r->cut = r->child != 0;
	if (r->child) {
		kill(r->child, SIGTERM); /* a program with workers ends them itself */
		kill(-r->child, SIGCONT);
	}
	while (r->child && mono_ns() < until_ns) {
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
		take_output(r); /* it may be waiting for room in its pipe */
		reap(r);
	}
	if (!r->child)
		return;
	kill(-r->child, SIGKILL);
	kill(r->child, SIGKILL);
	while (waitpid(r->child, &r->status, 0) < 0 && errno == EINTR)
		;
	r->child = 0;
}

static void send_facts(struct repeat *r)
{
	const struct cpus *cpus = plan_cpus(r->plan, "cpus");
	struct json j;

	facts_begin(&j, r->plan);
	json_array(&j, "command_argv");
	for (int i = 0; i < r->plan->n_rest; i++)
		json_string(&j, NULL, r->plan->rest[i]);
	json_end_array(&j);
	if (cpus)
		json_cpus(&j, "cpus", cpus);
	else
		json_null(&j, "cpus");
	json_int(&j, "duration_ns", plan_number(r->plan, "duration"));
	json_bool(&j, "once", plan_flag(r->plan, "once"));
	if (r->tell)
		json_int(&j, "rounds", plan_number(r->plan, "rounds"));
	json_end_object(&j);
	outlet_json(&r->loop.out, FRAME_FACTS, &j);
}

static void report(struct repeat *r)
{
	struct json j;

	event_begin(&j, "work");
	json_string(&j, "kind", "command");
	json_uint(&j, "operations", r->rounds);
	json_string(&j, "unit", "rounds");
	event_send(&r->loop.out, &j);
}

static void send_end(struct repeat *r, const char *reason, int exit_code)
{
	struct rusage all;
	struct json j;

	getrusage(RUSAGE_CHILDREN, &all);
	end_begin(&j, reason, exit_code);
	json_int(&j, "user_ns", time_ns(all.ru_utime));
	json_int(&j, "system_ns", time_ns(all.ru_stime));
	if (r->tell)
		json_bool(&j, "cut", r->cut);
	json_end_object(&j);
	outlet_json(&r->loop.out, FRAME_END, &j);
}

/* Whether no further round is started. */
static const char *enough(const struct repeat *r, int64_t now)
{
	const uint64_t most = (uint64_t)plan_number(r->plan, "rounds");

	if (most && r->rounds >= most)
		return "count";
	if (now < r->end_ns || (r->tell && r->child && now < r->end_ns + finish_ns))
		return NULL;
	return "duration";
}

static void wait_until(struct repeat *r, int64_t until_ns)
{
	struct pollfd told = { .fd = r->pipe, .events = POLLIN };

	loop_wait(&r->loop, until_ns, &told, r->pipe >= 0);
	if (r->pipe >= 0 && told.revents)
		take_output(r);
}

/* Until the time is over, the command is asked to end, or a round failed. */
static const char *supervise(struct repeat *r)
{
	int64_t next_ns = mono_ns() + second_ns;

	for (;;) {
		int64_t now = mono_ns(), until_ns = next_ns < r->end_ns || now >= r->end_ns ? next_ns : r->end_ns;
		const char *reason;

		if (!r->child && now >= r->started_ns + short_ns) {
			if (start_round(r))
				return "error";
		} else if (!r->child && r->started_ns + short_ns < until_ns) {
			until_ns = r->started_ns + short_ns;
		}
		wait_until(r, until_ns);
		if (loop_asked_to_end(&r->loop))
			return r->loop.stop_signal ? "signal" : "owner";
		reap(r);
		if (r->loop.out.error)
			return "error";
		if (failed(r) || (!r->child && plan_flag(r->plan, "once")))
			return "child";
		now = mono_ns();
		reason = enough(r, now);
		if (reason)
			return reason;
		if (now < next_ns)
			continue;
		if (outlet_pending(&r->loop.out) < OUTLET_ROOM)
			report(r);
		next_ns += ((now - next_ns) / second_ns + 1) * second_ns;
	}
}

static int exit_code(const struct repeat *r, const char *reason)
{
	if (!strcmp(reason, "error"))
		return EXIT_BOARD;
	if (strcmp(reason, "child"))
		return EXIT_DONE;
	return WIFEXITED(r->status) ? WEXITSTATUS(r->status) : 128 + WTERMSIG(r->status);
}

static int repeat_run(const struct plan *plan)
{
	static struct repeat r;
	const char *reason;
	int code = take_place(plan);

	if (code)
		return code;
	r = (struct repeat){ .plan = plan, .status = -1, .pipe = -1, .tell = plan_flag(plan, "tell") };
	code = loop_open(&r.loop, plan_text(plan, "output"), true, plan_flag(plan, "attached"));
	if (!code) {
		r.end_ns = mono_ns() + plan_number(plan, "duration");
		r.started_ns = mono_ns() - short_ns;
		send_facts(&r);
		reason = supervise(&r);
		ask(&r);
		report(&r);
		code = exit_code(&r, reason);
		send_end(&r, reason, code);
	}
	return loop_close(&r.loop, r.end_ns + 90 * second_ns, code);
}

static const struct option_spec repeat_options[] = {
	{ .name = "cpus", .letter = 'a', .type = OPT_CPUS, .help = "CPUs on which CMD may run (default: as this process)" },
	{ .name = "duration",
	  .letter = 'D',
	  .type = OPT_DURATION,
	  .unit = "ns",
	  .min = 10000000,
	  .max = INT64_C(31622400000000000),
	  .standard = "60s",
	  .help = "end CMD after this time" },
	{ .name = "once", .type = OPT_FLAG, .help = "one round only: end with CMD, and with its exit code" },
	{ .name = "tell",
	  .type = OPT_FLAG,
	  .help = "measure: tell each round's time, CPU time and output; the round under way at the end may take 30 s more" },
	{ .name = "rounds",
	  .type = OPT_INTEGER,
	  .min = 0,
	  .max = 1000000,
	  .standard = "0",
	  .help = "end after so many rounds; 0: by the time alone" },
	{ .name = "hold-stdin", .type = OPT_FLAG, .help = "the stdin of CMD stays open with nothing in it; default: it is at its end" },
	{ .name = "attached", .type = OPT_FLAG, .help = "end when stdin ends" },
	{ .name = "output", .letter = 'o', .type = OPT_TEXT, .unit = "FILE", .help = "where the stream goes instead of stdout" },
	{ 0 },
};

const struct command command_repeat = {
	.name = "repeat",
	.summary = "runs CMD again and again as a load, on chosen CPUs, and counts the rounds",
	.takes_rest = true,
	.options = repeat_options,
	.run = repeat_run,
};
