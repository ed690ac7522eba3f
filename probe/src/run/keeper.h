/* A process that removes the trace instance when the measuring process ends, however it ends. */
#ifndef RTPROBE_KEEPER_H
#define RTPROBE_KEEPER_H

#include <sys/types.h>

struct keeper {
	pid_t pid; /* 0: there is none */
	int pipe;  /* when its last end is closed, the keeper goes to work */
};

/* To be called before the first thread and before the instance is made. 0 or errno. */
int keeper_start(struct keeper *k, const char *directory);
/* Lets it remove the instance now, and waits a few seconds for it. 0, or the errno of the removal (ETIMEDOUT: it goes on). */
int keeper_remove(struct keeper *k);

#endif
