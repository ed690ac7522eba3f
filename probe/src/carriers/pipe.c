/* pipe: one byte a request. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "carriers/carrier.h"

static int open_pipe(struct channel *c)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	c->in = ends[0];
	c->out = ends[1];
	return fcntl(c->out, F_SETFL, O_NONBLOCK) ? errno : 0;
}

static void send_request(struct channel *c)
{
	if (write(c->out, "", 1) < 0)
		return; /* the pipe is full: the receiver has requests enough to wake up for */
}

static int wait_request(struct channel *c)
{
	char byte;

	return read(c->in, &byte, 1) < 0 ? errno : 0;
}

const struct carrier carrier_pipe = {
	.name = "pipe",
	.summary = "a byte in a pipe",
	.open = open_pipe,
	.send = send_request,
	.wait = wait_request,
};
