/* The guard itself, the inner one of two processes (standby.h): one command, from its start to the end of all its descendants. */
#ifndef RTPROBE_GUARD_H
#define RTPROBE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "guard/family.h"
#include "guard/group.h"
#include "guard/journal.h"
#include "guard/reaper.h"
#include "guard/standby.h"
#include "guard/usage.h"
#include "os/plan.h"
#include "run/loop.h"

enum phase { RUNNING, ASKED, KILLING, GONE };

struct guard {
	const struct plan *plan;
	struct loop loop;
	struct family family;
	struct journal journal;
	struct group group;
	struct standby standby;
	struct reaper reaper;
	int policy, priority; /* obtained by the guard */
	bool wrap, exited, owner_told;
	pid_t child;
	struct ended end; /* once exited */
	int64_t exited_ns;
	int timer;  /* fires at --max; -1 without */
	int pipe[2]; /* the command's stdout and stderr, -1 when closed */
	enum phase phase;
	const char *why; /* what ended it: "child", "max", "owner", "signal" */
	int64_t phase_until_ns;
	int64_t looked_ns, grace_used_ns;
	size_t in_group;         /* processes that SIGKILL found in the cgroup */
	int64_t group_killed_ns; /* 0: not by the cgroup */
	size_t stuck;
};

/* begin.c: starts the command. 0, or the errno that kept it from starting. */
int guard_start(struct guard *g);

/* supervise.c: until the command and all its descendants have ended, or cannot be ended (`stuck`). */
void guard_supervise(struct guard *g);
/* Sends a piece of what the command wrote; false when there is nothing now, or no more. */
bool guard_take_output(struct guard *g, int which);

/* tell.c: what the stream says. */
void guard_send_facts(struct guard *g);
void guard_send_started(struct guard *g);
void guard_send_exited(struct guard *g);
void guard_send_killed(struct guard *g);
void guard_send_owner_gone(struct guard *g);
void guard_send_usage(struct guard *g, const struct usage *u);
void guard_send_end(struct guard *g, const char *reason, int exit_code);

#endif
