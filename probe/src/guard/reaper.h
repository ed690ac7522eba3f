/*
 * Waits for children in an ordinary thread. wait4() makes the kernel drop the child's entries in /proc. If another thread is dropping
 * one of them at that moment, the kernel tries again until that thread is done (release_task, d_invalidate). The last thread of a
 * program wakes its parent in the middle of this. A guard that reaps at FIFO 99 then preempts that thread, a measuring lane, and both
 * spin for minutes. So the guard only looks (WNOWAIT), and an ordinary thread reaps. docs/decisions/2026-11-22-who-reaps.md has the measurement.
 */
#ifndef RTPROBE_REAPER_H
#define RTPROBE_REAPER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct reaper {
	int fd;               /* readable once there is no child left */
	pid_t kept;           /* a child that is not reaped before reaper_release; 0: none */
	_Atomic bool childless;
	sem_t begin, release;
	pthread_t thread; /* joinable, never joined: a signal to it stays valid after it has ended */
};

/* How a child ended, and the CPU time of it and of all it waited for. */
struct ended {
	int status; /* as of waitpid */
	int64_t user_ns, system_ns;
};

/* True if this child has ended. It stays to be reaped. */
bool reaper_look(pid_t pid, struct ended *end);

/* Makes the thread, which does nothing yet: before there is a child, so that a board without room for it is told in time. 0 or errno. */
int reaper_prepare(struct reaper *r);
/* From now on it reaps whatever ends, `kept` last, until there is no child left. */
void reaper_begin(struct reaper *r, pid_t kept);
void reaper_release(struct reaper *r);
/* Up to `ms`; true if no child is left. */
bool reaper_wait(const struct reaper *r, int ms);
/* Call it when there is nothing more to wait for. A process ends only after all its threads have ended, so the thread gets our priority. */
void reaper_raise_priority(const struct reaper *r);

#endif
