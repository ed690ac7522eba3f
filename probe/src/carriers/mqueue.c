/* mqueue: a POSIX message queue, one message of a byte a request. Its name is removed as soon as it is open. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <unistd.h>

#include "carriers/carrier.h"

static int open_queue(struct channel *c)
{
	struct mq_attr attributes = { .mq_maxmsg = 10, .mq_msgsize = 1 }; /* 10: the most that a user may have */
	char name[48];

	snprintf(name, sizeof name, "/rtprobe-%d-%d", (int)getpid(), c->number);
	mq_unlink(name); /* of a dead process with our pid */
	c->in = mq_open(name, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
	if (c->in < 0)
		return errno;
	c->out = mq_open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (c->out < 0) {
		const int error = errno;

		mq_unlink(name);
		return error;
	}
	mq_unlink(name);
	return 0;
}

static void send_request(struct channel *c)
{
	mq_send(c->out, "", 1, 0); /* a full queue has requests enough to wake up for */
}

static int wait_request(struct channel *c)
{
	char byte;

	return mq_receive(c->in, &byte, 1, NULL) < 0 ? errno : 0;
}

const struct carrier carrier_mqueue = {
	.name = "mqueue",
	.summary = "a message in a POSIX message queue",
	.needs = "the kernel needs CONFIG_POSIX_MQUEUE; /proc/sys/fs/mqueue and ulimit -q hold the limits",
	.open = open_queue,
	.send = send_request,
	.wait = wait_request,
};
