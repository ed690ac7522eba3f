#include "run/sink.h"

#include <stdlib.h>
#include <string.h>

#include "os/clock.h"

enum {
	MARK_MISSED = 1,
	MARK_DROPPED = 2,
	MARK_WIDE = 3,
	MARK_BYTES = 16,
	SPILL_BYTES = 24,
	GAP_BYTES = 16,
	BIN_BYTES = 24,
	BINS_PER_FRAME = 32768
};
/* From so many samples on the lane has a p99.9. The spill level leaves at least SPILL_LEAST of them above it. */
enum { SPILL_WARM_UP = 1000, SPILL_LEAST = 100 };
#define BEFORE_BLOCK UINT32_MAX

static void second_ends(struct sink *s)
{
	/* first k of the second after this one: ceil((end - first_due) / interval) */
	const struct run *run = s->lane->run;
	int64_t end = run->origin_ns + (int64_t)(s->second.number + 1) * 1000000000 - s->lane->first_due_ns;

	s->second.end_k = end <= 0 ? 0 : ((uint64_t)end + (uint64_t)run->interval_ns - 1) / (uint64_t)run->interval_ns;
}

int sink_open(struct sink *s, struct lane *lane, struct emit *emit, bool keep_samples, uint64_t spill_per_second)
{
	const uint64_t in_a_second = 1000000000 / (uint64_t)lane->run->interval_ns + 2;

	memset(s, 0, sizeof *s);
	s->lane = lane;
	s->emit = emit;
	s->keep_samples = keep_samples;
	s->max_ns = INT64_MIN;
	s->late_above_ns = lane->run->deadline_ns ? lane->run->deadline_ns - 1 : INT64_MAX;
	s->spill_above_ns = INT64_MIN;
	s->block.latency = malloc((size_t)SINK_BLOCK * 4);
	s->block.mark = malloc((size_t)SINK_MARKS * MARK_BYTES);
	if (lane->gaps && spill_open(&s->gaps, spill_per_second))
		return -1;
	return spill_open(&s->spill, spill_per_second < in_a_second ? spill_per_second : in_a_second) || !s->block.latency ||
			       !s->block.mark || hist_open(&s->hist, !keep_samples || lane->run->trace)
		       ? -1
		       : 0;
}

/* --- the full stream --- */

static void flush_block(struct sink *s)
{
	size_t samples = (size_t)s->block.count * 4, marks = (size_t)s->block.marks * MARK_BYTES;
	unsigned char *at;

	if (!s->block.count && !s->block.marks)
		return;
	at = emit_begin(s->emit, FRAME_SAMPLES, (uint16_t)s->lane->index, 16 + samples + marks);
	put_u64(at, s->block.first_k);
	put_u32(at + 8, s->block.count);
	put_u32(at + 12, s->block.marks);
	memcpy(at + 16, s->block.latency, samples);
	memcpy(at + 16 + samples, s->block.mark, marks);
	emit_commit(s->emit, 16 + samples + marks);
	s->block.count = s->block.marks = 0;
}

static void add_mark(struct sink *s, uint32_t pos, unsigned kind, int64_t value)
{
	unsigned char *at = s->block.mark + (size_t)s->block.marks++ * MARK_BYTES;

	put_u32(at, pos);
	put_u32(at + 4, kind);
	put_u64(at + 8, (uint64_t)value);
}

/* The gap before activation k stands after the last sample of the open block, or before the first sample of a new block. */
static void add_gap(struct sink *s, uint64_t k, uint64_t missed, uint64_t dropped)
{
	uint32_t pos = s->block.count ? s->block.count - 1 : BEFORE_BLOCK;

	if (!s->keep_samples)
		return;
	if (!s->block.count)
		s->block.first_k = k;
	if (missed)
		add_mark(s, pos, MARK_MISSED, (int64_t)missed);
	if (dropped)
		add_mark(s, pos, MARK_DROPPED, (int64_t)dropped);
}

static void add_sample(struct sink *s, uint64_t k, int64_t latency_ns, uint64_t missed)
{
	bool wide = latency_ns < 0 || latency_ns >= (int64_t)UINT32_MAX;

	if (!s->block.count)
		s->block.first_k = k;
	put_u32(s->block.latency + (size_t)s->block.count * 4, wide ? UINT32_MAX : (uint32_t)latency_ns);
	if (wide)
		add_mark(s, s->block.count, MARK_WIDE, latency_ns);
	if (missed)
		add_mark(s, s->block.count, MARK_MISSED, (int64_t)missed);
	s->block.count++;
	if (s->block.count == SINK_BLOCK || s->block.marks > SINK_MARKS - 4) /* a gap and a sample add 4 marks at most */
		flush_block(s);
}

/* --- spill --- */

static void put_spill(unsigned char *at, const struct spill_row *row, size_t count)
{
	for (size_t i = 0; i < count; i++, at += SPILL_BYTES) {
		put_u64(at, row[i].k);
		put_u64(at + 8, (uint64_t)row[i].latency_ns);
		put_u64(at + 16, row[i].missed);
	}
}

/* The spill of the second that ends. */
static void flush_spill(struct sink *s)
{
	struct spill *spill = &s->spill;

	spill_sort(spill);
	s->spilled += spill->count;
	s->suppressed += spill->suppressed;
	for (size_t from = 0; from < spill->count || spill->suppressed;) {
		size_t count = spill->count - from < SINK_SPILL ? spill->count - from : SINK_SPILL;
		unsigned char *at = emit_begin(s->emit, FRAME_SPILL, (uint16_t)s->lane->index, 16 + count * SPILL_BYTES);

		put_u64(at, spill->suppressed);
		put_u32(at + 8, (uint32_t)count);
		put_u32(at + 12, 0);
		put_spill(at + 16, spill->row + from, count);
		emit_commit(s->emit, 16 + count * SPILL_BYTES);
		from += count;
		spill->suppressed = 0;
	}
	spill->count = 0;
}

/* Late is what reaches the deadline or lies above the lane's p99.9. The level of the spill is lower at first: a few large samples at the
 * start of a run would else hide the smaller ones behind them. */
static void update_spill_level(struct sink *s)
{
	int64_t deadline_ns = s->lane->run->deadline_ns, tail_ns;

	if (s->n < SPILL_WARM_UP)
		return;
	tail_ns = hist_quantile(&s->hist, 999, 1000);
	s->late_above_ns = deadline_ns && deadline_ns - 1 < tail_ns ? deadline_ns - 1 : tail_ns;
	if (s->n < SPILL_LEAST * UINT64_C(1000))
		tail_ns = hist_quantile(&s->hist, s->n - SPILL_LEAST, s->n);
	s->spill_above_ns = tail_ns < s->late_above_ns ? tail_ns : s->late_above_ns;
}

/* --- gaps --- */

static void flush_gaps(struct sink *s)
{
	struct spill *gaps = &s->gaps;
	const size_t most = (FRAME_MAX - 16) / GAP_BYTES;

	if (!s->lane->gaps)
		return;
	spill_sort(gaps);
	for (size_t from = 0; from < gaps->count || gaps->suppressed;) {
		const size_t count = gaps->count - from < most ? gaps->count - from : most;
		unsigned char *at = emit_begin(s->emit, FRAME_GAPS, (uint16_t)s->lane->index, 16 + count * GAP_BYTES);

		put_u64(at, gaps->suppressed);
		put_u32(at + 8, (uint32_t)count);
		put_u32(at + 12, 0);
		for (size_t i = 0; i < count; i++) {
			put_u64(at + 16 + i * GAP_BYTES, gaps->row[from + i].k);
			put_u64(at + 24 + i * GAP_BYTES, (uint64_t)gaps->row[from + i].latency_ns);
		}
		emit_commit(s->emit, 16 + count * GAP_BYTES);
		s->gaps_kept += count;
		from += count;
		gaps->suppressed = 0;
	}
	gaps->count = 0;
}

void sink_gaps(struct sink *s)
{
	struct gap gap;

	while (s->lane->gaps && gaps_take(s->lane->gaps, &gap)) {
		if (gap.start_ns >= s->gaps_until_ns) {
			flush_gaps(s);
			s->gaps_until_ns = gap.start_ns + 1000000000;
		}
		spill_offer(&s->gaps, &(struct spill_row){ (uint64_t)gap.start_ns, 0, gap.length_ns, true });
	}
}

/* --- rollups --- */

void sink_set_level(struct sink *s)
{
	const struct run *run = s->lane->run;
	int64_t level_ns;

	if (!atomic_load_explicit(&run->tracing, memory_order_acquire) || run->trace_above_ns || s->lane->on_the_way)
		return;
	level_ns = 4 * hist_quantile(&s->hist, 999, 1000);
	if (level_ns <= 0)
		return; /* no sample yet */
	atomic_store_explicit(&s->lane->hits.level_ns, (uint32_t)(level_ns < HITS_OFF ? level_ns : HITS_OFF - 1), memory_order_relaxed);
}

static void emit_second(struct sink *s)
{
	unsigned char *at = emit_begin(s->emit, FRAME_SECOND, (uint16_t)s->lane->index, 15 * 8);
	const uint64_t value[15] = {
		s->second.number,
		s->second.n,
		s->second.missed,
		s->second.dropped,
		s->second.exceedances,
		(uint64_t)s->second.min_ns,
		(uint64_t)s->second.max_ns,
		(uint64_t)s->second.sum_ns,
		s->n,
		(uint64_t)(s->n ? s->max_ns : 0),
		(uint64_t)hist_quantile(&s->hist, 1, 2),
		(uint64_t)hist_quantile(&s->hist, 99, 100),
		(uint64_t)hist_quantile(&s->hist, 999, 1000),
		(uint64_t)hist_quantile(&s->hist, 9999, 10000),
		(uint64_t)clock_offset_ns(CLOCK_REALTIME),
	};

	for (int i = 0; i < 15; i++)
		put_u64(at + 8 * i, value[i]);
	emit_commit(s->emit, 15 * 8);
	update_spill_level(s);
	sink_set_level(s);
}

static void next_second(struct sink *s)
{
	uint64_t number = s->second.number + 1;

	emit_second(s);
	flush_spill(s);
	memset(&s->second, 0, sizeof s->second);
	s->second.number = number;
	second_ends(s);
}

/* Missed activations belong to the seconds they were due in. */
static void roll_missed(struct sink *s, uint64_t k, uint64_t missed)
{
	s->missed += missed;
	while (missed) {
		uint64_t here;

		while (k >= s->second.end_k)
			next_second(s);
		here = s->second.end_k - k < missed ? s->second.end_k - k : missed;
		s->second.missed += here;
		k += here;
		missed -= here;
	}
}

static void roll_sample(struct sink *s, int64_t latency_ns)
{
	if (!s->second.n || latency_ns < s->second.min_ns)
		s->second.min_ns = latency_ns;
	if (!s->second.n || latency_ns > s->second.max_ns)
		s->second.max_ns = latency_ns;
	s->second.n++;
	s->second.sum_ns += latency_ns;
	if (latency_ns > s->max_ns)
		s->max_ns = latency_ns;
}

static uint64_t missed_after(const struct sink *s, uint64_t k, int64_t latency_ns)
{
	const struct lane *lane = s->lane;

	if (lane->windows || latency_ns < lane->run->interval_ns)
		return 0;
	if (atomic_load_explicit(&lane->clipped, memory_order_acquire) && lane->clip_k == k)
		return lane->clip_missed;
	return (uint64_t)latency_ns / (uint64_t)lane->run->interval_ns;
}

/* --- one sample --- */

static void take_gap(struct sink *s, uint64_t k, uint64_t dropped)
{
	uint64_t gap = k - s->next_k, missed = gap > dropped ? gap - dropped : 0;

	add_gap(s, k, missed, dropped);
	roll_missed(s, s->next_k, missed);
	while (k >= s->second.end_k)
		next_second(s);
	s->second.dropped += dropped;
	s->dropped += dropped;
}

/* The histogram of the untraced part is complete. */
static void begin_traced(struct sink *s)
{
	sink_histogram(s);
	s->traced = true;
	s->untraced_n = s->n;
}

void sink_take(struct sink *s, const struct ring_slot *slot)
{
	const uint64_t k = s->next_k + (uint32_t)(slot->k - (uint32_t)s->next_k);
	const uint32_t dropped = slot->dropped - (uint32_t)s->dropped;
	const int64_t latency = slot->latency_ns;
	const struct run *run = s->lane->run;
	const uint64_t missed = missed_after(s, k, latency);

	if (!s->second.end_k)
		second_ends(s); /* at the first sample: only now is the origin known */
	if (k != s->next_k)
		take_gap(s, k, dropped);
	while (k >= s->second.end_k)
		next_second(s);
	if (run->trace && !s->traced && k >= s->lane->traced_k)
		begin_traced(s);
	s->n++;
	hist_add(&s->hist, latency);
	roll_sample(s, latency);
	s->second.exceedances += run->deadline_ns && latency >= run->deadline_ns;
	if (s->keep_samples)
		add_sample(s, k, latency, missed);
	if (latency > s->spill_above_ns || missed)
		spill_offer(&s->spill, &(struct spill_row){ k, missed, latency, latency > s->late_above_ns || missed });
	if (s->n == SPILL_WARM_UP)
		update_spill_level(s);
	s->next_k = k + 1;
	if (missed)
		roll_missed(s, s->next_k, missed);
	s->next_k += missed;
}

void sink_flush(struct sink *s)
{
	flush_block(s);
}

/* --- histogram frames --- */

struct bins {
	struct sink *sink;
	unsigned char *at;
	uint32_t count;
};

static void end_bins(struct bins *b)
{
	if (!b->count)
		return;
	put_u32(b->at, b->count);
	put_u32(b->at + 4, b->sink->traced);
	emit_commit(b->sink->emit, 8 + (size_t)b->count * BIN_BYTES);
	b->count = 0;
}

static void visit_bin(void *to, int64_t lower_ns, uint32_t width_ns, uint64_t count)
{
	struct bins *b = to;
	unsigned char *at;

	if (!b->count)
		b->at = emit_begin(b->sink->emit, FRAME_HISTOGRAM, (uint16_t)b->sink->lane->index, 8 + (size_t)BINS_PER_FRAME * BIN_BYTES);
	at = b->at + 8 + (size_t)b->count++ * BIN_BYTES;
	put_u64(at, (uint64_t)lower_ns);
	put_u32(at + 8, width_ns);
	put_u32(at + 12, 0);
	put_u64(at + 16, count);
	if (b->count == BINS_PER_FRAME)
		end_bins(b);
}

void sink_histogram(struct sink *s)
{
	struct bins bins = { s, NULL, 0 };

	hist_each(&s->hist, visit_bin, &bins);
	end_bins(&bins);
}

void sink_finish(struct sink *s, const struct lane_stats *stats)
{
	/* Samples that were dropped after the last one in the ring, and activations that those missed. */
	uint64_t dropped = stats->count - s->n - s->dropped, gap = stats->next_k - s->next_k;

	s->last = *stats;
	if (!s->second.end_k)
		second_ends(s);
	if (stats->next_k > s->next_k) {
		uint64_t missed = gap > dropped ? gap - dropped : 0;

		add_gap(s, stats->next_k, missed, dropped);
		roll_missed(s, s->next_k, missed);
		s->second.dropped += dropped;
		s->dropped += dropped;
		s->next_k = stats->next_k;
	}
	sink_flush(s);
	flush_spill(s);
	sink_gaps(s);
	flush_gaps(s);
	if (s->second.n || s->second.missed || s->second.dropped)
		emit_second(s);
	sink_histogram(s);
}
