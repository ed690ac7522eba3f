/*
 * A cgroup (version 2) for the command alone, so that the kernel can end everything in it in one step, however fast it forks. Made only
 * where that changes nothing else: below the guard's own cgroup, with no controller that takes part in scheduling. Elsewhere, and for
 * processes that leave it, there is the family (family.h). docs/decisions/2026-11-22-guarded-session.md has the measurement.
 */
#ifndef RTPROBE_GROUP_H
#define RTPROBE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

enum { GROUP_PATH = 512 };

struct group {
	char path[GROUP_PATH]; /* empty: there is none */
	int lock;              /* guard and standby hold it; a group without a holder was left behind */
};

/* Makes the cgroup. False, and nothing is left, where the kernel (before 5.14), its mounts or our rights do not allow it. Groups that
 * killed guards left beside it are ended and removed. */
bool group_make(struct group *g);
/* Moves this process into it. Async-signal-safe. */
bool group_join(const struct group *g);
/* How many processes are in it. */
size_t group_count(const struct group *g);
/* SIGKILL to everything in it. */
bool group_kill(const struct group *g);
/* Removes it once it is empty. Harmless when done twice. */
void group_remove(struct group *g);

#endif
