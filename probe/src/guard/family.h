/* The descendants of this process, which must be a child subreaper: finding them, and ending them all. */
#ifndef RTPROBE_FAMILY_H
#define RTPROBE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct relative {
	pid_t pid, ppid, pgrp;
	uint64_t start;  /* with pid: names a process for ever, even when its pid is used again */
	char state;
	signed char ours; /* 1 descendant, 0 not, -1 not yet known */
};

struct pid_at {
	pid_t pid;
	uint64_t start;
};

struct family {
	struct relative *all; /* every process of the board at the last scan, sorted by pid */
	size_t n, cap;
	struct pid_at *asked; /* those that got SIGTERM */
	size_t n_asked, cap_asked;
	struct pid_at *killed; /* those that needed SIGKILL */
	size_t n_killed, cap_killed;
	bool blind;  /* /proc cannot be read: only the process group of the child can be reached */
	pid_t child;
};

/* Reads all processes and marks those below `root`. */
void family_look(struct family *f, pid_t root);

/* SIGTERM (and SIGCONT where stopped) to every descendant, or to the command alone, that did not get it yet. Returns how many of them
 * are alive. */
size_t family_ask(struct family *f, bool child_only);

/* SIGKILL to every descendant and to their process groups. Returns how many were alive when looked at. */
size_t family_kill(struct family *f);

/* How many descendants are alive (zombies are not). */
size_t family_alive(struct family *f);

void family_free(struct family *f);

#endif
