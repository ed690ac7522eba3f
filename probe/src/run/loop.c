#include "run/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/say.h"
#include "os/signals.h"

static const int64_t told_to_end_ns = 2000000000;

static void take_signal(int number, struct sigaction *old, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(number, &action, old);
}

static int watch_signals(struct loop *l)
{
	struct sigaction hangup;
	sigset_t set, blocked;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP); /* under nohup it stays ignored */
	take_signal(SIGTERM, NULL, SIG_DFL);
	take_signal(SIGCHLD, NULL, SIG_DFL); /* an inherited SIG_IGN would make the kernel reap our children */
	take_signal(SIGINT, &l->old_int, SIG_DFL); /* a shell starts background jobs with it ignored */
	take_signal(SIGPIPE, &l->old_pipe, SIG_IGN);
	take_signal(SIGTTIN, &l->old_ttin, SIG_IGN);
	blocked = set;
	signals_hold(&blocked);
	if (sigprocmask(SIG_SETMASK, &blocked, &l->old_mask))
		return -1;
	l->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return l->signals < 0 ? -1 : 0;
}

void loop_undo_signals(const struct loop *l)
{
	sigaction(SIGINT, &l->old_int, NULL);
	sigaction(SIGPIPE, &l->old_pipe, NULL);
	sigaction(SIGTTIN, &l->old_ttin, NULL);
	sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
}

int loop_open(struct loop *l, const char *path, bool stream, bool attached)
{
	int fd;

	memset(l, 0, sizeof *l);
	l->out.fd = -1;
	l->attached = attached;
	l->owner_events = POLLIN;
	l->signals = -1;
	if (stream && !path && fcntl(STDOUT_FILENO, F_GETFD) < 0)
		return say_fail(EXIT_USAGE, "stdout is closed; redirect it, or use -o FILE");
	if (fcntl(STDIN_FILENO, F_GETFD) < 0)
		l->owner_gone = attached;
	do { /* fill closed standard descriptors, so that no file of ours becomes one */
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	if (watch_signals(l))
		return say_fail(EXIT_BOARD, "cannot watch signals: %s", strerror(errno));
	return stream ? outlet_open(&l->out, path) : 0;
}

static void read_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		l->stop_signal = (int)info.ssi_signo;
		l->stops++;
	}
}

static void read_owner(struct loop *l, short revents)
{
	char ignored[4096];
	ssize_t n;

	if (!(revents & POLLIN)) {
		l->owner_gone = true; /* POLLHUP, POLLERR, POLLNVAL */
		return;
	}
	n = read(STDIN_FILENO, ignored, sizeof ignored);
	if (n == 0)
		l->owner_gone = true;
	else if (n < 0 && errno == EIO && !(revents & POLLHUP))
		l->owner_events = 0; /* we are in the background of a terminal: wait for its hang-up only */
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		l->owner_gone = true;
}

static struct timespec *time_left(int64_t until_ns, struct timespec *left)
{
	int64_t ns;

	if (until_ns == INT64_MAX)
		return NULL;
	ns = until_ns - mono_ns();
	if (ns < 0)
		ns = 0;
	left->tv_sec = (time_t)(ns / 1000000000);
	left->tv_nsec = (long)(ns % 1000000000);
	return left;
}

void loop_wait(struct loop *l, int64_t until_ns, struct pollfd *extra, int n_extra)
{
	struct pollfd fds[3 + LOOP_MAX_EXTRA] = {
		{ .fd = l->signals, .events = POLLIN },
		{ .fd = l->attached && !l->owner_gone ? STDIN_FILENO : -1, .events = l->owner_events },
		{ .fd = l->out.queued && outlet_pending(&l->out) ? l->out.fd : -1, .events = POLLOUT },
	};
	struct timespec left;
	int n;

	for (int i = 0; i < n_extra; i++) {
		fds[3 + i] = extra[i];
		extra[i].revents = 0;
	}
	n = ppoll(fds, (nfds_t)(3 + n_extra), time_left(until_ns, &left), NULL);
	if (n <= 0)
		return;
	for (int i = 0; i < n_extra; i++)
		extra[i].revents = fds[3 + i].revents;
	if (fds[0].revents)
		read_signals(l);
	if (fds[1].revents)
		read_owner(l, fds[1].revents);
	if (fds[2].revents)
		outlet_push(&l->out);
}

bool loop_asked_to_end(const struct loop *l)
{
	return l->stop_signal || l->owner_gone;
}

size_t loop_drain(struct loop *l, int64_t until_ns, bool yields, size_t down_to)
{
	if (l->out.nonblocking)
		outlet_push(&l->out);
	while (outlet_pending(&l->out) > down_to && mono_ns() < until_ns && !(yields && loop_asked_to_end(l)))
		loop_wait(l, until_ns, NULL, 0);
	return outlet_pending(&l->out);
}

int loop_close(struct loop *l, int64_t until_ns, int exit_code)
{
	size_t left = loop_drain(l, until_ns, true, 0);

	if (left) /* told to end, or out of time: wait for the reader a little longer */
		left = loop_drain(l, mono_ns() + told_to_end_ns, false, 0);
	if (l->out.error)
		say_fail(EXIT_BOARD, "the stream is not whole: %s", strerror(l->out.error));
	else if (left)
		say_fail(EXIT_BOARD, "the stream is not whole: nobody read the last %zu bytes", left);
	if ((left || l->out.error) && exit_code == EXIT_DONE)
		exit_code = EXIT_BOARD;
	if (l->out.fd >= 0) {
		outlet_drop(&l->out, 0); /* so that emit_close cannot block */
		emit_close(&l->out.emit);
		if (l->out.fd != STDOUT_FILENO)
			close(l->out.fd);
	}
	free(l->out.queue);
	if (l->signals >= 0)
		close(l->signals);
	return exit_code;
}
