/* ftrace around --break-above: stopped at the hit, kept in a file, put back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/session.h"

static int open_in(const char *root, const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", root, name);
	return open(path, flags | O_CLOEXEC);
}

void trace_open(struct trace *t, struct run *run)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char on[8] = "";
	int error = ENOENT;

	run->marker_fd = run->tracing_fd = -1;
	for (int i = 0; i < 2 && run->marker_fd < 0; i++) {
		t->root = roots[i];
		run->marker_fd = open_in(t->root, "trace_marker", O_WRONLY);
		if (run->marker_fd < 0 && errno != ENOENT)
			error = errno;
	}
	if (run->marker_fd >= 0) {
		run->tracing_fd = open_in(t->root, "tracing_on", O_RDWR);
		if (run->tracing_fd >= 0) {
			t->was_on = pread(run->tracing_fd, on, sizeof on - 1, 0) > 0 && on[0] == '1';
			return;
		}
		error = errno;
		close(run->marker_fd);
		run->marker_fd = -1;
	}
	snprintf(t->error, sizeof t->error, "tracefs cannot be written: %s", strerror(error));
}

static int copy(int from, int to)
{
	char buffer[65536];
	ssize_t got;

	while ((got = read(from, buffer, sizeof buffer)) > 0)
		for (ssize_t done = 0, wrote; done < got; done += wrote)
			if ((wrote = write(to, buffer + done, (size_t)(got - done))) < 0)
				return -1;
	return got < 0 ? -1 : 0;
}

const char *trace_keep(struct trace *t, struct run *run, const char *output)
{
	static char path[4096 + 32];
	char here[4096] = "";
	const char *temporary = getenv("TMPDIR");
	int from, to, bad;

	if (run->marker_fd < 0)
		return NULL;
	if (run->break_errno)
		snprintf(t->error, sizeof t->error, "stopping the trace: %s", strerror(run->break_errno));
	if (output && *output != '/' && getcwd(here, sizeof here - 1))
		strcat(here, "/");
	if (output)
		snprintf(path, sizeof path, "%s%s.trace", here, output);
	else
		snprintf(path, sizeof path, "%s/rtprobe-%d-break.trace", temporary ? temporary : "/tmp", (int)getpid());
	from = open_in(t->root, "trace", O_RDONLY);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (to < 0 && errno == EEXIST && output) /* beside -o FILE, which is replaced too */
		to = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	bad = from < 0 || to < 0 || copy(from, to);
	if (bad)
		snprintf(t->error, sizeof t->error, "keeping the trace in %.200s: %s", path, strerror(errno));
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (t->was_on && pwrite(run->tracing_fd, "1", 1, 0) < 0 && !bad)
		snprintf(t->error, sizeof t->error, "switching tracing on again: %s", strerror(errno));
	return bad ? NULL : path;
}
