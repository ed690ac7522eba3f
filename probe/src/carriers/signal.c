/* signal: a real-time signal to the thread, which waits for it in sigwaitinfo. */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "carriers/carrier.h"

static int number(void)
{
	return SIGRTMIN + 4; /* the C library and the run have those below */
}

static int block_signal(struct channel *c)
{
	sigset_t set;

	(void)c;
	sigemptyset(&set);
	sigaddset(&set, number());
	return sigprocmask(SIG_BLOCK, &set, NULL) ? errno : 0; /* the lanes inherit it */
}

static void send_request(struct channel *c)
{
	syscall(SYS_tgkill, getpid(), *c->receiver, number());
}

static int wait_request(struct channel *c)
{
	sigset_t set;

	(void)c;
	sigemptyset(&set);
	sigaddset(&set, number());
	return sigwaitinfo(&set, NULL) < 0 ? errno : 0;
}

const struct carrier carrier_signal = {
	.name = "signal",
	.summary = "a real-time signal to a thread in sigwaitinfo",
	.open = block_signal,
	.send = send_request,
	.wait = wait_request,
};
