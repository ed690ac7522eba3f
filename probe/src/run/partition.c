#include "run/partition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/rt.h"
#include "os/say.h"

/* 0 is the process, or the thread, that writes it. */
static int put(const char *file, pid_t id)
{
	char text[16];
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return errno;
	snprintf(text, sizeof text, "%d", (int)id);
	error = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	return error;
}

int partition_open(struct partition *p, const char *path, const struct cpus *allowed)
{
	char file[PARTITION_PATH + 32];
	int error;

	memset(p, 0, sizeof *p);
	if (!path)
		return EXIT_DONE;
	if ((size_t)snprintf(p->path, sizeof p->path, "%s", path) >= sizeof p->path)
		return say_fail(EXIT_USAGE, "--partition: the path is too long");
	snprintf(file, sizeof file, "%s/cpuset.cpus", path);
	if (cpus_file(file, &p->cpus) || !cpus_count(&p->cpus))
		return say_fail(EXIT_USAGE, "--partition %s: it holds no CPU", path);
	snprintf(p->members, sizeof p->members, "%s/cgroup.threads", path); /* version 2 */
	snprintf(p->outside, sizeof p->outside, "%s/../cgroup.threads", path);
	if (access(p->members, F_OK)) {
		snprintf(p->members, sizeof p->members, "%s/tasks", path);
		snprintf(p->outside, sizeof p->outside, "%s/../tasks", path);
	}
	snprintf(file, sizeof file, "%s/../cgroup.procs", path);
	error = put(file, 0);
	if (error)
		return say_fail(EXIT_BOARD, "--partition %s: its parent does not take this process: %s", path, strerror(error));
	rt_pin(0, allowed);
	return EXIT_DONE;
}

int partition_join(const struct partition *p, int cpu)
{
	return cpus_has(&p->cpus, cpu) ? put(p->members, 0) : 0;
}

void partition_leave(const struct partition *p, int cpu, pid_t tid)
{
	if (cpus_has(&p->cpus, cpu))
		put(p->outside, tid);
}
