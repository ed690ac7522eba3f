/* A process that puts back what a run changed outside of it when the measuring process ends, however it ends: it removes a trace instance and
 * puts settings of the kernel back, or does a task of the method. */
#ifndef RTPROBE_KEEPER_H
#define RTPROBE_KEEPER_H

#include <sys/types.h>

enum { RESTORE_PATH = 300, RESTORE_VALUE = 256 };

/* A file and the value that it had. */
struct restore {
	char path[RESTORE_PATH]; /* "": the end of the list */
	char value[RESTORE_VALUE];
};

struct keeper {
	pid_t pid; /* 0: there is none */
	int pipe; /* when its last end is closed, the keeper goes to work */
};

/* To be called before the first thread, before the instance is made, and before the files of `restore` (NULL: none) are changed. 0 or errno. */
int keeper_start(struct keeper *k, const char *directory, const struct restore *restore);
/* The same for a task, which returns 0 or errno. Of the open files it has only `fds`. */
int keeper_start_task(struct keeper *k, int (*task)(const void *argument), const void *argument, const int *fds, int n_fds);
/* Lets it go to work now, and waits a few seconds for it. 0, or the errno of its work (ETIMEDOUT: it goes on). */
int keeper_remove(struct keeper *k);

#endif
