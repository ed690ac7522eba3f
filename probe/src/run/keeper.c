#include "run/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
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

/* The trace instance and the settings of a run. */
struct traced {
	const char *directory;
	const struct restore *restore;
};

static int remove_instance(const void *argument)
{
	const struct traced *traced = argument;
	int error, again;

	put_back(traced->restore); /* first: the removal waits for other work of the kernel, on a busy board for seconds and more */
	error = tracefs_remove(traced->directory, patience_ns);
	again = put_back(traced->restore); /* what a running tracer refused */
	return error ? error : again;
}

/* The reader of the stream must see its end without us. */
static void close_files(const int *kept, int n_kept, int pipe)
{
	for (int fd = 0; fd < FDS; fd++) {
		bool keep = fd == pipe;

		for (int i = 0; i < n_kept; i++)
			keep |= fd == kept[i];
		if (!keep)
			close(fd);
	}
}

/* Sleeps until the end. No signal to the group ends it, and no thread of a user starves it. */
static void wait_end(int pipe)
{
	sigset_t all;
	char none;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "rtprobe-keeper");
	rt_set_policy(0, SCHED_FIFO | RESET_ON_FORK, KEEPER_PRIORITY);
	while (read(pipe, &none, 1) < 0 && errno == EINTR)
		;
}

int keeper_start_task(struct keeper *k, int (*task)(const void *argument), const void *argument, const int *fds, int n_fds)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	k->pid = fork();
	if (!k->pid) {
		close(ends[1]);
		close_files(fds, n_fds, ends[0]);
		wait_end(ends[0]);
		_exit(task(argument));
	}
	close(ends[0]);
	k->pipe = ends[1];
	if (k->pid > 0)
		return 0;
	k->pid = 0;
	close(ends[1]);
	return errno;
}

int keeper_start(struct keeper *k, const char *directory, const struct restore *restore)
{
	const struct traced traced = { directory, restore };

	return keeper_start_task(k, remove_instance, &traced, NULL, 0);
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
