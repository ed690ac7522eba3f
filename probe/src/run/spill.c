#include "run/spill.h"

#include <stdlib.h>

int spill_open(struct spill *s, size_t most)
{
	*s = (struct spill){ .most = most, .row = malloc((most ? most : 1) * sizeof *s->row) };
	return s->row ? 0 : -1;
}

static void rise(struct spill *s, size_t at, struct spill_row row)
{
	while (at && s->row[(at - 1) / 2].latency_ns > row.latency_ns) {
		s->row[at] = s->row[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	s->row[at] = row;
}

static void sink_down(struct spill *s, struct spill_row row)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < s->count && s->row[child + 1].latency_ns < s->row[child].latency_ns)
			child++;
		if (child >= s->count || s->row[child].latency_ns >= row.latency_ns)
			break;
		s->row[at] = s->row[child];
		at = child;
	}
	s->row[at] = row;
}

void spill_offer(struct spill *s, const struct spill_row *row)
{
	if (s->count < s->most) {
		rise(s, s->count++, *row);
		return;
	}
	if (!s->count || row->latency_ns <= s->row[0].latency_ns) {
		s->suppressed += row->late;
		return;
	}
	s->suppressed += s->row[0].late;
	sink_down(s, *row);
}

static int by_k(const void *a, const void *b)
{
	const struct spill_row *x = a, *y = b;

	return (x->k > y->k) - (x->k < y->k);
}

void spill_sort(struct spill *s)
{
	qsort(s->row, s->count, sizeof *s->row, by_k);
}
