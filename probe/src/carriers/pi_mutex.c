/* pi-mutex: as mutex, and the holder inherits the priority of the receiver that waits. */
#include <pthread.h>

#include "carriers/mutex.h"

static int open_inheriting(struct channel *c)
{
	return mutex_open(c, PTHREAD_PRIO_INHERIT);
}

extern const struct carrier carrier_semaphore;

const struct carrier carrier_pi_mutex = {
	.name = "pi-mutex",
	.summary = "a mutex with priority inheritance",
	.needs =
		"it needs FUTEX_LOCK_PI in the kernel, and a real-time policy of three priorities: run as root, or raise the limit (ulimit -r)",
	.answers_by = &carrier_semaphore,
	.priorities_below = MUTEX_PRIORITIES,
	.open = open_inheriting,
	.send = mutex_send,
	.wait = mutex_wait,
};
