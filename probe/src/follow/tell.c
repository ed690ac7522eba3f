#include "follow/tell.h"

#include <stdio.h>
#include <time.h>

#include "os/clock.h"
#include "os/rt.h"
#include "stream/facts.h"

enum { SECOND_BYTES = 120, MARK_BYTES = 16, MARK_WIDE = 3, LANE_NAME = 40 };
static const int64_t second_ns = 1000000000;
static const char measure[] = "application-wake-up";

static void lane_fields(struct json *j, const struct roster *r, int lane)
{
	const struct followed *f = r->list[lane];
	const struct obtained obtained = rt_look(f->wakeups.tid);
	char name[LANE_NAME];

	snprintf(name, sizeof name, "%s-%d", f->name, f->wakeups.tid);
	json_int(j, "lane", lane);
	json_string(j, "name", name);
	json_null(j, "cpu");
	json_string(j, "measure", measure);
	json_int(j, "tid", f->wakeups.tid);
	json_int(j, "pid", f->pid);
	json_obtained(j, "obtained", &obtained);
}

void tell_lanes(struct json *j, const struct roster *r)
{
	json_array(j, "lanes");
	for (int i = 0; i < r->n; i++) {
		json_object(j, NULL);
		lane_fields(j, r, i);
		json_end_object(j);
	}
	json_end_array(j);
}

void tell_lane(struct emit *e, const struct roster *r, int lane)
{
	struct json j;

	json_open(&j);
	json_object(&j, NULL);
	json_string(&j, "event", "lane");
	json_int(&j, "mono_ns", mono_ns());
	lane_fields(&j, r, lane);
	json_end_object(&j);
	emit_json(e, FRAME_EVENT, (uint16_t)lane, &j);
}

/* --- SAMPLES --- */

static void send_block(struct emit *e, struct followed *f, int lane)
{
	const size_t length = 16 + 4 * (size_t)f->block.count;
	unsigned char *at;

	if (!f->block.count)
		return;
	at = emit_begin(e, FRAME_SAMPLES, (uint16_t)lane, length);
	put_u64(at, f->block.first_k);
	put_u32(at + 8, f->block.count);
	put_u32(at + 12, 0);
	for (uint32_t i = 0; i < f->block.count; i++)
		put_u32(at + 16 + 4 * i, f->block.latency_ns[i]);
	emit_commit(e, length);
	f->block.first_k += f->block.count;
	f->block.count = 0;
}

/* A delay that 32 bits do not hold has a frame of its own. */
static void send_wide(struct emit *e, struct followed *f, int lane, int64_t ns)
{
	unsigned char *at = emit_begin(e, FRAME_SAMPLES, (uint16_t)lane, 20 + MARK_BYTES);

	put_u64(at, f->block.first_k++);
	put_u32(at + 8, 1);
	put_u32(at + 12, 1);
	put_u32(at + 16, UINT32_MAX);
	put_u32(at + 20, 0);
	put_u32(at + 24, MARK_WIDE);
	put_u64(at + 28, (uint64_t)ns);
	emit_commit(e, 20 + MARK_BYTES);
}

static void add_sample(struct emit *e, struct followed *f, int lane, int64_t ns)
{
	if (ns >= (int64_t)UINT32_MAX) {
		send_block(e, f, lane);
		send_wide(e, f, lane, ns);
		return;
	}
	f->block.latency_ns[f->block.count++] = (uint32_t)ns;
	if (f->block.count == BLOCK_SAMPLES)
		send_block(e, f, lane);
}

/* --- SECOND --- */

static void send_second(struct emit *e, struct followed *f, int lane)
{
	const struct wakeups *w = &f->wakeups;
	unsigned char *at;

	if (!f->second.n)
		return;
	at = emit_begin(e, FRAME_SECOND, (uint16_t)lane, SECOND_BYTES);
	{
		const uint64_t values[] = {
			(uint64_t)f->second.number,
			f->second.n,
			0,
			0,
			0,
			(uint64_t)f->second.min_ns,
			(uint64_t)f->second.max_ns,
			(uint64_t)f->second.sum_ns,
			w->n,
			(uint64_t)w->max_ns,
			(uint64_t)wakeups_quantile(w, 1, 2),
			(uint64_t)wakeups_quantile(w, 99, 100),
			(uint64_t)wakeups_quantile(w, 999, 1000),
			(uint64_t)wakeups_quantile(w, 9999, 10000),
			(uint64_t)clock_offset_ns(CLOCK_REALTIME),
		};

		for (size_t i = 0; i < sizeof values / sizeof *values; i++)
			put_u64(at + 8 * i, values[i]);
	}
	emit_commit(e, SECOND_BYTES);
	f->second.n = 0;
}

void tell_wakeup(struct emit *e, struct followed *f, int lane, const struct wakeup *found, int64_t origin_ns)
{
	const int64_t ns = found->ran_ns - found->woken_ns;
	const int64_t number = found->ran_ns > origin_ns ? (found->ran_ns - origin_ns) / second_ns : 0;

	if (f->second.n && f->second.number != number)
		send_second(e, f, lane);
	f->second.number = number;
	f->second.min_ns = !f->second.n || ns < f->second.min_ns ? ns : f->second.min_ns;
	f->second.max_ns = !f->second.n || ns > f->second.max_ns ? ns : f->second.max_ns;
	f->second.sum_ns = f->second.n ? f->second.sum_ns + ns : ns;
	f->second.n++;
	add_sample(e, f, lane, ns);
}

void tell_second(struct emit *e, struct roster *r, int64_t now_ns, int64_t origin_ns)
{
	for (int i = 0; i < r->n; i++) {
		struct followed *f = r->list[i];

		send_block(e, f, i);
		if ((f->second.number + 1) * second_ns + origin_ns <= now_ns)
			send_second(e, f, i);
	}
}

/* --- END --- */

static void number_or_null(struct json *j, const char *key, int64_t value, bool known)
{
	if (known)
		json_int(j, key, value);
	else
		json_null(j, key);
}

void tell_accounts(struct json *j, const struct roster *r, bool whole, int64_t closed_ns)
{
	json_array(j, "lanes");
	for (int i = 0; i < r->n; i++) {
		const struct followed *f = r->list[i];
		const struct wakeups *w = &f->wakeups;

		json_object(j, NULL);
		json_int(j, "lane", i);
		number_or_null(j, "due", (int64_t)w->n, whole);
		json_uint(j, "n", w->n);
		json_int(j, "missed", 0);
		number_or_null(j, "dropped", 0, whole);
		json_int(j, "truncated", 0);
		number_or_null(j, "min_ns", w->min_ns, w->n > 0);
		number_or_null(j, "max_ns", w->max_ns, w->n > 0);
		json_int(j, "sum_ns", w->sum_ns);
		json_int(j, "closed_ns", closed_ns);
		json_string(j, "state", f->gone ? "gone" : "ended");
		json_uint(j, "ran_ns", f->last.ran_ns - f->at_first.ran_ns);
		json_uint(j, "waited_ns", f->last.waited_ns - f->at_first.waited_ns);
		json_uint(j, "turns", f->last.turns - f->at_first.turns);
		json_uint(j, "minor_faults", f->last.minor_faults - f->at_first.minor_faults);
		json_uint(j, "major_faults", f->last.major_faults - f->at_first.major_faults);
		json_end_object(j);
	}
	json_end_array(j);
}
