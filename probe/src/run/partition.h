/* A cgroup that holds CPUs which the scheduler leaves alone (cpuset, version 1 or 2). Only its members may run there: the lanes of its CPUs
 * join it thread by thread, while the writer and the rest stay with its parent. */
#ifndef RTPROBE_PARTITION_H
#define RTPROBE_PARTITION_H

#include <sys/types.h>

#include "os/cpus.h"

enum { PARTITION_PATH = 256 };

struct partition {
	struct cpus cpus; /* none: there is no partition */
	char path[PARTITION_PATH], members[PARTITION_PATH + 32], outside[PARTITION_PATH + 32];
};

/* Looks at the cgroup at `path` (NULL: there is none) and moves this process to its parent, where it may go on using the CPUs `allowed`.
 * 0, or an exit code after an error message. */
int partition_open(struct partition *p, const char *path, const struct cpus *allowed);

/* Takes the calling thread into it, if it holds this CPU. 0 or errno. */
int partition_join(const struct partition *p, int cpu);

/* Moves a thread of this CPU out of it, where it may use other CPUs. */
void partition_leave(const struct partition *p, int cpu, pid_t tid);

#endif
