/* rtprobe-lite: the measurement and its lines (wire/CONSOLE.md). C99; no allocation, no printf, no floating point. */
#include "rtlane.h"
#include "rtline.h"
#include "rtlite.h"

#include <stddef.h>
#include <string.h>

struct rtl_lane rtl_lanes[RTL_LANES];
struct rtl_plan rtl_plan;
volatile int rtl_stop;

static void sink_down(struct rtl_lane *l)
{
	const struct worst moved = l->worst[0];
	int at = 0;

	for (int child = 1; child < l->kept; child = 2 * at + 1) {
		if (child + 1 < l->kept && l->worst[child + 1].latency_ns < l->worst[child].latency_ns)
			child++;
		if (moved.latency_ns <= l->worst[child].latency_ns)
			break;
		l->worst[at] = l->worst[child];
		at = child;
	}
	l->worst[at] = moved;
}

static void keep(struct rtl_lane *l, struct worst one)
{
	int at = l->kept;

	if (at == WORST) {
		if (one.latency_ns > l->worst[0].latency_ns) {
			l->worst[0] = one;
			sink_down(l);
		}
		return;
	}
	l->kept++;
	for (; at && l->worst[(at - 1) / 2].latency_ns > one.latency_ns; at = (at - 1) / 2)
		l->worst[at] = l->worst[(at - 1) / 2];
	l->worst[at] = one;
}

static void count(struct rtl_lane *l, int64_t late_ns)
{
	const int64_t dense_ns = DENSE * rtl_plan.bin_ns;
	int64_t octave_ns = dense_ns;
	int octave = 0;

	if (late_ns < dense_ns) {
		l->dense[(uint32_t)late_ns / (uint32_t)rtl_plan.bin_ns]++;
		return;
	}
	while (octave < OCTAVES - 1 && late_ns >= 2 * octave_ns) {
		octave_ns *= 2;
		octave++;
	}
	late_ns = (late_ns - octave_ns) / (octave_ns / EIGHTHS);
	l->above[octave * EIGHTHS + (late_ns < EIGHTHS ? (int)late_ns : EIGHTHS - 1)]++;
}

static void add(struct rtl_lane *l, int64_t late_ns)
{
	const int64_t left = rtl_plan.count - 1 - l->next_k;
	int64_t missed = late_ns < rtl_plan.interval_ns ? 0 : late_ns / rtl_plan.interval_ns;

	if (missed > left) { /* the end of the run cuts what this one missed */
		missed = left;
		l->clip_ns = late_ns;
		l->clip_missed = (uint32_t)left;
	}
	keep(l, (struct worst){ late_ns, l->next_k, (uint32_t)missed });
	count(l, late_ns);
	l->min_ns = late_ns < l->min_ns ? late_ns : l->min_ns;
	l->max_ns = late_ns > l->max_ns ? late_ns : l->max_ns;
	l->sum_ns += late_ns;
	l->n++;
	l->missed += (uint32_t)missed;
	l->exceedances += rtl_plan.deadline_ns && late_ns >= rtl_plan.deadline_ns;
	l->next_k += 1 + (uint32_t)missed;
	l->beat_n = l->n;
	l->beat_missed = l->missed;
	l->beat_max_us = (uint32_t)(l->max_ns / 1000);
}

void rtl_lane_measure(void *argument)
{
	struct rtl_lane *l = argument;
	int refused = 0;

	while (l->next_k < rtl_plan.count && refused < REFUSED && !rtl_stop) {
		const int64_t due_ns = l->first_due_ns + (int64_t)l->next_k * rtl_plan.interval_ns;
		const int error = rtl_sleep_until_ns(due_ns);
		const int64_t late_ns = rtl_now_ns() - due_ns;

		l->errors += error != 0;
		l->early += late_ns < 0;
		refused = late_ns < 0 ? refused + 1 : 0;
		if (late_ns >= 0)
			add(l, late_ns);
	}
	l->ended = 1;
	for (int i = 0; i < rtl_plan.lanes; i++)
		if (!rtl_lanes[i].ended && rtl_lanes[i].priority >= 0)
			return;
	rtl_load_stop();
}

/* The report. */
static void tell_bins(const struct rtl_lane *l, const uint32_t *counts, int n, int64_t lower_ns, int64_t width_ns)
{
	int on_line = 0;

	for (int i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		if (!on_line) {
			rtl_line_begin("H");
			rtl_line_field("lane", l->index);
			rtl_line_field("width_ns", width_ns);
		}
		rtl_line_text(" ");
		rtl_line_number(lower_ns + i * width_ns);
		rtl_line_text(":");
		rtl_line_number(counts[i]);
		if (++on_line == 4) {
			rtl_line_end();
			on_line = 0;
		}
	}
	if (on_line)
		rtl_line_end();
}

void rtl_lane_tell(const struct rtl_lane *l)
{
	int64_t octave_ns = DENSE * rtl_plan.bin_ns;

	tell_bins(l, l->dense, DENSE, 0, rtl_plan.bin_ns);
	for (int octave = 0; octave < OCTAVES; octave++, octave_ns *= 2)
		tell_bins(l, l->above + octave * EIGHTHS, EIGHTHS, octave_ns, octave_ns / EIGHTHS);
	for (int i = 0; i < l->kept; i++) {
		rtl_line_begin("W");
		rtl_line_field("lane", l->index);
		rtl_line_field("k", l->worst[i].k);
		rtl_line_field("latency_ns", l->worst[i].latency_ns);
		rtl_line_field("missed", l->worst[i].missed);
		rtl_line_end();
	}
	rtl_line_begin("LANE");
	rtl_line_field("lane", l->index);
	rtl_line_field("due", rtl_stop ? l->next_k : rtl_plan.count);
	rtl_line_field("n", l->n);
	rtl_line_field("missed", l->missed);
	rtl_line_field("exceedances", l->exceedances);
	rtl_line_field("early", l->early);
	rtl_line_field("errors", l->errors);
	rtl_line_end();
	rtl_line_begin("RANGE");
	rtl_line_field("lane", l->index);
	rtl_line_field("min_ns", l->n ? l->min_ns : 0);
	rtl_line_field("max_ns", l->max_ns);
	rtl_line_field("sum_ns", l->sum_ns);
	rtl_line_end();
	if (l->clip_ns) {
		rtl_line_begin("CLIP");
		rtl_line_field("lane", l->index);
		rtl_line_field("latency_ns", l->clip_ns);
		rtl_line_field("missed", l->clip_missed);
		rtl_line_end();
	}
}
