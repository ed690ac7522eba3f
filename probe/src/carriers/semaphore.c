/* semaphore: a POSIX semaphore in memory. */
#include <errno.h>

#include "carriers/carrier.h"

static int open_semaphore(struct channel *c)
{
	return sem_init(&c->semaphore, 0, 0) ? errno : 0;
}

static void send_request(struct channel *c)
{
	sem_post(&c->semaphore);
}

static int wait_request(struct channel *c)
{
	return sem_wait(&c->semaphore) ? errno : 0;
}

const struct carrier carrier_semaphore = {
	.name = "semaphore",
	.summary = "sem_post of a POSIX semaphore",
	.open = open_semaphore,
	.send = send_request,
	.wait = wait_request,
};
