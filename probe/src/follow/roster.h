/* The threads that are followed: those of a process, or of all processes and threads of a name. New ones are found while it goes on. */
#ifndef RTPROBE_ROSTER_H
#define RTPROBE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "follow/wakeups.h"

enum { ROSTER_MOST = 1024, ROSTER_SLOTS = 8192, ROSTER_NAME = 16, BLOCK_SAMPLES = 512 };

/* /proc/PID/task/TID/schedstat: how long a thread ran and waited for a CPU, and how often it got one. `stat` there: its page faults, those that waited for a disk
 * are the major ones. */
struct turns {
	uint64_t ran_ns, waited_ns, turns, minor_faults, major_faults;
};

struct followed {
	struct wakeups wakeups;
	int32_t pid;
	char name[ROSTER_NAME];
	bool gone;
	int64_t level_ns; /* a wake-up this late is a hit */
	struct turns at_first, last;
	struct { /* the second that goes on: wake-ups that completed in it */
		int64_t number;
		uint64_t n;
		int64_t min_ns, max_ns, sum_ns;
	} second;
	struct { /* of SAMPLES, not sent yet */
		uint64_t first_k;
		uint32_t count;
		uint32_t latency_ns[BLOCK_SAMPLES];
	} block;
};

struct roster {
	pid_t pid; /* 0: by name */
	uint64_t started; /* of pid */
	char comm[ROSTER_NAME];
	pid_t self;              /* is never followed */
	struct followed **list;  /* lane i is list[i] */
	int n;
	uint64_t left_out; /* threads beyond ROSTER_MOST */
	pid_t *processes;  /* of the name: all their threads are followed */
	int n_processes;
	struct {
		int32_t tid;
		int16_t lane; /* -1: looked at, and not to be followed */
	} slot[ROSTER_SLOTS]; /* open addressing; tid 0 is empty */
	int used;
};

/* `pid` 0: by `comm`. 0, or -1 without memory. */
int roster_open(struct roster *r, pid_t pid, const char *comm);
/* Looks for new threads and for those that are gone. How many are there now. */
int roster_scan(struct roster *r);
/* The lane of a thread; -1: it is not followed. A tid never seen before is looked up. */
int roster_lane(struct roster *r, int32_t tid);
/* Reads the turns of all threads again. */
void roster_turns(struct roster *r);

#endif
