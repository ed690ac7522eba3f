/*
 * The guard is two processes, so that neither can be killed and leave behind what was guarded. The outer one, which the owner started,
 * is a child subreaper and waits; the inner one, its child, guards. If the inner one is killed, all that it guarded hangs from the
 * outer one, which ends it with SIGKILL and puts back the journal. If the outer one is killed, the kernel tells the inner one, which
 * ends everything in order. What remains: both killed with SIGKILL in one moment leave only the command itself to the kernel.
 */
#ifndef RTPROBE_TWIN_H
#define RTPROBE_TWIN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "journal.h"

/* How the guard was started: the command gets it back. */
struct before {
	int policy, priority, nice;
	char oom[16];
};

struct twin {
	struct journal *journal; /* put back by the outer one if the inner one cannot */
	int64_t max_ns;          /* 0: none. The inner one keeps it; the outer one ends an inner one that hangs far beyond it */
	bool usage;              /* look at what the command uses (usage.h) */

	/* In the inner one, after twin_start: */
	struct before before;
	_Atomic int *child;      /* shared: the inner one tells here the pid of the command */
	int usage_fd;            /* struct usage once a second, non-blocking; -1 without */
};

/* Becomes two processes. In the inner one it returns true, above everything else that runs, as far as this process may be. In the outer
 * one it returns false when the inner one has ended, and *code is the exit code. */
bool twin_start(struct twin *t, int *code);

/* Policy, niceness and OOM score as they were before; in a child of the inner one that is about to become the command. */
void twin_undo(const struct before *b);
void become_unstarvable(void);

#endif
