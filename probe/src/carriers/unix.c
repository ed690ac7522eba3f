/* unix: a datagram of one byte through a pair of Unix sockets. */
#include <errno.h>
#include <sys/socket.h>

#include "carriers/carrier.h"

static int open_pair(struct channel *c)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends))
		return errno;
	c->in = ends[0];
	c->out = ends[1];
	return 0;
}

static void send_request(struct channel *c)
{
	send(c->out, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int wait_request(struct channel *c)
{
	char byte;

	return recv(c->in, &byte, 1, 0) < 0 ? errno : 0;
}

const struct carrier carrier_unix = {
	.name = "unix",
	.summary = "a datagram through a Unix socket",
	.needs = "the kernel needs CONFIG_UNIX",
	.open = open_pair,
	.send = send_request,
	.wait = wait_request,
};
