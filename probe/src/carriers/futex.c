/* futex: a counter in memory, and the kernel's wake-up of the thread that waits for it to change. */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "carriers/carrier.h"

static int open_word(struct channel *c)
{
	atomic_store(&c->word, 0);
	return 0;
}

static void send_request(struct channel *c)
{
	atomic_fetch_add_explicit(&c->word, 1, memory_order_release);
	syscall(SYS_futex, &c->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Takes all requests at once. */
static int wait_request(struct channel *c)
{
	if (atomic_exchange_explicit(&c->word, 0, memory_order_acquire))
		return 0;
	if (syscall(SYS_futex, &c->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) && errno != EAGAIN)
		return errno;
	atomic_store_explicit(&c->word, 0, memory_order_relaxed);
	return 0;
}

const struct carrier carrier_futex = {
	.name = "futex",
	.summary = "FUTEX_WAKE of a word in memory",
	.open = open_word,
	.send = send_request,
	.wait = wait_request,
};
