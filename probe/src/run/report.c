/* FACTS, EVENT and END of a measurement (wire/STREAM.md). */
#include <stdio.h>
#include <string.h>

#include "run/method.h"
#include "run/session.h"
#include "stream/facts.h"

static void int_or_null(struct json *j, const char *key, int64_t value, bool known)
{
	if (known)
		json_int(j, key, value);
	else
		json_null(j, key);
}

static void requested(struct json *j, const struct session *s)
{
	const struct run *run = &s->run;
	int64_t dma = plan_number(s->plan, "dma-latency");

	json_object(j, "requested");
	json_string(j, "policy", rt_policy_name(run->policy));
	json_int(j, "priority", run->priority);
	json_int(j, "interval_ns", run->interval_ns);
	int_or_null(j, "duration_ns", run->duration_ns, run->duration_ns > 0);
	int_or_null(j, "count", (int64_t)run->count, run->count > 0);
	int_or_null(j, "deadline_ns", run->deadline_ns, run->deadline_ns > 0);
	json_bool(j, "aligned", run->aligned);
	json_bool(j, "mlock", s->mlock_wanted);
	int_or_null(j, "dma_latency_us", dma, dma >= 0);
	int_or_null(j, "break_above_ns", run->break_ns, run->break_ns > 0);
	if (plan_number(s->plan, "trace-above") < 0)
		json_string(j, "trace_above_ns", "auto");
	else
		int_or_null(j, "trace_above_ns", plan_number(s->plan, "trace-above"), plan_set(s->plan, "trace-above"));
	json_bool(j, "trace_stacks", run->trace_stacks);
	json_bool(j, "samples", s->writer.keep_samples);
	json_cpus(j, "cpus", &s->measured);
	json_end_object(j);
}

/* The method's own settings: durations in ns and whole numbers as numbers, anything else as it was typed. */
static void settings_facts(struct json *j, const struct session *s)
{
	json_object(j, "settings");
	for (const struct option_spec *o = s->run.method->settings; o && o->name; o++) {
		const bool number = o->type == OPT_DURATION || o->type == OPT_INTEGER;

		if (o->type == OPT_FLAG)
			json_bool(j, o->name, plan_flag(s->plan, o->name));
		else if (number && plan_set(s->plan, o->name) && plan_number(s->plan, o->name) >= 0)
			json_int(j, o->name, plan_number(s->plan, o->name));
		else
			json_string(j, o->name, plan_text(s->plan, o->name));
	}
	json_end_object(j);
}

static void lanes_facts(struct json *j, const struct session *s)
{
	json_array(j, "lanes");
	for (int i = 0; i < s->run.n_lanes; i++) {
		const struct lane *lane = &s->run.lanes[i];
		struct obtained got = rt_look(lane_measured(lane));

		json_object(j, NULL);
		json_int(j, "lane", lane->index);
		int_or_null(j, "cpu", lane->cpu, s->run.policy != POLICY_DEADLINE);
		if (lane->name)
			json_string(j, "name", lane->name);
		json_string(j, "measure", lane->measure ? lane->measure : s->run.measure);
		json_int(j, "tid", lane_measured(lane));
		json_int(j, "first_due_ns", lane->first_due_ns);
		json_obtained(j, "obtained", &got);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_facts(struct session *s)
{
	struct json j;

	facts_begin(&j, s->plan);
	requested(&j, s);
	settings_facts(&j, s);
	json_int(&j, "origin_ns", s->run.origin_ns);
	int_or_null(&j, "planned_end_ns", s->run.planned_end_ns, s->run.planned_end_ns > 0);
	json_int(&j, "interval_ns", s->run.interval_ns);
	json_object(&j, "clock");
	json_string(&j, "id", "monotonic");
	json_int(&j, "getres_ns", s->clock.getres_ns);
	json_int(&j, "step_ns", s->clock.step_ns);
	json_int(&j, "read_cost_ns", s->clock.read_cost_ns);
	json_end_object(&j);
	json_int(&j, "timer_slack_ns", s->timer_slack_ns);
	int_or_null(&j, "dma_latency_us", s->dma_latency_us, s->dma_latency_us >= 0);
	json_string(&j, "dma_latency_error", *s->dma_error ? s->dma_error : NULL);
	json_bool(&j, "mlocked", s->mlocked);
	json_string(&j, "mlock_error", *s->mlock_error ? s->mlock_error : NULL);
	json_uint(&j, "ring_samples", s->ring_samples);
	json_int(&j, "spill_per_second", s->spill_per_second);
	json_string(&j, "fallback", *s->fallback ? s->fallback : NULL);
	json_object(&j, "writer");
	json_int(&j, "tid", s->writer.tid);
	json_string(&j, "policy", rt_policy_name(s->writer.obtained.policy));
	json_int(&j, "priority", s->writer.obtained.priority);
	json_cpus(&j, "affinity", &s->writer.obtained.affinity);
	json_int(&j, "batch_ns", s->writer.batch_ns);
	json_end_object(&j);
	json_object(&j, "main");
	json_int(&j, "tid", s->main_tid);
	json_string(&j, "policy", rt_policy_name(s->main_obtained.policy));
	json_int(&j, "priority", s->main_obtained.priority);
	json_cpus(&j, "affinity", &s->main_obtained.affinity);
	json_end_object(&j);
	lanes_facts(&j, s);
	json_end_object(&j);
	emit_json(&s->writer.emit, FRAME_FACTS, LANE_NONE, &j);
}

static void event_begin(struct json *j, const char *name, int lane, int64_t at_ns)
{
	json_open(j);
	json_object(j, NULL);
	json_string(j, "event", name);
	json_int(j, "mono_ns", at_ns);
	if (lane >= 0)
		json_int(j, "lane", lane);
}

static void event_end(struct session *s, struct json *j, int lane)
{
	json_end_object(j);
	emit_json(&s->writer.emit, FRAME_EVENT, lane >= 0 ? (uint16_t)lane : LANE_NONE, j);
}

void report_event(struct session *s, const char *name, int lane, int64_t at_ns)
{
	struct json j;

	event_begin(&j, name, lane, at_ns);
	event_end(s, &j, lane);
}

void report_signal(struct session *s, int number, int64_t at_ns)
{
	struct json j;

	event_begin(&j, "signal", -1, at_ns);
	json_int(&j, "number", number);
	event_end(s, &j, -1);
}

void report_moved(struct session *s, int lane)
{
	struct json j;

	event_begin(&j, "lane_moved", lane, s->moved[lane].at_ns);
	json_cpus(&j, "to", &s->moved[lane].to);
	event_end(s, &j, lane);
}

void report_break(struct session *s, const char *trace, const char *trace_error)
{
	const struct run *run = &s->run;
	struct json j;

	event_begin(&j, "break", run->break_lane, run->break_at_ns);
	json_uint(&j, "k", run->break_k);
	json_int(&j, "latency_ns", run->break_latency_ns);
	json_int(&j, "threshold_ns", run->break_ns);
	json_string(&j, "trace", trace);
	json_string(&j, "trace_error", trace_error);
	event_end(s, &j, run->break_lane);
}

static void count_since(struct json *j, const char *key, int64_t now, int64_t start)
{
	int_or_null(j, key, now - start, now >= 0 && start >= 0);
}

/* The account of the samples before the traced part. A lane that never reached that was untraced throughout. */
static void untraced_part(struct json *j, const struct session *s, int i, uint64_t due)
{
	const struct lane *lane = &s->run.lanes[i];
	const struct sink *sink = &s->writer.sinks[i];
	const bool split = atomic_load_explicit(&lane->was_traced, memory_order_acquire);
	const struct lane_stats *stats = split ? &lane->untraced : &sink->last;
	const uint64_t n = sink->traced ? sink->untraced_n : sink->n;

	due = split ? stats->next_k : due;
	json_object(j, "untraced");
	json_uint(j, "due", due);
	json_uint(j, "n", n);
	json_uint(j, "missed", stats->missed);
	json_uint(j, "dropped", stats->count - n);
	json_uint(j, "truncated", due > stats->next_k ? due - stats->next_k : 0);
	json_uint(j, "exceedances", stats->exceedances);
	int_or_null(j, "min_ns", stats->min_ns, stats->count > 0);
	int_or_null(j, "max_ns", stats->max_ns, stats->count > 0);
	json_int(j, "sum_ns", stats->sum_ns);
	json_end_object(j);
}

/* Its thread writes nothing any more. */
static bool lane_is_over(const struct lane *lane)
{
	const int state = atomic_load(&lane->state);

	return state == LANE_ENDED || state == LANE_LEFT;
}

/* Counts of the programs that a lane started. A counter that was refused has no counts, and says why. */
static void counters_end(struct json *j, const struct counters *counters)
{
	json_array(j, "counters");
	for (int i = 0; i < COUNTERS; i++) {
		const struct counter *c = &counters->each[i];

		json_object(j, NULL);
		json_string(j, "name", counter_name(i));
		json_string(j, "error", c->fd < 0 ? counter_refusal(c->refused) : NULL);
		json_bool(j, "user_only", c->user_only);
		json_uint(j, "jobs", c->jobs);
		json_uint(j, "estimated", c->estimated);
		int_or_null(j, "sum", (int64_t)c->sum, c->jobs > 0);
		int_or_null(j, "min", (int64_t)c->min, c->jobs > 0);
		int_or_null(j, "max", (int64_t)c->max, c->jobs > 0);
		int_or_null(j, "free_ns", counters->free_ns, c->fd >= 0);
		json_end_object(j);
	}
	json_end_array(j);
}

static void lane_end(struct json *j, const struct session *s, int i)
{
	const struct lane *lane = &s->run.lanes[i];
	const struct sink *sink = &s->writer.sinks[i];
	const struct lane_stats *stats = &sink->last;
	const int64_t closed = lane_closed_ns(lane, stats);
	const uint64_t due = lane_due(lane, closed);
	const int state = atomic_load(&lane->state);
	const struct task_counts now = rt_counts(lane_measured(lane));
	const struct task_counts *start = lane->taken_by ? &lane->taken_by->counts_at_start : &lane->counts_at_start;
	const struct moved *moved = &s->moved[i];
	const struct obtained got = rt_look(lane_measured(lane));
	const int64_t cpu_ns = rt_cpu_ns(lane_measured(lane));

	json_object(j, NULL);
	json_int(j, "lane", i);
	json_uint(j, "due", due);
	json_int(j, "first_due_ns", lane->first_due_ns);
	int_or_null(j, "last_due_ns", lane->first_due_ns + (int64_t)(due - 1) * s->run.interval_ns, due > 0);
	json_int(j, "closed_ns", closed);
	json_uint(j, "n", sink->n);
	json_uint(j, "missed", stats->missed);
	/* Counted by the lane, but not in the stream: the ring was full, or the lane was abandoned. */
	json_uint(j, "dropped", stats->count - sink->n);
	json_uint(j, "truncated", due > stats->next_k ? due - stats->next_k : 0);
	json_uint(j, "exceedances", stats->exceedances);
	int_or_null(j, "min_ns", stats->min_ns, stats->count > 0);
	int_or_null(j, "max_ns", stats->max_ns, stats->count > 0);
	json_int(j, "sum_ns", stats->sum_ns);
	if (atomic_load_explicit(&lane->clipped, memory_order_acquire)) {
		json_object(j, "clip");
		json_int(j, "latency_ns", lane->clip_latency_ns);
		json_uint(j, "missed", lane->clip_missed);
		json_end_object(j);
	} else {
		json_null(j, "clip");
	}
	if (plan_set(s->plan, "trace-above"))
		untraced_part(j, s, i, due);
	json_uint(j, "spilled", sink->spilled);
	json_uint(j, "suppressed", sink->suppressed);
	if (lane->gaps) {
		json_uint(j, "gaps", atomic_load(&lane->gaps->found));
		json_uint(j, "gaps_kept", sink->gaps_kept);
	}
	if (lane->counters && lane_is_over(lane->taken_by ? lane->taken_by : lane))
		counters_end(j, lane->counters);
	json_uint(j, "coarsened", sink->hist.coarsened);
	json_uint(j, "clock_steps", atomic_load(&lane->clock_steps));
	json_string(j, "state", state != LANE_ENDED && state != LANE_LEFT ? "abandoned" : moved->at_ns ? "moved" : "ended");
	json_obtained(j, "obtained", &got);
	count_since(j, "migrations", moved->at_ns ? moved->migrations : now.migrations, start->migrations);
	count_since(j, "minor_faults", now.minor_faults, start->minor_faults);
	count_since(j, "major_faults", now.major_faults, start->major_faults);
	count_since(j, "voluntary_switches", now.voluntary_switches, start->voluntary_switches);
	count_since(j, "involuntary_switches", now.involuntary_switches, start->involuntary_switches);
	int_or_null(j, "cpu_ns", cpu_ns, cpu_ns >= 0);
	json_end_object(j);
}

static void trace_end(struct json *j, const struct session *s)
{
	const struct capture *c = &s->capture;
	const char *error = *c->error ? c->error : NULL;
	uint64_t hits = c->hits;

	if (!plan_set(s->plan, "trace-above")) {
		json_null(j, "trace");
		return;
	}
	if (c->ready && !s->capture_done)
		error = "the thread that keeps the trace did not end in time";
	for (int i = 0; i < s->run.n_lanes; i++)
		hits += atomic_load(&s->run.lanes[i].hits.refused);
	json_object(j, "trace");
	json_uint(j, "hits", hits);
	json_uint(j, "captured", c->captured);
	json_uint(j, "not_captured", hits - c->captured);
	json_uint(j, "beyond_limit", c->beyond_limit);
	json_uint(j, "pages", c->sent_pages);
	json_uint(j, "bytes", c->sent_bytes);
	json_uint(j, "lost_pages", c->lost_pages);
	json_int(j, "cpu_ns", c->cpu_ns);
	json_string(j, "error", error);
	json_end_object(j);
}

void report_end(struct session *s, const char *reason, int exit_code)
{
	const struct writer *w = &s->writer;
	struct json j;

	end_begin(&j, reason, exit_code);
	json_array(&j, "lanes");
	for (int i = 0; i < s->run.n_lanes; i++)
		lane_end(&j, s, i);
	json_end_array(&j);
	json_object(&j, "writer");
	json_int(&j, "cpu_ns", w->cpu_ns);
	json_object(&j, "cpu_ns_by_cpu");
	for (int cpu = 0; cpu < WRITER_CPUS; cpu++) {
		char name[12];

		snprintf(name, sizeof name, "%d", cpu);
		if (w->cpu_ns_by_cpu[cpu])
			json_int(&j, name, w->cpu_ns_by_cpu[cpu]);
	}
	json_end_object(&j);
	json_uint(&j, "max_ring_fill", w->max_ring_fill);
	json_uint(&j, "writes", w->emit.writes);
	json_uint(&j, "bytes", w->emit.bytes);
	json_uint(&j, "write_errors", w->emit.write_errors);
	json_string(&j, "write_error", w->emit.error ? strerror(w->emit.error) : NULL);
	json_end_object(&j);
	int_or_null(&j, "overruns", (int64_t)s->overruns, s->run.policy == POLICY_DEADLINE);
	json_object(&j, "main");
	json_int(&j, "cpu_ns", rt_cpu_ns(s->main_tid) - s->main_cpu_start_ns);
	json_end_object(&j);
	trace_end(&j, s);
	json_end_object(&j);
	emit_json(&s->writer.emit, FRAME_END, LANE_NONE, &j);
}
