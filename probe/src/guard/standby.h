/*
 * A guard is two processes, so that killing one of them leaves nothing behind. The owner starts the outer one, the standby: it is a
 * child subreaper and waits. The inner one, its child, guards. If the inner one is killed, its descendants become children of the
 * standby, which ends them with SIGKILL and puts back the journal. If the standby is killed, the kernel tells the inner one, which
 * ends everything in order. If both are killed by SIGKILL at once, the kernel ends the command, and its descendants go on; with a
 * cgroup (group.h), the next guard ends them.
 */
#ifndef RTPROBE_STANDBY_H
#define RTPROBE_STANDBY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guard/group.h"
#include "guard/journal.h"

/* How the guard was started: the command gets it back. */
struct before {
	int policy, priority, nice;
	char oom[16];
};

struct standby {
	const struct group *group; /* of the command; the outer one ends it if the inner one cannot */
	struct journal *journal; /* put back by the outer one if the inner one cannot */
	int64_t max_ns;          /* 0: none. The inner one keeps it; the outer one ends an inner one that hangs far beyond it */
	bool usage;              /* look at what the command uses (usage.h) */
	bool gpu;                /* at the GPU, too */

	/* In the inner one, after standby_start: */
	struct before before;
	_Atomic int *child;      /* shared: the inner one tells here the pid of the command */
	int usage_fd;            /* struct usage once a second, non-blocking; -1 without */
};

/* Becomes two processes. In the inner one it returns true, above everything else that runs, as far as this process may be. In the outer
 * one it returns false when the inner one has ended, and *code is the exit code. */
bool standby_start(struct standby *t, int *code);

/* Policy, niceness and OOM score as they were before; in a child of the inner one that is about to become the command. */
void place_restore(const struct before *b);
void become_unstarvable(void);

#endif
