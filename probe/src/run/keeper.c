#include "run/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/tracefs.h"

enum { KEEPER_PRIORITY = 99, FDS = 1024 };
static const int64_t patience_ns = 30000000000, wait_ns = 5000000000, look_ns = 5000000;

/* 0, or the errno of the last one that was refused. */
static int put_back(const struct restore *restore)
{
	int error = 0;

	for (; restore && *restore->path; restore++) {
		const int refused = tracefs_put("", restore->path, restore->value);

		error = refused ? refused : error;
	}
	return error;
}

/* It sleeps until the end. No signal to the group ends it, and no thread of a user starves it. */
static _Noreturn void keep(int pipe, const char *directory, const struct restore *restore)
{
	sigset_t all;
	char none;
	int error, again;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "rtprobe-keeper");
	for (int fd = 0; fd < FDS; fd++)
		if (fd != pipe)
			close(fd); /* the reader of the stream must see its end without us */
	rt_set_policy(0, SCHED_FIFO | RESET_ON_FORK, KEEPER_PRIORITY);
	while (read(pipe, &none, 1) < 0 && errno == EINTR)
		;
	put_back(restore); /* first: the removal waits for other work of the kernel, on a busy board for seconds and more */
	error = tracefs_remove(directory, patience_ns);
	again = put_back(restore); /* what a running tracer refused */
	_exit(error ? error : again);
}

int keeper_start(struct keeper *k, const char *directory, const struct restore *restore)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	k->pid = fork();
	if (!k->pid) {
		close(ends[1]);
		keep(ends[0], directory, restore);
	}
	close(ends[0]);
	k->pipe = ends[1];
	if (k->pid > 0)
		return 0;
	k->pid = 0;
	close(ends[1]);
	return errno;
}

int keeper_remove(struct keeper *k)
{
	const struct timespec look = { 0, look_ns };
	const int64_t until_ns = mono_ns() + wait_ns;
	int status = 0;
	pid_t ended;

	if (!k->pid)
		return 0;
	close(k->pipe);
	while ((ended = waitpid(k->pid, &status, WNOHANG)) == 0 && mono_ns() < until_ns)
		nanosleep(&look, NULL);
	if (!ended)
		return ETIMEDOUT;
	k->pid = 0;
	return ended < 0 || !WIFEXITED(status) ? EIO : WEXITSTATUS(status);
}
