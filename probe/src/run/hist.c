#include "run/hist.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t *open_dense(void)
{
	/* The kernel adds pages when they are touched: a lane that stays below 100 us costs 400 kB. */
	void *table = mmap(NULL, HIST_DENSE * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return table == MAP_FAILED ? NULL : table;
}

int hist_open(struct hist *h, bool deltas)
{
	memset(h, 0, sizeof *h);
	h->sparse_room = 1024;
	h->sparse = calloc(h->sparse_room, sizeof *h->sparse);
	h->dense = open_dense();
	if (deltas)
		h->dense_sent = open_dense();
	if (h->sparse && h->dense && (h->dense_sent || !deltas))
		return 0;
	hist_close(h);
	return -1;
}

void hist_close(struct hist *h)
{
	if (h->dense)
		munmap(h->dense, HIST_DENSE * sizeof *h->dense);
	if (h->dense_sent)
		munmap(h->dense_sent, HIST_DENSE * sizeof *h->dense_sent);
	free(h->carry);
	free(h->sparse);
	free(h->sorted);
	memset(h, 0, sizeof *h);
}

void hist_add_carry(struct hist *h, uint32_t value, uint32_t times)
{
	for (size_t i = 0; i < h->carries; i++)
		if (h->carry[i].value == value) {
			h->carry[i].times += times;
			return;
		}
	if (h->carries == h->carry_room) {
		size_t room = h->carry_room ? h->carry_room * 2 : 16;
		struct hist_carry *bigger = realloc(h->carry, room * sizeof *bigger);

		if (!bigger)
			abort(); /* 2^32 samples in one bin and no memory for 128 bytes: the count would be wrong */
		h->carry = bigger;
		h->carry_room = room;
	}
	h->carry[h->carries++] = (struct hist_carry){ value, times };
}

static uint64_t dense_count(const struct hist *h, uint32_t value)
{
	for (size_t i = 0; i < h->carries; i++)
		if (h->carry[i].value == value)
			return h->dense[value] + ((uint64_t)h->carry[i].times << 32);
	return h->dense[value];
}

/* --- the hash --- */

static struct hist_bin *find_bin(struct hist_bin *table, size_t room, int64_t lower_ns, uint32_t width_ns)
{
	uint64_t hash = ((uint64_t)lower_ns ^ (uint64_t)width_ns << 40) * UINT64_C(0x9E3779B97F4A7C15);
	size_t at = (size_t)(hash >> 32) & (room - 1);

	while (table[at].width_ns && (table[at].lower_ns != lower_ns || table[at].width_ns != width_ns))
		at = (at + 1) & (room - 1);
	return &table[at];
}

static bool grow_sparse(struct hist *h)
{
	size_t room = h->sparse_room * 2;
	struct hist_bin *bigger = calloc(room, sizeof *bigger);

	if (!bigger)
		return false;
	for (size_t i = 0; i < h->sparse_room; i++)
		if (h->sparse[i].width_ns)
			*find_bin(bigger, room, h->sparse[i].lower_ns, h->sparse[i].width_ns) = h->sparse[i];
	free(h->sparse);
	h->sparse = bigger;
	h->sparse_room = room;
	return true;
}

/* Rounds down to `digits` decimal digits and returns the width of the bin. */
static uint32_t coarse_width(int64_t ns, int digits)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, limit = 1;
	uint32_t width = 1;

	while (digits--)
		limit *= 10;
	while (size / width >= limit && width < 1000000000)
		width *= 10;
	return width;
}

static int64_t round_down(int64_t ns, uint32_t width)
{
	int64_t rest = ns % (int64_t)width;

	return ns - (rest < 0 ? rest + width : rest);
}

void hist_add_elsewhere(struct hist *h, int64_t ns, uint64_t count)
{
	struct hist_bin *bin = find_bin(h->sparse, h->sparse_room, ns, 1);

	h->total += count;
	h->below += ns < 0 ? count : 0;
	h->sorted_good = false;
	if (!bin->width_ns && h->sparse_used * 4 >= h->sparse_room * 3 && grow_sparse(h))
		bin = find_bin(h->sparse, h->sparse_room, ns, 1);
	for (int digits = 3; !bin->width_ns; digits--) {
		/* A new value: exact while there is room, else coarser; still coarser without memory. */
		size_t limit = digits == 3 && h->sparse_used < HIST_SPARSE_EXACT ? h->sparse_room * 3 / 4 : h->sparse_room - 1;
		bool exact = digits == 3 && h->sparse_used < HIST_SPARSE_EXACT && h->sparse_used < limit;
		uint32_t width = exact ? 1 : coarse_width(ns, digits > 0 ? digits : 1);
		int64_t lower = round_down(ns, width);

		bin = find_bin(h->sparse, h->sparse_room, lower, width);
		h->coarsened += exact ? 0 : count;
		if (bin->width_ns)
			break;
		bin->lower_ns = lower;
		bin->width_ns = width;
		h->sparse_used++;
	}
	bin->count += count;
}

void hist_add_many(struct hist *h, int64_t ns, uint64_t count)
{
	uint64_t sum;

	if ((uint64_t)ns >= HIST_DENSE) {
		hist_add_elsewhere(h, ns, count);
		return;
	}
	sum = h->dense[ns] + count;
	h->total += count;
	h->block[ns / HIST_BLOCK] += count;
	h->dense[ns] = (uint32_t)sum;
	if (sum >> 32)
		hist_add_carry(h, (uint32_t)ns, (uint32_t)(sum >> 32));
}

/* --- reading --- */

static int by_lower(const void *a, const void *b)
{
	const struct hist_bin *x = a, *y = b;

	if (x->lower_ns != y->lower_ns)
		return x->lower_ns < y->lower_ns ? -1 : 1;
	return (x->width_ns > y->width_ns) - (x->width_ns < y->width_ns);
}

static void sort_sparse(struct hist *h)
{
	struct hist_bin *bigger;

	if (h->sorted_good)
		return;
	h->sorted_used = 0;
	bigger = realloc(h->sorted, (h->sparse_used + 1) * sizeof *bigger);
	if (!bigger)
		abort();
	h->sorted = bigger;
	for (size_t i = 0; i < h->sparse_room; i++)
		if (h->sparse[i].width_ns)
			h->sorted[h->sorted_used++] = h->sparse[i];
	qsort(h->sorted, h->sorted_used, sizeof *h->sorted, by_lower);
	h->sorted_good = true;
}

static int64_t sparse_rank(struct hist *h, bool negative, uint64_t rank)
{
	int64_t value = 0;

	sort_sparse(h);
	for (size_t i = 0; i < h->sorted_used && rank; i++) {
		if ((h->sorted[i].lower_ns < 0) != negative)
			continue;
		value = h->sorted[i].lower_ns;
		rank -= rank < h->sorted[i].count ? rank : h->sorted[i].count;
	}
	return value;
}

int64_t hist_quantile(struct hist *h, uint64_t top, uint64_t bottom)
{
	/* ceil(total * top / bottom) in two steps, so that nothing overflows. */
	uint64_t rank = h->total / bottom * top + (h->total % bottom * top + bottom - 1) / bottom;

	if (!h->total)
		return 0;
	rank += !rank;
	if (rank <= h->below)
		return sparse_rank(h, true, rank);
	rank -= h->below;
	for (uint32_t b = 0; b < HIST_BLOCKS; rank -= h->block[b++]) {
		if (rank > h->block[b])
			continue;
		for (uint32_t value = b * HIST_BLOCK;; value++) {
			uint64_t count = h->carries ? dense_count(h, value) : h->dense[value];

			if (rank <= count)
				return value;
			rank -= count;
		}
	}
	return sparse_rank(h, false, rank);
}

static void visit_sparse(struct hist *h, bool negative, hist_visit *visit, void *to)
{
	for (size_t i = 0; i < h->sorted_used; i++) {
		struct hist_bin *bin = &h->sorted[i];

		if ((bin->lower_ns < 0) != negative || bin->count == bin->sent)
			continue;
		visit(to, bin->lower_ns, bin->width_ns, bin->count - bin->sent);
		if (h->dense_sent)
			find_bin(h->sparse, h->sparse_room, bin->lower_ns, bin->width_ns)->sent = bin->count;
	}
}

void hist_each(struct hist *h, hist_visit *visit, void *to)
{
	sort_sparse(h);
	visit_sparse(h, true, visit, to);
	for (uint32_t b = 0; b < HIST_BLOCKS; b++) {
		if (h->block[b] == h->block_sent[b])
			continue;
		for (uint32_t value = b * HIST_BLOCK; value < (b + 1) * HIST_BLOCK; value++) {
			/* The difference of the low halves is also right after a carry. */
			uint64_t count = h->dense_sent ? (uint32_t)(h->dense[value] - h->dense_sent[value]) : dense_count(h, value);

			if (count)
				visit(to, value, 1, count);
			if (h->dense_sent)
				h->dense_sent[value] = h->dense[value];
		}
		if (h->dense_sent)
			h->block_sent[b] = h->block[b];
	}
	visit_sparse(h, false, visit, to);
	h->sorted_good = false; /* `sent` has changed */
}
