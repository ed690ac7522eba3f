/* @clock: how CLOCK_REALTIME and CLOCK_BOOTTIME stand to CLOCK_MONOTONIC, and what steers them: steps, suspends, NTP. */
#include <inttypes.h>
#include <sys/timex.h>
#include <time.h>

#include "../facts.h"
#include "source.h"

enum { TRIES = 5 };

static void *clock_open(const char *argument, const struct source_place *place)
{
	(void)argument;
	return (void *)place;	/* it keeps nothing */
}

/* Clock minus CLOCK_MONOTONIC, from the try in which the two were read closest together: we may be preempted between them. */
static int64_t offset_ns(clockid_t id)
{
	int64_t best = INT64_MAX, offset = 0;

	for (int i = 0; i < TRIES; i++) {
		struct timespec t;
		int64_t before = mono_ns(), after;

		if (clock_gettime(id, &t))
			return 0;
		after = mono_ns();
		if (after - before < best) {
			best = after - before;
			offset = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (before + best / 2);
		}
	}
	return offset;
}

static ssize_t clock_read(void *state, char *to, size_t size, bool *more)
{
	struct lines line = {.at = to, .size = size};
	struct timex steering = {.modes = 0};

	(void)state;
	(void)more;
	lines_add(&line, "%" PRId64 " %" PRId64, offset_ns(CLOCK_REALTIME), offset_ns(CLOCK_BOOTTIME));
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

const struct source_kind source_clock = {
	.name = "@clock",
	.summary = "CLOCK_REALTIME and CLOCK_BOOTTIME against CLOCK_MONOTONIC, and adjtimex",
	.open = clock_open,
	.read = clock_read,
	.close = clock_close,
};
