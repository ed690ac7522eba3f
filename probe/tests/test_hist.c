/* Histogram and quantiles against a sorted array; carry; coarsening; deltas. */
#include <stdlib.h>
#include <string.h>

#include "run/hist.h"
#include "tap.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int by_size(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct sums {
	uint64_t count, bins;
	int64_t last, weighted;
	int sorted;
};

static void sum(void *to, int64_t lower, uint32_t width, uint64_t count)
{
	struct sums *s = to;

	s->sorted &= s->bins == 0 || lower >= s->last;
	s->last = lower;
	s->count += count;
	s->weighted += lower * (int64_t)count;
	s->bins += width > 0 && count > 0;
}

/* Typical latencies: most in the dense part, some far out, a few negative. */
static int64_t some_latency(void)
{
	switch (next() % 20) {
	case 0:
		return (int64_t)(next() % 50000000);
	case 1:
		return -(int64_t)(next() % 3000);
	default:
		return (int64_t)(2000 + next() % 60000);
	}
}

static void test_quantiles(size_t n)
{
	static const uint64_t ladder[][2] = { { 0, 1 },    { 1, 100 },    { 1, 2 },        { 9, 10 },
					      { 99, 100 }, { 999, 1000 }, { 9999, 10000 }, { 1, 1 } };
	int64_t *values = malloc(n * sizeof *values), total = 0;
	struct sums s = { .sorted = 1 };
	struct hist h;

	hist_open(&h, false);
	for (size_t i = 0; i < n; i++) {
		values[i] = some_latency();
		total += values[i];
		hist_add(&h, values[i]);
	}
	qsort(values, n, sizeof *values, by_size);
	for (size_t q = 0; q < sizeof ladder / sizeof *ladder; q++) {
		size_t rank = (n * ladder[q][0] + ladder[q][1] - 1) / ladder[q][1];
		int64_t got = hist_quantile(&h, ladder[q][0], ladder[q][1]), want = values[rank ? rank - 1 : 0];

		OK(got == want, "n %zu, quantile %d/%d: %lld, sorted array says %lld", n, (int)ladder[q][0], (int)ladder[q][1],
		   (long long)got, (long long)want);
	}
	hist_each(&h, sum, &s);
	OK(s.count == n && s.weighted == total && s.sorted, "n %zu: bins are sorted, complete and exact", n);
	OK(h.coarsened == 0 && h.total == n, "nothing coarsened");
	hist_close(&h);
	free(values);
}

static void test_carry(void)
{
	struct sums s = { .sorted = 1 };
	struct hist h;

	hist_open(&h, false);
	hist_add_many(&h, 5000, UINT32_MAX);
	hist_add(&h, 5000); /* 2^32 */
	OK(h.dense[5000] == 0 && h.carries == 1, "the 32-bit count went round and was carried");
	hist_add(&h, 5000);
	hist_add_many(&h, 5000, (UINT64_C(3) << 32) + 7);
	hist_add_many(&h, 7000, 10);
	hist_each(&h, sum, &s);
	OK(s.count == (UINT64_C(4) << 32) + 8 + 10 && s.bins == 2, "counts beyond 2^32 come out whole: %llu", (unsigned long long)s.count);
	OK(hist_quantile(&h, 1, 2) == 5000 && hist_quantile(&h, 1, 1) == 7000, "quantiles see the carry");
	hist_close(&h);
}

static void test_coarsening(void)
{
	const uint64_t more = 100000;
	uint64_t n = 0;
	struct sums s = { .sorted = 1 };
	struct hist h;
	int64_t p50;

	hist_open(&h, false);
	for (uint64_t i = 0; i < HIST_SPARSE_EXACT + more; i++, n++)
		hist_add(&h, 10000000 + (int64_t)i * 1013);
	OK(h.coarsened == more, "values after the %d-th are coarsened, and said: %llu", HIST_SPARSE_EXACT, (unsigned long long)h.coarsened);
	OK(h.sparse_used < HIST_SPARSE_EXACT + 2000, "the table stays small: %zu", h.sparse_used);
	hist_add(&h, 10000000); /* known exactly: stays exact */
	OK(h.coarsened == more, "a value that has its own place keeps it");
	hist_each(&h, sum, &s);
	OK(s.count == n + 1 && s.sorted, "no count is lost");
	p50 = hist_quantile(&h, 1, 2);
	OK(p50 <= 10000000 + (int64_t)(n / 2) * 1013 && p50 > (10000000 + (int64_t)(n / 2) * 1013) / 100 * 99,
	   "the median is off by less than a bin of three digits: %lld", (long long)p50);
	hist_add(&h, -123456789);
	OK(hist_quantile(&h, 0, 1) <= -123456789 && hist_quantile(&h, 0, 1) > -123456789 - 1000000,
	   "negative values are rounded down, too: %lld", (long long)hist_quantile(&h, 0, 1));
	hist_close(&h);
}

static void test_deltas(void)
{
	struct sums s = { .sorted = 1 }, t = { .sorted = 1 }, u = { .sorted = 1 };
	struct hist h;

	hist_open(&h, true);
	hist_add_many(&h, 1000, UINT32_MAX - 2);
	hist_add(&h, 5000000);
	hist_each(&h, sum, &s);
	for (int i = 0; i < 10; i++)
		hist_add(&h, 1000); /* over the carry */
	hist_add(&h, 5000000);
	hist_add(&h, -7);
	hist_each(&h, sum, &t);
	hist_each(&h, sum, &u);
	OK(s.count == (uint64_t)UINT32_MAX - 2 + 1, "the first part: %llu", (unsigned long long)s.count);
	OK(t.count == 12 && t.bins == 3, "then what came since: %llu", (unsigned long long)t.count);
	OK(u.bins == 0, "then nothing");
	OK(hist_quantile(&h, 1, 2) == 1000 && h.total == (uint64_t)UINT32_MAX - 2 + 13, "quantiles are of the whole run");
	hist_close(&h);
}

int main(void)
{
	struct hist h;

	hist_open(&h, false);
	OK(hist_quantile(&h, 1, 2) == 0, "an empty histogram has no quantile");
	hist_add(&h, HIST_DENSE - 1);
	hist_add(&h, HIST_DENSE);
	OK(hist_quantile(&h, 1, 2) == HIST_DENSE - 1 && hist_quantile(&h, 1, 1) == HIST_DENSE, "both sides of the border");
	hist_close(&h);
	test_quantiles(1);
	test_quantiles(7);
	test_quantiles(1000);
	test_quantiles(200000);
	test_carry();
	test_coarsening();
	test_deltas();
	return tap_end();
}
