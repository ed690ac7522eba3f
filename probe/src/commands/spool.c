/*
 * rtprobe spool: runs a command that outlives the connection it was started over, and keeps its output in DIR (spool.h) until `fetch` has
 * sent it to the host. The command is a guard with --attached, and this process is its owner: if the spooler ends for any reason, the
 * guard ends the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/spool.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/plan.h"
#include "os/procstat.h"
#include "os/say.h"

enum { STDERR_KEPT = 65536, PIPE_WANTED = 1 << 20, CHUNK = 65536 };
static const int after_exit_ms = 5000; /* for processes that still hold the pipes after the command's end */

struct spool {
	const struct plan *plan;
	const char *dir;
	struct segments segments;
	struct frame_filter filter;
	pid_t child;
	int out, err, owner; /* the command's stdout, stderr and stdin; -1 when closed */
	int control, signals;
	int status;
	bool exited;
	int64_t exited_ns;
	uint64_t last_signal; /* id of the last signal passed on: a line that comes twice does nothing */
	char errors[2 * STDERR_KEPT];
	size_t n_errors;
	char line[128];
	size_t n_line;
};

struct report { /* from the spooler to the process that started it */
	pid_t pid;
	int error;
};

static int write_file(const char *dir, const char *name, const char *data, size_t length)
{
	char aside[SPOOL_PATH], path[SPOOL_PATH];
	int fd = open(spool_path(aside, dir, ".new"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool whole = fd >= 0 && write(fd, data, length) == (ssize_t)length;

	if (fd >= 0)
		close(fd);
	return whole && !rename(aside, spool_path(path, dir, name)) ? 0 : -1;
}

/* ---- the command ---- */

static _Noreturn void become_command(const struct spool *s, const int in[2], const int out[2], const int err[2], int report)
{
	sigset_t none;
	int error;

	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	dup2(err[1], STDERR_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execvp(s->plan->rest[0], s->plan->rest);
	error = errno;
	if (write(report, &error, sizeof error) < 0)
		_exit(EXIT_BUG);
	_exit(EXIT_BOARD);
}

static int start_command(struct spool *s)
{
	int in[2], out[2], err[2], report[2], error = 0;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
		return errno;
	fcntl(out[0], F_SETPIPE_SZ, PIPE_WANTED); /* we are an ordinary process, and the command may be under load */
	s->child = fork();
	if (s->child == 0)
		become_command(s, in, out, err, report[1]);
	if (s->child < 0)
		return errno;
	close(in[0]);
	close(out[1]);
	close(err[1]);
	close(report[1]);
	s->owner = in[1];
	s->out = out[0];
	s->err = err[0];
	if (read(report[0], &error, sizeof error) != (ssize_t)sizeof error)
		error = 0;
	close(report[0]);
	if (error)
		waitpid(s->child, NULL, 0);
	return error;
}

static void close_stdin(struct spool *s)
{
	if (s->owner >= 0)
		close(s->owner);
	s->owner = -1;
}

/* ---- requests ---- */

static void handle_line(struct spool *s, const char *line)
{
	uint64_t id;
	int number;

	if (!strcmp(line, "close-stdin")) {
		close_stdin(s);
	} else if (sscanf(line, "signal %" SCNu64 " %d", &id, &number) == 2 && id > s->last_signal && number > 0 && number < 65) {
		s->last_signal = id;
		if (!s->exited)
			kill(s->child, number);
	}
}

static void read_control(struct spool *s)
{
	char text[512];
	ssize_t n = read(s->control, text, sizeof text);

	for (ssize_t i = 0; i < n; i++) {
		if (text[i] != '\n') {
			if (s->n_line < sizeof s->line - 1)
				s->line[s->n_line++] = text[i];
			continue;
		}
		s->line[s->n_line] = 0;
		s->n_line = 0;
		handle_line(s, s->line);
	}
}

static void read_signals(struct spool *s)
{
	struct signalfd_siginfo info;
	int status;

	while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD)
			close_stdin(s); /* SIGTERM, SIGINT: to us */
	if (!s->exited && waitpid(s->child, &status, WNOHANG) == s->child) {
		s->exited = true;
		s->status = status;
		s->exited_ns = mono_ns();
	}
}

static void close_end(int *fd)
{
	close(*fd);
	*fd = -1;
}

static void read_output(struct spool *s)
{
	static char chunk[CHUNK];
	ssize_t n = read(s->out, chunk, sizeof chunk);

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0 || filter_feed(&s->filter, chunk, (size_t)n))
		close_end(&s->out);
}

static void read_errors(struct spool *s)
{
	ssize_t n = read(s->err, s->errors + s->n_errors, STDERR_KEPT);

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		close_end(&s->err);
		return;
	}
	s->n_errors += (size_t)n;
	if (s->n_errors > STDERR_KEPT) {
		memmove(s->errors, s->errors + s->n_errors - STDERR_KEPT, STDERR_KEPT);
		s->n_errors = STDERR_KEPT;
	}
}

static bool goes_on(const struct spool *s)
{
	if (!s->exited)
		return true;
	return (s->out >= 0 || s->err >= 0) && mono_ns() - s->exited_ns < (int64_t)after_exit_ms * 1000000;
}

static void serve(struct spool *s)
{
	while (goes_on(s)) {
		struct pollfd fds[] = {
			{ .fd = s->out, .events = POLLIN },
			{ .fd = s->err, .events = POLLIN },
			{ .fd = s->control, .events = POLLIN },
			{ .fd = s->signals, .events = POLLIN },
		};

		if (poll(fds, 4, s->exited ? 200 : -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents)
			read_output(s);
		if (fds[1].revents)
			read_errors(s);
		if (fds[2].revents & POLLIN)
			read_control(s);
		if (fds[3].revents)
			read_signals(s);
	}
}

/* ---- the end ---- */

static void end_followers(const struct spool *s)
{
	for (int i = 1; i < s->plan->n_args; i++) {
		char path[SPOOL_PATH];
		int fd = open(spool_path(path, s->plan->args[i], "control"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);

		if (fd < 0)
			continue; /* it has ended, and its files may be gone */
		if (write(fd, "close-stdin\n", 12) < 0)
			errno = 0;
		close(fd);
	}
}

static void finish(struct spool *s)
{
	char text[80];
	int code = WIFEXITED(s->status) ? WEXITSTATUS(s->status) : 128 + WTERMSIG(s->status);

	filter_finish(&s->filter);
	segments_close(&s->segments); /* gives the reserve back: the files below need room too */
	write_file(s->dir, "errors", s->errors, s->n_errors);
	snprintf(text, sizeof text, "%d %" PRIu64 " %" PRIu64 "\n", code, s->segments.offset, s->segments.lost);
	write_file(s->dir, "exit", text, strlen(text));
	end_followers(s);
	filter_close(&s->filter);
}

/* ---- the beginning ---- */

static int note_who_writes(const struct spool *s)
{
	char boot[64] = "", text[160];

	if (s->plan->n_args > 1 && write_file(s->dir, "leads", "", 0))
		return -1;
	read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	snprintf(text, sizeof text, "%d %" PRIu64 " %d %s\n", (int)getpid(), process_start(getpid()), (int)s->child, boot);
	return write_file(s->dir, "pid", text, strlen(text));
}

static void leave_the_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

static int watch_signals(struct spool *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signals < 0 ? errno : 0;
}

/* 0, or the errno of what could not be had. */
static int prepare(struct spool *s)
{
	char path[SPOOL_PATH];
	int error = watch_signals(s);

	if (error)
		return error;
	if (mkfifo(spool_path(path, s->dir, "control"), 0600))
		return errno;
	s->control = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (s->control < 0 || filter_open(&s->filter, &s->segments) ||
	    segments_open(&s->segments, s->dir, (uint64_t)plan_number(s->plan, "budget"), (uint64_t)plan_number(s->plan, "segment")))
		return errno;
	return 0;
}

static void protect_from_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "-900", 4) < 0)
		errno = 0; /* not allowed: then it stays as it is */
	close(fd);
}

static _Noreturn void spooler(const struct plan *plan, int report)
{
	static struct spool s;
	struct report told = { 0 };

	s = (struct spool){ .plan = plan, .dir = plan->args[0], .out = -1, .err = -1, .owner = -1, .control = -1, .signals = -1 };
	s.segments.fd = -1;
	told.error = prepare(&s);
	leave_the_terminal();
	if (!told.error)
		told.error = start_command(&s);
	if (!told.error && note_who_writes(&s))
		told.error = errno;
	told.pid = s.child;
	if (write(report, &told, sizeof told) != (ssize_t)sizeof told || told.error)
		_exit(EXIT_BOARD); /* the command loses its owner, and ends */
	close(report);
	protect_from_oom(); /* after the fork, so that the command does not inherit it */
	serve(&s);
	finish(&s);
	_exit(EXIT_DONE);
}

static int detach(const struct plan *plan, struct report *told)
{
	int report[2];
	pid_t pid;
	ssize_t n;

	if (pipe2(report, O_CLOEXEC))
		return errno;
	pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		setsid();
		if (fork() == 0)
			spooler(plan, report[1]);
		_exit(0);
	}
	close(report[1]);
	waitpid(pid, NULL, 0);
	do {
		n = read(report[0], told, sizeof *told);
	} while (n < 0 && errno == EINTR);
	close(report[0]);
	return n == (ssize_t)sizeof *told ? told->error : ECHILD;
}

static int spool_run(const struct plan *plan)
{
	struct report told = { 0 };
	int error;

	if (plan->args[0][0] != '/')
		return say_fail(EXIT_USAGE, "%s is not an absolute path", plan->args[0]);
	if (strlen(plan->args[0]) + SPOOL_NAME + 2 > SPOOL_PATH)
		return say_fail(EXIT_USAGE, "the path of the spool is too long");
	if (mkdir(plan->args[0], 0700))
		return say_fail(EXIT_BOARD, "cannot make the spool %s: %s", plan->args[0], strerror(errno));
	error = detach(plan, &told);
	if (error)
		return say_fail(EXIT_BOARD, "cannot start '%s' with a spool in %s: %s", plan->rest[0], plan->args[0], strerror(error));
	printf("pid %d\n", (int)told.pid);
	return EXIT_DONE;
}

static const struct option_spec spool_options[] = {
	{ .name = "budget",
	  .type = OPT_INTEGER,
	  .unit = "bytes",
	  .min = 65536,
	  .max = INT64_C(1) << 50,
	  .standard = "67108864",
	  .help = "most bytes kept for the host; when they are full, samples (later also seconds and spill) are counted, not kept" },
	{ .name = "segment",
	  .type = OPT_INTEGER,
	  .unit = "bytes",
	  .min = 4096,
	  .max = 1 << 30,
	  .standard = "262144",
	  .help = "size from which on a new segment is begun; a segment is deleted when all of it was fetched" },
	{ 0 },
};

const struct command command_spool = {
	.name = "spool",
	.summary = "runs CMD without its terminal and keeps what it writes in DIR until it is fetched",
	.arguments = "DIR [DIR-TO-END-AFTERWARDS...]",
	.min_arguments = 1,
	.max_arguments = 64,
	.takes_rest = true,
	.options = spool_options,
	.run = spool_run,
};
