/* exec: how long does a job of the user's take? At each due time a lane starts the command on its CPU, with its policy, and waits until it has
 * ended. Two lanes a CPU: the response time, from the due time to the end of the job, and the execution time, CPU time of the job. Beside the
 * latter stand counters of the job (cycles, page faults ...), as far as this machine has them and gives them.
 *
 * A job that is not over when the next one is due makes that one missed, as a thread of `cyclic` that is late by an interval. A job that fails
 * ends the run: its time says nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/counters.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/account.h"
#include "run/method.h"

enum { RESPONSE, EXECUTION, LANES };
enum { MOST_WORDS = 256 };

static const struct {
	const char *name, *measure;
} kinds[LANES] = { [RESPONSE] = { "response", "job-response" }, [EXECUTION] = { "execution", "job-execution" } };

/* Of one CPU. */
struct post {
	char names[LANES][32];
	struct account accounts[LANES];
	struct counters counters;
	pid_t job;
};

static struct post *posts;
static char **words; /* of the command, NULL at its end */
static int null_fd = -1;
static _Atomic int failed_by; /* errno: a job could not be started, or its CPU time not read */
static const char *failed_to = "start";
static _Atomic int failed_with; /* wait status of a job that failed; 0: none */

static const char *const when_counted[] = { "quick", "always", NULL };
static bool counted_always;
static int64_t counter_free_ns;

static const struct option_spec settings[] = {
	{ "command", 0, OPT_TEXT, NULL, NULL, 0, 0, NULL, true, "the job: a program and its arguments, quoted as for a shell" },
	{ "counters", 0, OPT_CHOICE, NULL, when_counted, 0, 0, "quick", false,
	  "count cycles, page faults ...: if that is quick, or always, also where a job then ends later" },
	{ 0 },
};

/* --- before the run --- */

/* The next word of a line as a shell would split it, without expansions; it is written over the line. NULL: no more, or an open quote. */
static char *next_word(char **line, bool *open)
{
	char *in = *line + strspn(*line, " \t\n"), *out = in, *word = in, quote = 0;

	if (!*in)
		return NULL;
	for (; *in && (quote || !strchr(" \t\n", *in)); in++) {
		if (quote ? *in == quote : *in == '\'' || *in == '"')
			quote = quote ? 0 : *in;
		else if (*in == '\\' && in[1] && (!quote || (quote == '"' && strchr("\"\\$`", in[1]))))
			*out++ = *++in;
		else
			*out++ = *in;
	}
	*open = quote != 0;
	*line = *in ? in + 1 : in;
	*out = 0;
	return word;
}

static int split_command(const char *text)
{
	char *line = strdup(text), *word;
	bool open = false;
	int n = 0;

	words = calloc(MOST_WORDS + 1, sizeof *words);
	if (!line || !words)
		return say_fail(EXIT_BOARD, "no memory");
	while (n < MOST_WORDS && !open && (word = next_word(&line, &open)))
		words[n++] = word;
	if (open)
		return say_fail(EXIT_USAGE, "--command: a quote is not closed");
	if (!n || !*words[0])
		return say_fail(EXIT_USAGE, "--command names no program");
	if (n == MOST_WORDS)
		return say_fail(EXIT_USAGE, "--command has %d words or more; use a script", MOST_WORDS);
	return EXIT_DONE;
}

static int exec_prepare(const struct plan *plan, struct run *run)
{
	const int error = rt_choose_sleep();
	int code = split_command(plan_text(plan, "command"));

	if (code)
		return code;
	if (error)
		return say_fail(EXIT_BOARD, "this kernel does not sleep until a moment (clock_nanosleep: %s); nothing was measured",
				strerror(error));
	if (run->trace)
		return say_fail(EXIT_USAGE, "--trace-above: exec keeps no trace; leave it out, or measure with cyclic");
	counter_free_ns = counters_prepare();
	counted_always = plan_number(plan, "counters") == 1;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	posts = calloc((size_t)run->n_slots, sizeof *posts);
	if (null_fd < 0 || !posts)
		return say_fail(EXIT_BOARD, null_fd < 0 ? "cannot open /dev/null" : "no memory");
	for (int i = 0; i < run->n_lanes; i++) {
		struct lane *lane = &run->lanes[i];
		struct post *post = &posts[lane->slot];
		const int kind = i % LANES;

		snprintf(post->names[kind], sizeof post->names[kind], "cpu%d %s", lane->cpu, kinds[kind].name);
		lane->name = post->names[kind];
		lane->measure = kinds[kind].measure;
		lane->windows = kind != RESPONSE;
		lane->taken_by = kind != RESPONSE ? lane - kind : NULL;
		lane->counters = kind == EXECUTION ? &post->counters : NULL;
	}
	return EXIT_DONE;
}

static void exec_end(struct run *run)
{
	const int error = atomic_load(&failed_by), status = atomic_load(&failed_with);

	(void)run;
	if (error)
		say_fail(EXIT_BOARD, "cannot %s '%s': %s", failed_to, words[0], strerror(error));
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		say_fail(EXIT_BOARD,
			 "'%s' was ended by SIGXCPU: it was busy for 2 s at real-time priority without a sleep (RLIMIT_RTTIME); "
			 "measure it with --policy other",
			 words[0]);
	else if (WIFSIGNALED(status))
		say_fail(EXIT_BOARD, "'%s' was ended by signal %d: its time says nothing", words[0], WTERMSIG(status));
	else if (status)
		say_fail(EXIT_BOARD, "'%s' ended with exit code %d: its time says nothing", words[0], WEXITSTATUS(status));
}

/* --- the loop --- */

/* In the child, which shares the memory of this process until it has become the command. Its stdout is no part of the stream. */
static void become_job(volatile int *error, pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	dup2(null_fd, STDIN_FILENO);
	dup2(null_fd, STDOUT_FILENO);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	if (getppid() == parent && !sigprocmask(SIG_SETMASK, &none, NULL))
		execvp(words[0], words);
	*error = errno;
	_exit(EXIT_BOARD);
}

/* Its status; what it left behind is killed while its process group still has this number. */
static int collect_job(struct post *post)
{
	int status = 0;

	kill(-post->job, SIGKILL);
	while (waitpid(post->job, &status, 0) < 0 && errno == EINTR)
		;
	post->job = 0;
	return status;
}

/* 0, or errno. vfork: nothing of this process is copied, so that starting a job costs the same whatever is locked in memory. */
static int start_job(struct post *post)
{
	volatile int error = 0;
	const pid_t self = getpid();
	const pid_t job = vfork();

	if (job < 0)
		return errno;
	if (job == 0)
		become_job(&error, self);
	post->job = job;
	if (error)
		collect_job(post);
	return error;
}

/* CPU time of a job that has ended and is not collected yet. */
static int64_t execution_ns(pid_t job)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(job, &clock) || clock_gettime(clock, &used))
		return -1;
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Until the job has ended, or nobody waits for this lane any more: then it is killed. When it ended, as the clock of the run has it. */
static int64_t wait_job(const struct lane *lane, const struct post *post)
{
	siginfo_t info;

	while (waitid(P_PID, (id_t)post->job, &info, WEXITED | WNOWAIT) && errno == EINTR)
		if (atomic_load_explicit(&lane->state, memory_order_relaxed) != LANE_RUNNING)
			kill(-post->job, SIGKILL);
	return mono_ns();
}

static void fail(struct lane *lane, _Atomic int *why, int value)
{
	atomic_store(why, value);
	run_stop(lane->run, STOP_ERROR, mono_ns());
}

/* One activation. False: the run is over for this lane. */
static bool run_job(struct lane *lane, struct post *post, int64_t due_ns)
{
	const int error = start_job(post);
	int64_t ended_ns, used_ns;
	int status;

	if (error) {
		fail(lane, &failed_by, error);
		return false;
	}
	ended_ns = wait_job(lane, post);
	used_ns = execution_ns(post->job);
	status = collect_job(post);
	counters_take(&post->counters, !status && used_ns >= 0 && !account_is_over(&post->accounts[RESPONSE], due_ns));
	if (account_is_over(&post->accounts[RESPONSE], due_ns))
		return false;
	if (status) {
		fail(lane, &failed_with, status);
		return false;
	}
	if (used_ns < 0) {
		failed_to = "read the CPU time of";
		fail(lane, &failed_by, ENOTSUP);
		return false;
	}
	account_add(&post->accounts[RESPONSE], ended_ns - due_ns, ended_ns);
	account_add(&post->accounts[EXECUTION], used_ns, ended_ns);
	if (post->accounts[RESPONSE].stats.next_k > post->accounts[EXECUTION].stats.next_k)
		account_skip(&post->accounts[EXECUTION], post->accounts[RESPONSE].stats.next_k, 0);
	return true;
}

static void exec_measure(struct lane *lane)
{
	struct post *post = &posts[lane->slot];

	for (int i = 0; i < LANES; i++)
		post->accounts[i] = account_begin(lane + i);
	counters_open(&post->counters, counter_free_ns, counted_always);
	while (account_is_open(&post->accounts[RESPONSE])) {
		const int64_t due_ns = account_due_ns(&post->accounts[RESPONSE]);
		const int error = rt_sleep_until(due_ns);

		if (account_is_over(&post->accounts[RESPONSE], due_ns))
			break;
		if (error && mono_ns() < due_ns)
			continue; /* woken by a signal, not by the timer */
		if (!run_job(lane, post, due_ns))
			break;
	}
	counters_close(&post->counters);
}

const struct method method_exec = {
	.name = "exec",
	.summary = "response and execution time of a command that is started again in each interval",
	.measure = "job-response",
	.settings = settings,
	.lanes_per_cpu = LANES,
	.prepare = exec_prepare,
	.measure_lane = exec_measure,
	.end = exec_end,
};
