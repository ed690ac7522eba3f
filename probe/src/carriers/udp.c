/* udp: a datagram of one byte on the loopback. */
#include <errno.h>

#include "carriers/loopback.h"

static int open_pair(struct channel *c)
{
	struct sockaddr_in in, out;
	int error;

	c->in = loopback_socket(SOCK_DGRAM, &in);
	if (c->in < 0)
		return errno;
	c->out = loopback_socket(SOCK_DGRAM, &out);
	if (c->out < 0)
		return errno;
	error = loopback_connect(c->out, &in);
	return error ? error : loopback_connect(c->in, &out); /* it takes no stranger's datagrams */
}

const struct carrier carrier_udp = {
	.name = "udp",
	.summary = "a UDP datagram on the loopback",
	.needs = "is the loopback up? `ip link set lo up`",
	.open = open_pair,
	.send = loopback_send,
	.wait = loopback_wait,
};
