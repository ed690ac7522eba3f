/*
 * rtprobe follow: how long threads of the user's own programs wait from their waking until they run, and the kernel's trace around the late
 * ones. No thread of ours is measured, and nothing is changed in the programs. A small trace instance tells each wake-up of these threads;
 * the large one of run/capture.h holds what else happened, and is read only after a late one.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "follow/roster.h"
#include "follow/selected.h"
#include "follow/tell.h"
#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "os/tracefs.h"
#include "run/capture.h"
#include "run/loop.h"
#include "stream/facts.h"

static const int64_t tick_ns = 10000000, look_ns = 1000000000, flush_ns = 250000000, patience_ns = 10000000000;
enum { RING_KB = 4096, STREAM_ROOM = 1 << 20 };

struct follow {
	const struct plan *plan;
	struct loop loop;
	struct emit emit;
	struct roster roster;
	struct selected selected;
	struct capture capture;
	struct run run; /* for the capture: one lane a CPU, whose hits are late wake-ups on it */
	struct cpus online;
	int place[MAX_CPUS]; /* CPU -> its lane in run */
	int told;            /* lanes that the stream names */
	int64_t above_ns;    /* 0: by each thread's own wake-ups */
	int64_t origin_ns, end_ns;
	bool tracing, capture_done;
	char error[CAPTURE_ERROR]; /* why nothing is traced */
};

/* --- before it begins --- */

static int choose_threads(struct follow *f)
{
	const char *comm = plan_text(f->plan, "comm");
	const pid_t pid = (pid_t)plan_number(f->plan, "pid");

	if (plan_set(f->plan, "pid") == (comm != NULL))
		return say_fail(EXIT_USAGE, "give --pid PID or --comm NAME, one of the two");
	if (roster_open(&f->roster, pid, comm))
		return say_fail(EXIT_BOARD, "no memory");
	if (roster_scan(&f->roster))
		return 0;
	if (comm)
		return say_fail(EXIT_USAGE, "no process and no thread is named '%s'; `ps -eLo pid,tid,comm` lists the names",
				f->roster.comm);
	return say_fail(EXIT_USAGE, "there is no process %d; `ps -e` lists them", (int)pid);
}

/* One lane a CPU, all that are online: a thread may go anywhere. */
static int make_places(struct follow *f)
{
	struct lane *lanes;
	size_t bytes;

	if (cpus_file("/sys/devices/system/cpu/online", &f->online) && cpus_allowed(&f->online))
		return say_fail(EXIT_BOARD, "this board does not tell which CPUs are online");
	bytes = (size_t)cpus_count(&f->online) * sizeof *lanes;
	lanes = aligned_alloc(_Alignof(struct lane), bytes);
	if (!lanes)
		return say_fail(EXIT_BOARD, "no memory");
	memset(lanes, 0, bytes);
	for (int cpu = cpus_next(&f->online, -1); cpu >= 0; cpu = cpus_next(&f->online, cpu)) {
		const int i = f->run.n_lanes++;

		f->place[cpu] = i;
		lanes[i] = (struct lane){ .run = &f->run, .index = i, .cpu = cpu };
	}
	f->run.lanes = lanes;
	return 0;
}

/* It must not keep a followed thread waiting: real-time only where all of them are, and then below them. */
static int own_priority(const struct follow *f)
{
	for (int i = 0; i < f->roster.n; i++) {
		const struct obtained got = rt_look(f->roster.list[i]->wakeups.tid);

		if (got.known && !(rt_is_real_time_policy(got.policy) && (got.policy == SCHED_DEADLINE || got.priority > 1)))
			return 0;
	}
	return 1;
}

/* CPUs on which no followed thread may run; all where there is none. */
static struct cpus own_cpus(const struct follow *f)
{
	struct cpus apart = f->online;

	for (int i = 0; i < f->roster.n; i++) {
		const struct obtained got = rt_look(f->roster.list[i]->wakeups.tid);

		for (size_t word = 0; got.known && word < sizeof apart.bits / sizeof *apart.bits; word++)
			apart.bits[word] &= ~got.affinity.bits[word];
	}
	return cpus_count(&apart) ? apart : f->online;
}

static void prepare_trace(struct follow *f)
{
	const char *why, *root = tracefs_find(tracefs_roots, &why);
	const int priority = own_priority(f);

	f->run.trace_above_ns = f->above_ns;
	f->run.policy = priority ? SCHED_FIFO : SCHED_OTHER;
	f->run.priority = priority + 1; /* its thread takes the one below */
	f->capture.buffer_kb = RING_KB;
	capture_prepare(&f->capture, &f->run, tracefs_roots);
	if (!f->capture.ready || !root) {
		snprintf(f->error, sizeof f->error, "%s", f->capture.error);
		return;
	}
	if (selected_prepare(&f->selected, root, &f->online)) {
		snprintf(f->error, sizeof f->error, "%s", f->selected.error);
		selected_remove(&f->selected);
		capture_remove(&f->capture);
		f->capture.ready = false;
	}
}

/* --- frames --- */

static void number_or_null(struct json *j, const char *key, int64_t number, bool known)
{
	if (known)
		json_int(j, key, number);
	else
		json_null(j, key);
}

static void send_facts(struct follow *f)
{
	struct json j;

	f->origin_ns = mono_ns();
	facts_begin(&j, f->plan);
	json_object(&j, "requested");
	number_or_null(&j, "pid", f->roster.pid, f->roster.pid != 0);
	json_string(&j, "comm", f->roster.pid ? NULL : f->roster.comm);
	number_or_null(&j, "above_ns", f->above_ns, f->above_ns != 0);
	json_int(&j, "duration_ns", plan_number(f->plan, "duration"));
	json_cpus(&j, "cpus", &f->online);
	json_end_object(&j);
	json_int(&j, "origin_ns", f->origin_ns);
	tell_lanes(&j, &f->roster);
	json_end_object(&j);
	emit_json(&f->emit, FRAME_FACTS, LANE_NONE, &j);
	f->told = f->roster.n;
}

static void send_trace_end(struct follow *f, struct json *j)
{
	const struct capture *c = &f->capture;
	const char *error = *f->error ? f->error : *c->error ? c->error : NULL;
	uint64_t hits = c->hits;

	if (f->tracing && !f->capture_done)
		error = "the thread that keeps the trace did not end in time";
	for (int i = 0; i < f->run.n_lanes; i++)
		hits += atomic_load(&f->run.lanes[i].hits.refused);
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

static void send_end(struct follow *f, const char *reason, int exit_code)
{
	struct json j;

	end_begin(&j, reason, exit_code);
	tell_accounts(&j, &f->roster, !f->selected.losses, mono_ns());
	json_uint(&j, "losses", f->selected.losses);
	json_uint(&j, "left_out", f->roster.left_out);
	json_int(&j, "cpu_ns", rt_cpu_ns(rt_tid()));
	send_trace_end(f, &j);
	json_end_object(&j);
	emit_json(&f->emit, FRAME_END, LANE_NONE, &j);
}

/* --- while it goes on --- */

static void tell_new_lanes(struct follow *f)
{
	for (; f->told < f->roster.n; f->told++) {
		tell_lane(&f->emit, &f->roster, f->told);
		if (f->tracing)
			selected_add(&f->selected, f->roster.list[f->told]->wakeups.tid);
	}
}

static void take_wakeup(struct follow *f, int lane, const struct wakeup *found)
{
	struct followed *thread = f->roster.list[lane];
	const int64_t level_ns = f->above_ns ? f->above_ns : thread->level_ns;

	tell_wakeup(&f->emit, thread, lane, found, f->origin_ns);
	if (found->ran_ns - found->woken_ns < level_ns)
		return;
	hits_put(&f->run.lanes[f->place[found->cpu]].hits,
		 &(struct hit){ .k = thread->wakeups.n - 1,
				.due_ns = found->woken_ns,
				.woke_ns = found->ran_ns,
				.level_ns = level_ns < UINT32_MAX ? (uint32_t)level_ns : UINT32_MAX,
				.lane = lane,
				.cpu = found->cpu,
				.tid = thread->wakeups.tid });
}

static void take_moment(struct follow *f, int lane, const struct moment *m)
{
	struct wakeup found;

	if (lane < 0)
		return;
	tell_new_lanes(f);
	if (wakeups_take(&f->roster.list[lane]->wakeups, m, &found))
		take_wakeup(f, lane, &found);
}

static void take_moments(struct follow *f)
{
	const struct moment *moments;
	const size_t n = selected_read(&f->selected, &moments);

	for (size_t i = 0; i < n; i++) {
		const struct moment *m = &moments[i];

		if (m->kind == MOMENT_LOSS) {
			for (int lane = 0; lane < f->roster.n; lane++)
				take_moment(f, lane, m);
			continue;
		}
		if (m->kind == MOMENT_SWITCH)
			take_moment(f, roster_lane(&f->roster, m->out), m);
		take_moment(f, roster_lane(&f->roster, m->tid), m);
	}
}

/* Once a second. False: no thread is left, and none can come. */
static bool look_again(struct follow *f)
{
	const int there = roster_scan(&f->roster);

	roster_turns(&f->roster);
	tell_new_lanes(f);
	for (int i = 0; i < f->roster.n; i++)
		f->roster.list[i]->level_ns = wakeups_level(&f->roster.list[i]->wakeups);
	tell_second(&f->emit, &f->roster, mono_ns(), f->origin_ns);
	return there || !f->roster.pid;
}

/* The events are on: the wake-ups count from here. */
static void begin(struct follow *f)
{
	f->tracing = true;
	for (int i = 0; i < f->roster.n; i++)
		selected_add(&f->selected, f->roster.list[i]->wakeups.tid);
	if (selected_begin(&f->selected))
		snprintf(f->error, sizeof f->error, "%s", f->selected.error);
	f->end_ns = mono_ns() + plan_number(f->plan, "duration");
}

static const char *asked_to_end(const struct follow *f)
{
	if (f->emit.error)
		return "error";
	if (!loop_asked_to_end(&f->loop))
		return NULL;
	return f->loop.stop_signal ? "signal" : "owner";
}

static const char *supervise(struct follow *f)
{
	int64_t look_again_ns = mono_ns() + look_ns, flush_again_ns = 0, now;
	const char *reason;

	for (;;) {
		loop_wait(&f->loop, mono_ns() + tick_ns, NULL, 0);
		if (!f->tracing && f->capture.ready && atomic_load_explicit(&f->run.tracing, memory_order_acquire))
			begin(f);
		if (f->tracing)
			take_moments(f);
		capture_deliver(&f->capture, &f->emit);
		now = mono_ns();
		if (now >= look_again_ns) {
			look_again_ns = now + look_ns;
			if (!look_again(f))
				return "gone";
		}
		if (now >= flush_again_ns) {
			flush_again_ns = now + flush_ns;
			emit_flush(&f->emit);
		}
		if ((reason = asked_to_end(f)))
			return reason;
		if (now >= f->end_ns)
			return "duration";
	}
}

/* The last wake-ups and pages. Whoever asks a second time does not wait for them. */
static void finish(struct follow *f)
{
	const int stops = f->loop.stops;
	uint32_t beats = 0;
	int64_t until_ns = mono_ns() + patience_ns;

	if (!f->capture.ready)
		return;
	if (f->tracing)
		take_moments(f);
	capture_finish(&f->capture);
	while (!(f->capture_done = atomic_load_explicit(&f->capture.done, memory_order_acquire)) && mono_ns() < until_ns &&
	       f->loop.stops < stops + 1) {
		loop_wait(&f->loop, mono_ns() + tick_ns, NULL, 0);
		capture_deliver(&f->capture, &f->emit);
		if (atomic_load(&f->capture.beats) != beats) {
			beats = atomic_load(&f->capture.beats);
			until_ns = mono_ns() + patience_ns;
		}
	}
	capture_deliver(&f->capture, &f->emit);
	selected_remove(&f->selected);
	if (f->capture_done)
		capture_remove(&f->capture);
}

static int follow_threads(struct follow *f)
{
	const struct cpus apart = own_cpus(f);
	const char *reason;
	int code;

	prepare_trace(f);
	rt_pin(0, &apart);
	if (f->run.policy == SCHED_FIFO)
		rt_set_policy(0, SCHED_FIFO, f->run.priority - 1);
	if (*f->error)
		say_note("no trace: %s; only the sums of /proc are told", f->error);
	send_facts(f);
	f->end_ns = mono_ns() + plan_number(f->plan, "duration") + (f->capture.ready ? patience_ns : 0);
	f->run.untraced_until_ns = f->origin_ns;
	atomic_store(&f->run.started, 1);
	capture_start(&f->capture, &apart);
	reason = supervise(f);
	finish(f);
	roster_turns(&f->roster);
	tell_second(&f->emit, &f->roster, INT64_MAX, f->origin_ns);
	code = strcmp(reason, "error") ? EXIT_DONE : EXIT_BOARD;
	send_end(f, reason, code);
	if (emit_flush(&f->emit))
		code = say_fail(EXIT_BOARD, "the stream cannot be written: %s", strerror(f->emit.error));
	return code;
}

static int follow_run(const struct plan *plan)
{
	static struct follow f; /* static: a thread outlives every frame */
	int code;

	f.plan = plan;
	f.above_ns = plan_number(plan, "above") > 0 ? plan_number(plan, "above") : 0;
	prctl(PR_SET_NAME, "rtprobe-follow");
	if ((code = loop_open(&f.loop, NULL, false, plan_flag(plan, "attached"))) || (code = choose_threads(&f)) ||
	    (code = make_places(&f)))
		return code;
	if (emit_open(&f.emit, STDOUT_FILENO, STREAM_ROOM))
		return say_fail(EXIT_BOARD, "no memory");
	_exit(follow_threads(&f)); /* the thread of the trace is still there: run nothing that it could use */
}

static const char *const above_words[] = { "auto", NULL };

static const struct option_spec follow_options[] = {
	{ .name = "pid", .letter = 'p', .type = OPT_INTEGER, .min = 1, .max = 4194304, .help = "follow all threads of this process" },
	{ .name = "comm",
	  .type = OPT_TEXT,
	  .unit = "NAME",
	  .help = "follow the processes of this name with all their threads, and other threads of this name" },
	{ .name = "above",
	  .type = OPT_DURATION,
	  .unit = "ns",
	  .words = above_words,
	  .min = 1000,
	  .max = INT64_C(4000000000),
	  .help = "keep the trace around wake-ups that take this long; auto (default): 4 x the running p99.9 of each thread" },
	{ .name = "duration",
	  .letter = 'D',
	  .type = OPT_DURATION,
	  .unit = "ns",
	  .min = 10000000,
	  .max = INT64_C(31622400000000000),
	  .standard = "60s",
	  .help = "end after this time" },
	{ .name = "attached", .type = OPT_FLAG, .help = "end when stdin ends" },
	{ 0 },
};

const struct command command_follow = {
	.name = "follow",
	.summary = "how long threads of other programs wait until they run, and the kernel's trace around the late ones",
	.options = follow_options,
	.run = follow_run,
};
