#include "carriers/loopback.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int loopback_socket(int type, struct sockaddr_in *at)
{
	socklen_t size = sizeof *at;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -1;
	memset(at, 0, sizeof *at);
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!bind(fd, (struct sockaddr *)at, sizeof *at) && !getsockname(fd, (struct sockaddr *)at, &size))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int loopback_connect(int fd, const struct sockaddr_in *to)
{
	return connect(fd, (const struct sockaddr *)to, sizeof *to) ? errno : 0;
}

void loopback_send(struct channel *c)
{
	send(c->out, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int loopback_wait(struct channel *c)
{
	char byte;

	return recv(c->in, &byte, 1, 0) < 0 ? errno : 0;
}
