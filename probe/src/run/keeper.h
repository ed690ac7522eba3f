/* A process that removes the trace instance when the measuring process ends, however it ends, and puts settings of the kernel back. */
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
	int pipe;  /* when its last end is closed, the keeper goes to work */
};

/* To be called before the first thread, before the instance is made, and before the files of `restore` (NULL: none) are changed. 0 or errno. */
int keeper_start(struct keeper *k, const char *directory, const struct restore *restore);
/* Lets it remove the instance now, and waits a few seconds for it. 0, or the errno of the removal (ETIMEDOUT: it goes on). */
int keeper_remove(struct keeper *k);

#endif
