#include "run/choice.h"

#include <string.h>

void choice_begin(struct choice *c)
{
	c->n = 0;
}

bool choice_has_room(const struct choice *c)
{
	return c->n < PENDING_MOST;
}

static bool within_limits(struct choice *c, int64_t now_ns)
{
	if (now_ns - c->second_ns >= 1000000000) {
		c->second_ns = now_ns;
		c->second_hits = 0;
		c->second_bytes = 0;
	}
	return c->second_hits < HITS_PER_SECOND && c->second_bytes < BYTES_PER_SECOND;
}

/* Longer than all of its lane before it. */
static bool is_worst(struct choice *c, const struct hit *hit)
{
	int64_t *worst_ns = &c->worst_ns[hit->lane % CHOICE_LANES];
	const int64_t length_ns = hit->woke_ns - hit->due_ns;

	if (length_ns <= *worst_ns)
		return false;
	*worst_ns = length_ns;
	return true;
}

/* Leaves out the one beyond the limits that is not the worst of its lane any more. */
static void drop_beyond(struct choice *c, int32_t lane)
{
	for (int i = 0; i < c->n; i++)
		if (c->pending[i].beyond && c->pending[i].hit.lane == lane) {
			c->n--;
			memmove(&c->pending[i], &c->pending[i + 1], (size_t)(c->n - i) * sizeof *c->pending);
			return;
		}
}

void choice_offer(struct choice *c, const struct hit *hit, int64_t now_ns)
{
	const bool worst = is_worst(c, hit), within = within_limits(c, now_ns);

	if (!within && !worst)
		return;
	if (within)
		c->second_hits++;
	else
		drop_beyond(c, hit->lane);
	c->pending[c->n++] = (struct pending){ .hit = *hit, .beyond = !within };
}
