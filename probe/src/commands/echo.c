/* echo: the far end of `response --by udp --far`. It sends each datagram of such a run back to where it came from, as it came, until its time is
 * over. Nothing else is answered, and nothing grows: an answer is as long as its request.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "carriers/far.h"
#include "commands/command.h"
#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"

#define S INT64_C(1000000000)
#define H (3600 * S)

static const char *const policies[] = { "fifo", "rr", "other", NULL };

static const struct option_spec options[] = {
	{ "port", 0, OPT_INTEGER, NULL, NULL, 1, 65535, FAR_PORT, false, "UDP port to listen on" },
	{ "duration", 0, OPT_DURATION, "ns", NULL, S, 87600 * H, NULL, true, "how long" },
	{ "cpus", 0, OPT_CPUS, NULL, NULL, 0, 0, NULL, false, "CPUs that it may run on (default: all)" },
	{ "policy", 0, OPT_CHOICE, NULL, policies, 0, 0, "fifo", false, "its scheduling policy" },
	{ "priority", 0, OPT_INTEGER, NULL, NULL, 1, 99, "90", false, "its real-time priority" },
	{ "fallback", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "if the policy is refused, run as an ordinary process" },
	{ 0 },
};

/* A socket of both versions of IP, or of version 4 where the kernel has no other. -1 and errno. */
static int listen_on(int port)
{
	const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	const int no = 0;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) && !bind(fd, (const struct sockaddr *)&six, sizeof six))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !bind(fd, (const struct sockaddr *)&four, sizeof four))
		return fd;
	close(fd);
	errno = EADDRINUSE;
	return -1;
}

static int take_policy(const struct plan *plan)
{
	static const int policy[] = { SCHED_FIFO, SCHED_RR, SCHED_OTHER };
	const int wanted = policy[plan_number(plan, "policy")];
	int error;

	if (plan_cpus(plan, "cpus") && (error = rt_pin(0, plan_cpus(plan, "cpus"))))
		return say_fail(EXIT_BOARD, "--cpus: %s", strerror(error));
	error = rt_set_policy(0, wanted, wanted == SCHED_OTHER ? 0 : (int)plan_number(plan, "priority"));
	if (error && !plan_flag(plan, "fallback"))
		return say_fail(EXIT_BOARD, "policy %s was refused: %s; it needs root, or --policy other", rt_policy_name(wanted),
				strerror(error));
	return EXIT_DONE;
}

static void send_back(int fd)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof from;
	char datagram[sizeof(struct far_datagram) + 1];
	const ssize_t got = recvfrom(fd, datagram, sizeof datagram, MSG_DONTWAIT, (struct sockaddr *)&from, &length);

	if (got > 0 && far_is_ours(datagram, (size_t)got))
		sendto(fd, datagram, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&from, length);
}

static int echo(const struct plan *plan)
{
	const int port = (int)plan_number(plan, "port"), fd = listen_on(port);
	const int64_t end_ns = mono_ns() + plan_number(plan, "duration");
	int code;

	if (fd < 0)
		return say_fail(EXIT_BOARD, "UDP port %d cannot be had: %s", port, strerror(errno));
	code = take_policy(plan);
	if (code)
		return code;
	mlockall(MCL_CURRENT | MCL_FUTURE);
	printf("listening on UDP port %d\n", port);
	fflush(stdout);
	for (int64_t now_ns = mono_ns(); now_ns < end_ns; now_ns = mono_ns()) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };

		if (poll(&wait, 1, (int)((end_ns - now_ns) / 1000000 < 1000 ? (end_ns - now_ns) / 1000000 + 1 : 1000)) > 0)
			send_back(fd);
	}
	return EXIT_DONE;
}

const struct command command_echo = {
	.name = "echo",
	.summary = "the far end of `response --by udp --far`: sends its datagrams back",
	.options = options,
	.run = echo,
};
