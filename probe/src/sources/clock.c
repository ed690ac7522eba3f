/* @clock: the offsets of CLOCK_REALTIME and CLOCK_BOOTTIME to CLOCK_MONOTONIC, and the state of NTP: they show steps and suspends. */
#include <inttypes.h>
#include <sys/timex.h>
#include <time.h>

#include "os/clock.h"
#include "sources/source.h"

static void *clock_open(const char *argument, const struct source_place *place)
{
	(void)argument;
	return (void *)place; /* it has no state */
}

static ssize_t clock_read(void *state, char *to, size_t size, bool *more)
{
	struct lines line = { .at = to, .size = size };
	struct timex steering = { .modes = 0 };

	(void)state;
	(void)more;
	lines_add(&line, "%" PRId64 " %" PRId64, clock_offset_ns(CLOCK_REALTIME), clock_offset_ns(CLOCK_BOOTTIME));
	if (adjtimex(&steering) < 0)
		lines_add(&line, " - -\n");
	else
		lines_add(&line, " %d %lld\n", steering.status, (long long)steering.freq);
	return (ssize_t)line.used;
}

static void clock_close(void *state)
{
	(void)state;
}

const struct source source_clock = {
	.name = "@clock",
	.summary = "CLOCK_REALTIME and CLOCK_BOOTTIME against CLOCK_MONOTONIC, and adjtimex",
	.open = clock_open,
	.read = clock_read,
	.close = clock_close,
};
