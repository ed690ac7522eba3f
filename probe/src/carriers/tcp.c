/* tcp: a byte through a TCP connection on the loopback, without Nagle's delay. */
#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "carriers/loopback.h"

static int connect_to(struct channel *c, int listening, const struct sockaddr_in *at)
{
	const int one = 1;
	struct sockaddr_in out;
	int error;

	c->out = loopback_socket(SOCK_STREAM, &out);
	if (c->out < 0 || listen(listening, 1))
		return errno;
	error = loopback_connect(c->out, at);
	if (error)
		return error;
	c->in = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	if (c->in < 0 || setsockopt(c->out, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
		return errno;
	return 0;
}

static int open_connection(struct channel *c)
{
	struct sockaddr_in at;
	const int listening = loopback_socket(SOCK_STREAM, &at);
	int error;

	if (listening < 0)
		return errno;
	error = connect_to(c, listening, &at);
	close(listening);
	return error;
}

const struct carrier carrier_tcp = {
	.name = "tcp",
	.summary = "a byte through a TCP connection on the loopback",
	.needs = "is the loopback up? `ip link set lo up`",
	.open = open_connection,
	.send = loopback_send,
	.wait = loopback_wait,
};
