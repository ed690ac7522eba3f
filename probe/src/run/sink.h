/* Turns the samples of a lane into a histogram, one-second rollups, spill and blocks of the full stream (wire/STREAM.md). Only the writer
 * thread uses it. */
#ifndef RTPROBE_SINK_H
#define RTPROBE_SINK_H

#include "stream/emit.h"
#include "run/hist.h"
#include "run/lane.h"
#include "run/spill.h"

enum { SINK_BLOCK = 16384, SINK_MARKS = 1024, SINK_SPILL = 1024 };

struct sink {
	struct lane *lane;
	struct emit *emit;
	struct hist hist;
	bool keep_samples;
	bool traced;         /* the traced part has begun */
	uint64_t untraced_n; /* samples before it */

	uint64_t next_k, n, missed, dropped; /* so far */
	int64_t max_ns;

	struct { /* the second being filled */
		uint64_t number, end_k, n, missed, dropped, exceedances;
		int64_t min_ns, max_ns, sum_ns;
	} second;

	struct { /* SAMPLES */
		uint64_t first_k;
		uint32_t count, marks;
		unsigned char *latency, *mark;
	} block;

	int64_t late_above_ns, spill_above_ns; /* latencies above these are late; are offered to the spill */
	struct spill spill;                    /* of the second being filled */
	struct spill gaps; /* of lane->gaps: in a row k is the start, latency_ns the length */
	int64_t gaps_until_ns; /* end of the second being filled with them */
	uint64_t spilled, suppressed, gaps_kept; /* whole run */
	struct lane_stats last;       /* the counts given to sink_finish; END uses the same */
};

int sink_open(struct sink *s, struct lane *lane, struct emit *emit, bool keep_samples, uint64_t spill_per_second); /* 0 or -1 */
void sink_take(struct sink *s, const struct ring_slot *slot);
void sink_gaps(struct sink *s);                                     /* takes the gaps that wait now */
void sink_flush(struct sink *s);     /* pending SAMPLES to frames */
void sink_histogram(struct sink *s); /* counts since the last time to frames */
/* Without a level from the user: how late a wake-up must be for its trace to be kept. To be called again while the run goes on. */
void sink_set_level(struct sink *s);
/* Writes what is left: counts that never came through the ring, the open second, the histogram. */
void sink_finish(struct sink *s, const struct lane_stats *stats);

#endif
