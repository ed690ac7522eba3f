#include "carriers/far.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/say.h"

enum { HOST = 260, TRIES = 10, TRY_MS = 100 };
#define TRIED UINT64_MAX /* no activation has this number */

static const uint8_t mark[8] = "rtecho1";

bool far_is_ours(const void *datagram, size_t size)
{
	return size == sizeof(struct far_datagram) && !memcmp(datagram, mark, sizeof mark);
}

/* HOST, HOST:PORT, [V6]:PORT, or a bare address of version 6. */
static bool split(const char *text, char host[HOST], const char **port)
{
	const char *end = strrchr(text, ':'), *bracket = strchr(text, ']');
	const bool bare = !end || (bracket ? end < bracket : strchr(text, ':') != end);
	const size_t length = bare ? strlen(text) : (size_t)(end - text);
	const bool quoted = *text == '[' && bracket == text + length - 1;

	*port = bare ? FAR_PORT : end + 1;
	snprintf(host, HOST, "%.*s", (int)(quoted ? length - 2 : length), quoted ? text + 1 : text);
	return length < HOST && *host && **port;
}

/* 0 for what is no address. Names are looked up by the host: a static program cannot do that on every board. */
static socklen_t read_address(const char *host, const char *port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	char *end;
	const unsigned long number = strtoul(port, &end, 10);

	memset(out, 0, sizeof *out);
	if (*end || number < 1 || number > 65535)
		return 0;
	if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)number);
		return sizeof *four;
	}
	if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)number);
		return sizeof *six;
	}
	return 0;
}

int far_connect(const char *to, int *fd)
{
	struct sockaddr_storage address;
	const char *port;
	char host[HOST];
	const socklen_t length = split(to, host, &port) ? read_address(host, port, &address) : 0;

	if (!length)
		return say_fail(EXIT_USAGE, "--far %s is no ADDRESS or ADDRESS:PORT (10.0.0.2:" FAR_PORT ", [fd00::2]:" FAR_PORT ")", to);
	*fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0 || connect(*fd, (const struct sockaddr *)&address, length))
		return say_fail(EXIT_BOARD, "--far %s cannot be reached: %s", to, strerror(errno));
	return EXIT_DONE;
}

void far_send(int fd, uint32_t run, uint32_t chain, uint64_t k)
{
	struct far_datagram out = {
		.run = htonl(run), .chain = htonl(chain), .high = htonl((uint32_t)(k >> 32)), .low = htonl((uint32_t)k)
	};

	memcpy(out.mark, mark, sizeof mark);
	send(fd, &out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int take(int fd, uint32_t run, uint32_t chain, uint64_t *k, int flags)
{
	struct far_datagram in;

	for (;;) {
		const ssize_t got = recv(fd, &in, sizeof in, flags);

		if (got < 0 && errno == ECONNREFUSED)
			continue; /* told of an earlier request: nobody listened then */
		if (got < 0)
			return errno;
		if (!far_is_ours(&in, (size_t)got) || ntohl(in.run) != run || ntohl(in.chain) != chain)
			continue;
		*k = (uint64_t)ntohl(in.high) << 32 | ntohl(in.low);
		return 0;
	}
}

int far_wait(int fd, uint32_t run, uint32_t chain, uint64_t *k)
{
	return take(fd, run, chain, k, 0);
}

int far_try(int fd, const char *to, uint32_t run, uint32_t chain)
{
	struct pollfd echo = { .fd = fd, .events = POLLIN };
	uint64_t k;

	for (int i = 0; i < TRIES; i++) {
		far_send(fd, run, chain, TRIED);
		if (poll(&echo, 1, TRY_MS) > 0 && !take(fd, run, chain, &k, MSG_DONTWAIT) && k == TRIED)
			return EXIT_DONE;
	}
	return say_fail(EXIT_BOARD, "--far %s sends nothing back: does `rtprobe echo` run there, and does no firewall drop its UDP port?",
			to);
}
