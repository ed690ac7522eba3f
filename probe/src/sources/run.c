/*
 * @run:PROGRAM ARGS: what a program writes to stdout, for values that only a program tells (vcgencmd). The watch starts it and goes on.
 * When the program ends, its output is the content. After 500 ms, or when it writes more than a frame holds, its process group is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/rt.h"
#include "sources/source.h"

enum { MAX_WORDS = 32 };
static const int64_t patience_ns = 500000000;

struct run {
	struct source_place place;
	char *words, *argv[MAX_WORDS + 1];
	int hopeless;         /* errno of an exec that will never work: it is not tried again */
	pid_t child;          /* 0: no child to wait for */
	bool under_way;       /* its result is not yet sent */
	int64_t until_ns;
	int output, report;   /* read ends: its stdout; the errno of its exec. -1: closed */
	char *got;
	size_t used, capacity;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void *run_open(const char *argument, const struct source_place *place)
{
	struct run *r = calloc(1, sizeof *r);
	int n = 0;

	if (!r || !(r->words = strdup(argument))) {
		free(r);
		return NULL;
	}
	r->place = *place;
	r->output = r->report = -1;
	for (char *word = strtok(r->words, " "); word && n < MAX_WORDS; word = strtok(NULL, " "))
		r->argv[n++] = word;
	if (!n)
		r->hopeless = ENOENT;
	return r;
}

static _Noreturn void become_program(const struct run *r, pid_t watch, int output, int report)
{
	int null = open("/dev/null", O_RDWR), error;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != watch)
		_exit(1);
	if (rt_look(0).policy != SCHED_OTHER)
		rt_set_policy(0, SCHED_OTHER, 0);
	setpriority(PRIO_PROCESS, 0, 0);
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	loop_undo_signals(r->place.loop);
	execvp(r->argv[0], r->argv);
	error = errno;
	if (write(report, &error, sizeof error) < 0)
		_exit(2);
	_exit(1);
}

/* Both ends close on exec; the read end does not block. */
static int open_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static int begin(struct run *r)
{
	struct epoll_event wake = { .events = EPOLLIN };
	int output[2] = { -1, -1 }, report[2] = { -1, -1 }, error = 0;
	pid_t self = getpid();

	if (open_pipe(output) || open_pipe(report) || epoll_ctl(r->place.events, EPOLL_CTL_ADD, output[0], &wake))
		error = errno;
	if (!error) {
		r->child = fork();
		if (r->child == 0)
			become_program(r, self, output[1], report[1]);
		if (r->child < 0) {
			error = errno == EAGAIN ? ENOMEM : errno; /* EAGAIN means "nothing to send" here */
			r->child = 0;
		}
	}
	close_fd(&output[1]);
	close_fd(&report[1]);
	r->output = output[0];
	r->report = report[0];
	r->used = 0;
	if (error) {
		close_fd(&r->output);
		close_fd(&r->report);
		errno = error;
		return -1;
	}
	r->under_way = true;
	r->until_ns = mono_ns() + patience_ns;
	return 0;
}

/* Takes what is in the pipe, at most `size` bytes in all. False: there is no room for more. */
static bool take_output(struct run *r, size_t size)
{
	while (r->output >= 0) {
		ssize_t n;

		if (r->used == size)
			return false;
		if (r->used == r->capacity) {
			size_t capacity = r->capacity ? 2 * r->capacity : 4096;
			char *bigger = realloc(r->got, capacity);

			if (!bigger)
				return false;
			r->got = bigger;
			r->capacity = capacity;
		}
		n = read(r->output, r->got + r->used, (r->capacity < size ? r->capacity : size) - r->used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			close_fd(&r->output);
		else
			r->used += (size_t)n;
	}
	return true;
}

/* True: the program is gone. Never blocks. */
static bool reap(struct run *r, int *status)
{
	if (!r->child)
		return true;
	if (waitpid(r->child, status, WNOHANG) == 0)
		return false;
	r->child = 0;
	return true;
}

static void kill_group(const struct run *r)
{
	kill(-r->child, SIGKILL);
	kill(r->child, SIGKILL);
}

static bool passing(int error)
{
	return error == ENOMEM || error == ETXTBSY || error == EAGAIN || error == EMFILE || error == ENFILE;
}

/* The content, or -1 and errno, of a program that has ended with `status`. */
static ssize_t result(struct run *r, int status, char *to)
{
	size_t n = r->used;
	int error = 0;

	if (read(r->report, &error, sizeof error) != (ssize_t)sizeof error)
		error = 0;
	close_fd(&r->report);
	close_fd(&r->output);
	if (error) {
		r->hopeless = passing(error) ? 0 : error;
		errno = error == EAGAIN ? ENOMEM : error;
		return -1;
	}
	if (!n && status) {
		errno = EIO; /* it failed and wrote nothing */
		return -1;
	}
	if (n)
		memcpy(to, r->got, n);
	return (ssize_t)n;
}

static ssize_t run_collect(void *state, char *to, size_t size)
{
	struct run *r = state;
	siginfo_t ended = { 0 };
	int status = 0;
	bool full;

	if (!r->under_way) {
		errno = EAGAIN;
		return -1;
	}
	full = !take_output(r, size);
	/* Kill its group before reaping it: after that, its number may belong to another group. */
	if (!waitid(P_PID, (id_t)r->child, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid == r->child) {
		take_output(r, size);
		kill_group(r);
		reap(r, &status);
		r->under_way = false;
		return result(r, status, to);
	}
	if (!full && mono_ns() < r->until_ns) {
		errno = EAGAIN;
		return -1;
	}
	kill_group(r);
	r->under_way = false;
	if (full) /* the rest would be cut */
		return result(r, 0, to);
	close_fd(&r->output);
	close_fd(&r->report);
	errno = ETIMEDOUT;
	return -1;
}

static ssize_t run_read(void *state, char *to, size_t size, bool *more)
{
	struct run *r = state;
	int status;

	(void)to;
	(void)size;
	(void)more;
	if (r->hopeless)
		errno = r->hopeless;
	else if (r->under_way || !reap(r, &status) || !begin(r))
		errno = EAGAIN;
	return -1;
}

static int64_t run_until_ns(const void *state)
{
	const struct run *r = state;

	return r->under_way ? r->until_ns : INT64_MAX;
}

static void run_close(void *state)
{
	struct run *r = state;
	int status;

	if (r->child)
		kill_group(r);
	for (int i = 0; i < 20 && !reap(r, &status); i++)
		usleep(1000); /* a child that hangs in the kernel is left behind */
	close_fd(&r->output);
	close_fd(&r->report);
	free(r->words);
	free(r->got);
	free(r);
}

const struct source source_run = {
	.name = "@run",
	.argument = "PROGRAM ARGS",
	.summary = "what a program writes to stdout; words are split at blanks, there is no shell",
	.open = run_open,
	.read = run_read,
	.collect = run_collect,
	.until_ns = run_until_ns,
	.close = run_close,
};
