/* Which hits are captured: the first of each second, as many as the limits allow, and beyond them the worst of its lane so far. */
#ifndef RTPROBE_CHOICE_H
#define RTPROBE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/pages.h"

/* Limits of one second over all lanes. Beyond CHOICE_LANES two lanes share what the worst so far was. */
enum { HITS_PER_SECOND = 50, BYTES_PER_SECOND = 8 << 20, CHOICE_LANES = 4096 };

struct choice {
	struct pending pending[PENDING_MOST]; /* chosen since the last choice_begin */
	int n;
	int64_t second_ns; /* the limits of the second that began then: */
	uint32_t second_hits;
	size_t second_bytes;
	int64_t worst_ns[CHOICE_LANES]; /* the longest hit of each lane so far, captured or not */
};

/* What was chosen before is done with. */
void choice_begin(struct choice *c);
/* Whether one more hit can be offered. */
bool choice_has_room(const struct choice *c);
/* Chooses the hit or leaves it out. Of several of a lane beyond the limits only the worst stays chosen. */
void choice_offer(struct choice *c, const struct hit *hit, int64_t now_ns);

#endif
