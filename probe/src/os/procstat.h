/* /proc/PID/stat and /proc/PID/task/TID/stat, as in proc(5). */
#ifndef RTPROBE_PROCSTAT_H
#define RTPROBE_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A field that the line does not have is 0. */
struct procstat {
	char name[64]; /* may hold anything, brackets and line ends too; longer ones are cut */
	char state;
	pid_t ppid, pgrp;
	bool kept; /* the kernel alone says on which CPUs it runs, as of a worker that is bound to one */
	uint64_t minor_faults, major_faults;
	uint64_t user_ticks, system_ticks;   /* of the process, or of the thread */
	uint64_t waited_ticks;               /* user and system, of the children it has waited for */
	uint64_t threads, start_ticks;
	int cpu;              /* where it last ran */
	int priority, policy; /* real-time priority; SCHED_... */
};

/* False: `text` is no stat line. */
bool procstat_parse(const char *text, struct procstat *s);
/* False: the process or thread is gone, or the file cannot be read. */
bool procstat_read(const char *path, struct procstat *s);
/* The same of a process or thread by its number. */
bool procstat_of(pid_t pid, struct procstat *s);
/* When a process started, in ticks since boot; 0 where there is no such process. A pid is used again, a pid with its start is not. */
uint64_t process_start(pid_t pid);

#endif
