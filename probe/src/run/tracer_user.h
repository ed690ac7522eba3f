/* A thread of our own on one CPU that the kernel's tracer timerlat wakes and measures (timerlat_fd, Linux 6.5): besides the latency of its
 * wake-up the tracer tells when it was back in the kernel, after it had run in user space.
 */
#ifndef RTPROBE_TRACER_USER_H
#define RTPROBE_TRACER_USER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "run/kernel_tracer.h"

struct tracer_user {
	char path[TRACER_PATH + 64];
	int cpu, wake_signal;
	pid_t tid;
	int error;           /* of opening the file; set before `state` */
	_Atomic int state;
	_Atomic int stop;
};

/* Has this kernel such files? */
bool tracer_user_is_there(const char *root, int cpu);
/* Starts the thread, after the tracer was started with NO_OSNOISE_WORKLOAD. 0 or errno. `wake_signal` ends its wait. */
int tracer_user_start(struct tracer_user *u, const char *root, int cpu, int wake_signal);
/* Ends the thread, which must be over before the tracer ends: the kernel kills whoever has the file open then. False: it does not end. */
bool tracer_user_stop(struct tracer_user *u);

#endif
