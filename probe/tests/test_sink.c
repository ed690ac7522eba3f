/* Which samples are sent one by one: the largest of each second, down to a level that leaves no hole at the start. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/sink.h"
#include "tap.h"

enum { INTERVAL_NS = 1000000, A_SECOND = 1000, ROWS_MOST = 20000 };

static struct run run;
static struct lane lane;
static struct sink sink;
static struct emit out;

static struct {
	uint64_t k[ROWS_MOST], missed[ROWS_MOST], suppressed;
	int64_t latency_ns[ROWS_MOST];
	size_t count;
} sent;

static uint64_t get(const unsigned char *at, int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | at[bytes];
	return value;
}

static void take_frame(const unsigned char *body)
{
	uint64_t count = get(body + 8, 4);

	sent.suppressed += get(body, 8);
	for (uint64_t i = 0; i < count && sent.count < ROWS_MOST; i++, sent.count++) {
		const unsigned char *row = body + 16 + 24 * i;

		sent.k[sent.count] = get(row, 8);
		sent.latency_ns[sent.count] = (int64_t)get(row + 8, 8);
		sent.missed[sent.count] = get(row + 16, 8);
	}
}

/* Feeds `n` samples to a sink as the arguments say and reads back its SPILL frames. */
static void measure(const int64_t *latency_ns, uint64_t n, int64_t deadline_ns, uint64_t spill)
{
	FILE *file = tmpfile();
	uint64_t k = 0;
	static unsigned char data[FRAME_MAX + FRAME_HEADER];

	run = (struct run){ .lanes = &lane, .n_lanes = 1, .interval_ns = INTERVAL_NS, .deadline_ns = deadline_ns };
	memset(&lane, 0, sizeof lane);
	memset(&sent, 0, sizeof sent);
	lane.run = &run;
	if (!file || emit_open(&out, fileno(file), 0) || sink_open(&sink, &lane, &out, false, spill))
		abort();
	for (uint64_t i = 0; i < n; i++) {
		struct ring_slot slot = { .k = (uint32_t)k, .latency_ns = latency_ns[i] };

		sink_take(&sink, &slot);
		k += 1 + (uint64_t)latency_ns[i] / INTERVAL_NS;
	}
	sink_finish(&sink, &(struct lane_stats){ .count = n, .next_k = k });
	emit_close(&out);
	rewind(file);
	while (fread(data, 1, FRAME_HEADER, file) == FRAME_HEADER) {
		size_t length = get(data + 12, 4);

		if (fread(data + FRAME_HEADER, 1, length, file) != length)
			abort();
		if (data[5] == FRAME_SPILL)
			take_frame(data + FRAME_HEADER);
	}
	fclose(file);
	free(sink.spill.row);
	free(sink.block.latency);
	free(sink.block.mark);
	hist_close(&sink.hist);
}

static int64_t noise(uint64_t *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (int64_t)(*state >> 48);
}

/* The largest latency that is not among those sent: above it nothing is missing. */
static int64_t largest_unsent(const int64_t *latency_ns, uint64_t n)
{
	int64_t largest = -1;
	uint64_t k = 0;

	for (uint64_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < sent.count && sent.k[j] != k)
			j++;
		if (j == sent.count && latency_ns[i] > largest)
			largest = latency_ns[i];
		k += 1 + (uint64_t)latency_ns[i] / INTERVAL_NS;
	}
	return largest;
}

static void test_burst(void)
{
	static int64_t latency_ns[3 * A_SECOND];
	uint64_t n = 3 * A_SECOND, found = 0;

	for (uint64_t i = 0; i < n; i++)
		latency_ns[i] = 1000 + (int64_t)i % 7;
	for (int i = 0; i < 300; i++) /* a burst within the second second, the largest at its end */
		latency_ns[1200 + i] = 200000 + i;
	measure(latency_ns, n, 100000, 100);
	for (size_t i = 0; i < sent.count; i++)
		found += sent.latency_ns[i] >= 200200;
	OK(found == 100, "of a burst of 300 late ones the 100 largest are sent: %d", (int)found);
	OK(sent.suppressed == 200 && sink.suppressed == 200, "the others are counted: %d", (int)sent.suppressed);
	OK(largest_unsent(latency_ns, n) == 200199, "nothing above the largest unsent one is missing");
	OK(sink.spilled == sent.count, "END counts what was sent");
}

static void test_start(void)
{
	static int64_t latency_ns[6 * A_SECOND];
	uint64_t n = 6 * A_SECOND, state = 1;
	int64_t unsent;

	for (uint64_t i = 0; i < n; i++)
		latency_ns[i] = noise(&state);
	for (int i = 0; i < 20; i++) /* page faults at the start */
		latency_ns[i] = 900000 - i;
	measure(latency_ns, n, 0, 100);
	OK(sent.k[0] == 0 && sent.latency_ns[0] == 900000, "the first activations are kept too");
	unsent = largest_unsent(latency_ns, n);
	OK(unsent < 65000, "twenty large ones at the start do not hide the tail behind them: complete above %d", (int)unsent);
	OK(sent.count < 600, "and the stream stays small: %d of 6000", (int)sent.count);
}

static void test_deadline(void)
{
	static int64_t latency_ns[4 * A_SECOND];
	uint64_t n = 4 * A_SECOND, state = 7, below = 0;
	bool sorted = true;

	for (uint64_t i = 0; i < n; i++)
		latency_ns[i] = noise(&state);
	latency_ns[3500] = 3 * INTERVAL_NS + 5;
	measure(latency_ns, n, 100000000, 100);
	for (size_t i = 0; i < sent.count; i++) {
		below += sent.latency_ns[i] < 100000000 && sent.k[i] > A_SECOND;
		sorted = sorted && (!i || sent.k[i] > sent.k[i - 1]);
	}
	OK(below > 20, "with a deadline that nothing reaches the tail is sent all the same: %d", (int)below);
	OK(sorted, "in order of time");
	OK(largest_unsent(latency_ns, n) < 65535, "complete in the tail");
	measure(latency_ns, n, 1, 100);
	OK(sent.count == 403 && sent.suppressed == n - 403, "a deadline that all miss: the largest of every second, the rest counted");
	measure(latency_ns, n, 1, 0);
	OK(sent.count == 0 && sent.suppressed == n, "none, where none is asked for");
}

static void test_heap(void)
{
	struct spill s;
	uint64_t state = 3;
	int64_t all[500], least = INT64_MAX;
	size_t larger = 0;

	if (spill_open(&s, 64))
		abort();
	for (uint64_t i = 0; i < 500; i++) {
		all[i] = noise(&state) % 1000;
		spill_offer(&s, &(struct spill_row){ .k = i, .latency_ns = all[i], .late = i % 2 });
	}
	for (size_t i = 0; i < s.count; i++)
		least = s.row[i].latency_ns < least ? s.row[i].latency_ns : least;
	for (int i = 0; i < 500; i++)
		larger += all[i] > least;
	OK(s.count == 64 && larger < 64, "the largest are kept");
	spill_sort(&s);
	for (size_t i = 1; i < s.count; i++)
		larger += s.row[i].k <= s.row[i - 1].k || all[s.row[i].k] != s.row[i].latency_ns ? 1000 : 0;
	OK(larger < 64, "each with its place, in order of time");
	free(s.row);
}

int main(void)
{
	test_heap();
	test_burst();
	test_start();
	test_deadline();
	return tap_end();
}
