/* eventfd: a counter in the kernel that a read waits for and takes whole. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "carriers/carrier.h"

static int open_counter(struct channel *c)
{
	c->in = c->out = eventfd(0, EFD_CLOEXEC);
	return c->in < 0 ? errno : 0;
}

static void send_request(struct channel *c)
{
	const uint64_t one = 1;

	if (write(c->out, &one, sizeof one) < 0)
		return; /* the receiver counts the activation as late or missed */
}

static int wait_request(struct channel *c)
{
	uint64_t requests;

	return read(c->in, &requests, sizeof requests) < 0 ? errno : 0;
}

const struct carrier carrier_eventfd = {
	.name = "eventfd",
	.summary = "a write to an eventfd",
	.open = open_counter,
	.send = send_request,
	.wait = wait_request,
};
