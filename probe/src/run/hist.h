/* The exact histogram of one lane, in nanoseconds: a dense table below 2^20 ns, a hash for everything else.
 *
 * Dense counts are 32 bit with a list of carries. Two levels (1024 blocks of 1024 ns) make a quantile two walks of at most 1024
 * steps. The hash holds HIST_SPARSE_EXACT single values; after that new values are rounded down to three digits and counted in
 * `coarsened`. One thread only.
 */
#ifndef RTPROBE_HIST_H
#define RTPROBE_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HIST_DENSE = 1 << 20, HIST_BLOCK = 1024, HIST_BLOCKS = HIST_DENSE / HIST_BLOCK, HIST_SPARSE_EXACT = 65536 };

struct hist_bin {
	int64_t lower_ns;
	uint32_t width_ns; /* 0: an empty slot of the hash */
	uint64_t count, sent;
};

struct hist_carry {
	uint32_t value;
	uint32_t times; /* of 2^32 */
};

struct hist {
	uint32_t *dense;
	uint32_t *dense_sent; /* NULL unless deltas are sent while the run goes on */
	uint64_t block[HIST_BLOCKS], block_sent[HIST_BLOCKS];
	struct hist_carry *carry;
	size_t carries, carry_room;
	struct hist_bin *sparse; /* open addressing */
	size_t sparse_used, sparse_room;
	struct hist_bin *sorted; /* cache for quantiles beyond the dense part */
	size_t sorted_used;
	bool sorted_good;
	uint64_t total, below, coarsened;
};

/* 0, or -1 and errno. With `deltas`, hist_each may be called again and again. */
int hist_open(struct hist *h, bool deltas);
void hist_close(struct hist *h);

void hist_add_elsewhere(struct hist *h, int64_t ns, uint64_t count);
void hist_add_carry(struct hist *h, uint32_t value, uint32_t times);
void hist_add_many(struct hist *h, int64_t ns, uint64_t count);

static inline void hist_add(struct hist *h, int64_t ns)
{
	if ((uint64_t)ns >= HIST_DENSE) { /* negative values too */
		hist_add_elsewhere(h, ns, 1);
		return;
	}
	h->total++;
	h->block[ns / HIST_BLOCK]++;
	if (++h->dense[ns] == 0)
		hist_add_carry(h, (uint32_t)ns, 1);
}

/* Nearest rank: the ceil(n * top / bottom)-th smallest, a coarsened bin by its lower edge. 0 when empty. */
int64_t hist_quantile(struct hist *h, uint64_t top, uint64_t bottom);

/* Every bin with a count since the last call (all of them without `deltas`), sorted by lower_ns. */
typedef void hist_visit(void *to, int64_t lower_ns, uint32_t width_ns, uint64_t count);
void hist_each(struct hist *h, hist_visit *visit, void *to);

#endif
