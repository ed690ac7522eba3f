/* The late samples of one second of a lane that are sent one by one: of all that are offered, the largest. */
#ifndef RTPROBE_SPILL_H
#define RTPROBE_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spill_row {
	uint64_t k, missed;
	int64_t latency_ns;
	bool late; /* it counts as suppressed if there is no room for it */
};

struct spill {
	struct spill_row *row; /* a heap with the smallest latency at its root */
	size_t most, count;
	uint64_t suppressed; /* late ones without room */
};

int spill_open(struct spill *s, size_t most); /* 0, or -1 and errno */
/* Keeps it if there is room, or in the place of the smallest one if it is larger. */
void spill_offer(struct spill *s, const struct spill_row *row);
/* The rows in order of k. The next offer begins anew once the caller has set count and suppressed to 0. */
void spill_sort(struct spill *s);

#endif
