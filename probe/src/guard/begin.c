#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guard/guard.h"
#include "os/say.h"

static _Noreturn void become_command(const struct guard *g, pid_t guard_pid, int report, const int out[2])
{
	int null = open("/dev/null", O_RDONLY), error;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard_pid)
		_exit(EXIT_BOARD); /* the guard died before PDEATHSIG was set */
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
	struct pollfd fd = { .fd = report, .events = POLLIN };
	int error = 0;

	if (poll(&fd, 1, 5000) <= 0 || read(report, &error, sizeof error) != (ssize_t)sizeof error)
		return 0;
	return error;
}

/* Starts the command. 0, or the errno that kept it from starting. */
int guard_start(struct guard *g)
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
		g->child = -1; /* a child that could not exec has ended */
	g->family.child = g->child;
	if (g->child > 0) {
		atomic_store(g->standby.child, g->child);
		reaper_begin(&g->reaper, g->child);
	}
	return error;
}
