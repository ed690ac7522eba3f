/* response: how long after its due time does a request reach the thread that waits for it, and its answer the thread that waits for that?
 *
 * Each measured CPU has a chain of three lanes: the sender sleeps until an activation is due and sends a request; the receiver, on the
 * measured CPU, waits for it and sends an answer; the taker, on the sender's CPU, waits for the answer. All three count the same
 * activations, each from the due time, and each for itself: whoever is late by an interval has missed one (run/account.h).
 *
 * With --far the answer comes from another board (rtprobe echo), and a chain has two lanes: the sender and the taker, both on the measured CPU.
 * Between boards a request may be lost, so that each names its activation; the round trip has one clock, ours.
 *
 * Else a request has no content. The receiver counts the oldest activation that it has not served, as a thread of `cyclic` does, and takes
 * requests for activations that it has missed without counting them.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "carriers/carrier.h"
#include "carriers/far.h"
#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/account.h"
#include "run/method.h"

enum { SENDER, RECEIVER, TAKER, STAGES };
enum { FAR_STAGES = 2 }; /* with another board: sender and taker */
enum { NEXT_CPU, SAME_CPU };
enum { NAME = 32, MEASURE = 64 };

/* One lane's place in its chain. */
struct stage {
	struct channel *from, *to;         /* NULL: none */
	const struct stage *before;        /* whose requests it waits for */
	const struct stage *after;
	_Atomic uint32_t passed;           /* activations that were sent on, low half of the number */
	_Atomic int over;                  /* it sends no more */
	char name[NAME];
};

static struct stage *stages; /* of each lane */
static struct channel *channels;
static int n_channels;
static int64_t hold_ns;
static _Atomic int failed; /* errno of a carrier */
static char measure_of_request[MEASURE], measure_of_answer[MEASURE];

static int *far_fds; /* one a chain; NULL: all is on this board */
static uint32_t far_run;

static const char *const senders[] = { "next", "same", NULL };

static const int64_t last_echo_ns = 200000000, look_ns = 1000000;

#define US INT64_C(1000)
#define S (1000000 * US)

static const struct option_spec response_settings[] = {
	{ "by", 0, OPT_CHOICE, NULL, carrier_names, 0, 0, "futex", false, "what takes the request and the answer" },
	{ "sender", 0, OPT_CHOICE, NULL, senders, 0, 0, "next", false, "the sender's CPU: the next measured one, or that of the receiver" },
	{ "far", 0, OPT_TEXT, NULL, NULL, 0, 0, NULL, false,
	  "udp: the address of another board that sends each request back (rtprobe echo), ADDRESS or ADDRESS:PORT" },
	{ "hold", 0, OPT_DURATION, "ns", NULL, 0, S, "0ns", false, "the receiver sleeps so long before it answers" },
	{ "section", 0, OPT_DURATION, "ns", NULL, US, S, NULL, false,
	  "mutex, pi-mutex: how long its holder still needs the mutex (default 20us)" },
	{ "hog", 0, OPT_DURATION, "ns", NULL, 0, S, NULL, false,
	  "mutex, pi-mutex: how long a thread of middle priority is busy (default 200us)" },
	{ 0 },
};

/* --- before the run --- */

static int check_settings(const struct plan *plan, const struct run *run, const struct carrier *carrier)
{
	const int64_t busy_ns = plan_number(plan, "section") + plan_number(plan, "hog");

	if (!carrier->priorities_below) {
		if (plan_given(plan, "section") || plan_given(plan, "hog"))
			return say_fail(EXIT_USAGE, "--section and --hog are for --by mutex and pi-mutex; --by %s has no mutex",
					carrier->name);
		return EXIT_DONE;
	}
	if (run->policy == SCHED_OTHER)
		return say_fail(EXIT_USAGE, "--by %s needs a real-time policy: with --policy other no thread is of middle priority",
				carrier->name);
	if (run->priority <= carrier->priorities_below)
		return say_fail(EXIT_USAGE, "--by %s needs --priority %d or more: %d priorities below the lanes' are in use", carrier->name,
				carrier->priorities_below + 1, carrier->priorities_below);
	if (busy_ns > run->interval_ns / 2)
		return say_fail(EXIT_USAGE, "--section and --hog together take more than half of the interval; use a longer --interval");
	return EXIT_DONE;
}

static int64_t duration_or(const struct plan *plan, const char *name, int64_t standard_ns)
{
	return plan_set(plan, name) ? plan_number(plan, name) : standard_ns;
}

static int open_channel(struct channel *c, const struct plan *plan, const struct carrier *carrier, const struct lane *receiver)
{
	int error;

	c->carrier = carrier;
	c->number = n_channels++;
	c->receiver = &receiver->tid;
	c->cpu = receiver->cpu;
	c->policy = receiver->run->policy;
	c->priority = receiver->run->priority;
	c->section_ns = duration_or(plan, "section", 20 * US);
	c->hog_ns = duration_or(plan, "hog", 200 * US);
	error = carrier->open(c);
	if (error)
		return say_fail(EXIT_BOARD, "--by %s: %s%s%s; nothing was measured", carrier->name, strerror(error),
				carrier->needs ? "; " : "", carrier->needs ? carrier->needs : "");
	return EXIT_DONE;
}

static int prepare_chain(struct lane *lane, const struct plan *plan, const struct carrier *carrier, int sender_cpu)
{
	static const char *const roles[STAGES] = { "sent", "received", "answered" };
	struct stage *stage = &stages[lane->index];
	struct channel *request = &channels[n_channels], *answer = request + 1;
	const int receiver_cpu = lane->cpu;
	int code;

	for (int i = 0; i < STAGES; i++) {
		snprintf(stage[i].name, sizeof stage[i].name, "%d>%d %s", sender_cpu, receiver_cpu, roles[i]);
		lane[i].name = stage[i].name;
		lane[i].cpu = i == RECEIVER ? receiver_cpu : sender_cpu;
		stage[i].before = i ? &stage[i - 1] : NULL;
		stage[i].after = i < TAKER ? &stage[i + 1] : NULL;
	}
	lane[SENDER].measure = "wake-up";
	lane[RECEIVER].measure = measure_of_request;
	lane[TAKER].measure = measure_of_answer;
	stage[SENDER].to = stage[RECEIVER].from = request;
	stage[RECEIVER].to = stage[TAKER].from = answer;
	code = open_channel(request, plan, carrier, &lane[RECEIVER]);
	return code ? code : open_channel(answer, plan, carrier->answers_by ? carrier->answers_by : carrier, &lane[TAKER]);
}

/* Sender and taker of each measured CPU, and their socket. 0, or an exit code. */
static int prepare_far(const struct plan *plan, struct run *run)
{
	int code;

	if (strcmp(carriers[plan_number(plan, "by")]->name, "udp"))
		return say_fail(EXIT_USAGE, "--far goes with --by udp: nothing else reaches another board");
	if (plan_given(plan, "hold") || plan_given(plan, "sender"))
		return say_fail(EXIT_USAGE, "--hold and --sender are for a receiver on this board; with --far there is none");
	run_keep_lanes(run, FAR_STAGES);
	run->measure = "response:udp-echo";
	far_run = (uint32_t)mono_ns() ^ (uint32_t)getpid();
	stages = calloc((size_t)run->n_lanes, sizeof *stages);
	far_fds = calloc((size_t)run->n_slots, sizeof *far_fds);
	if (!stages || !far_fds)
		return say_fail(EXIT_BOARD, "no memory for %d lanes", run->n_lanes);
	for (int i = 0; i < run->n_lanes; i++) {
		struct lane *lane = &run->lanes[i];
		const bool takes = i % FAR_STAGES;

		snprintf(stages[i].name, sizeof stages[i].name, "%d %s", lane->cpu, takes ? "answered" : "sent");
		lane->name = stages[i].name;
		lane->measure = takes ? run->measure : "wake-up";
		lane->windows = takes; /* several requests may be on their way at once */
		if (takes)
			continue;
		if ((code = far_connect(plan_text(plan, "far"), &far_fds[lane->slot])) ||
		    (code = far_try(far_fds[lane->slot], plan_text(plan, "far"), far_run, (uint32_t)lane->slot)))
			return code;
		stages[i].after = &stages[i + 1];
	}
	return EXIT_DONE;
}

static int response_prepare(const struct plan *plan, struct run *run)
{
	const struct carrier *carrier = carriers[plan_number(plan, "by")];
	const int chains = run->n_lanes / STAGES;
	int *cpu = calloc((size_t)chains, sizeof *cpu);
	const int error = rt_choose_sleep();
	int code = check_settings(plan, run, carrier);

	if (code)
		return code;
	if (run->trace)
		return say_fail(EXIT_USAGE, "--trace-above: response keeps no trace; leave it out, or measure with cyclic");
	if (error)
		return say_fail(EXIT_BOARD, "this kernel does not sleep until a moment (clock_nanosleep: %s); nothing was measured",
				strerror(error));
	if (plan_set(plan, "far"))
		return prepare_far(plan, run);
	hold_ns = plan_number(plan, "hold");
	snprintf(measure_of_request, sizeof measure_of_request, "response:%s", carrier->name);
	snprintf(measure_of_answer, sizeof measure_of_answer, "response:%s-answer", carrier->name);
	run->measure = measure_of_request;
	stages = calloc((size_t)run->n_lanes, sizeof *stages);
	channels = calloc(2 * (size_t)chains, sizeof *channels);
	if (!cpu || !stages || !channels)
		return say_fail(EXIT_BOARD, "no memory for %d lanes", run->n_lanes);
	for (int i = 0; i < chains; i++)
		cpu[i] = run->lanes[i * STAGES].cpu;
	for (int i = 0; i < chains && !code; i++)
		code = prepare_chain(&run->lanes[i * STAGES], plan, carrier,
				     plan_number(plan, "sender") == SAME_CPU ? cpu[i] : cpu[(i + 1) % chains]);
	free(cpu);
	return code;
}

static void response_end(struct run *run)
{
	if (atomic_load(&failed))
		say_fail(EXIT_BOARD, "the lanes could not go on waiting (%s: %s)", run->measure, strerror(atomic_load(&failed)));
	for (int i = 0; i < n_channels; i++)
		if (channels[i].carrier->close)
			channels[i].carrier->close(&channels[i]);
}

/* --- the loops --- */

static void pass_on(const struct lane *lane, struct stage *stage, uint64_t k)
{
	const uint32_t passed = (uint32_t)k + 1;

	if (far_fds) {
		far_send(far_fds[lane->slot], far_run, (uint32_t)lane->slot, k);
		return;
	}
	if (!stage->to)
		return;
	atomic_store_explicit(&stage->passed, passed, memory_order_release);
	stage->to->carrier->send(stage->to);
}

/* The last words: the next lane does not wait for what will not come. */
static void end_stage(struct stage *stage)
{
	atomic_store_explicit(&stage->over, 1, memory_order_release);
	if (stage->to)
		stage->to->carrier->send(stage->to);
}

static bool has_passed(const struct stage *before, uint64_t k)
{
	return (int32_t)(atomic_load_explicit(&before->passed, memory_order_acquire) - (uint32_t)k) > 0;
}

/* A run by count: a lane that has its samples goes on for those behind it that do not, since they missed activations. */
static bool is_needed(const struct lane *lane, const struct stage *stage)
{
	if (!lane->run->count)
		return false;
	for (const struct stage *after = stage->after; after; after = after->after)
		if (!atomic_load_explicit(&after->over, memory_order_acquire))
			return true;
	return false;
}

static void send_requests(struct lane *lane, struct stage *stage)
{
	struct account account = account_begin(lane);
	uint64_t k = account.stats.next_k;

	while (account_is_open(&account) || is_needed(lane, stage)) {
		const int64_t due_ns = lane->first_due_ns + (int64_t)k * account.interval_ns;
		const int error = rt_sleep_until(due_ns);
		const int64_t now_ns = mono_ns(), late_ns = now_ns - due_ns;

		if (account_is_over(&account, due_ns))
			break;
		if (error && late_ns < 0)
			continue; /* woken by a signal, not by the timer */
		pass_on(lane, stage, k);
		if (account_is_open(&account)) {
			account_add(&account, late_ns, now_ns);
			k = account.stats.next_k;
		} else {
			k += 1 + (late_ns < 0 ? 0 : (uint64_t)(late_ns / account.interval_ns));
		}
	}
}

/* Waits for a request. False: the carrier has failed, and the run ends. */
static bool wait_request(const struct lane *lane, const struct stage *stage)
{
	const int error = stage->from->carrier->wait(stage->from);

	if (!error || error == EINTR)
		return true;
	atomic_store(&failed, error);
	run_stop(lane->run, STOP_ERROR, mono_ns());
	return false;
}

static void take_requests(struct lane *lane, struct stage *stage)
{
	struct account account = account_begin(lane);

	while (account_is_open(&account)) {
		const int64_t due_ns = account_due_ns(&account);
		const uint64_t k = account.stats.next_k;
		const bool over = atomic_load_explicit(&stage->before->over, memory_order_acquire);
		const bool well = over || wait_request(lane, stage);
		const int64_t now_ns = mono_ns();

		if (!well || account_is_over(&account, due_ns))
			break;
		if (has_passed(stage->before, k)) {
			account_add(&account, now_ns - due_ns, now_ns);
			if (hold_ns && stage->after)
				rt_sleep_until(now_ns + hold_ns);
			pass_on(lane, stage, k);
		} else if (over) {
			break;
		} /* else a signal, or a request for an activation that was missed */
	}
}

/* All samples are taken: serves those behind that still need some. */
static void serve(const struct lane *lane, struct stage *stage)
{
	while (is_needed(lane, stage) && !atomic_load_explicit(&lane->run->stop, memory_order_acquire) &&
	       !atomic_load_explicit(&stage->before->over, memory_order_acquire) && wait_request(lane, stage)) {
		if (hold_ns)
			rt_sleep_until(mono_ns() + hold_ns);
		pass_on(lane, stage, atomic_load_explicit(&stage->before->passed, memory_order_acquire) - UINT64_C(1));
	}
}

/* Another board never says that it is over: after the last request its answer has some time, then a signal ends the wait. */
static void end_taker(const struct lane *sender)
{
	const struct lane *taker = sender + 1;
	const int64_t until_ns = mono_ns() + last_echo_ns;

	while (!atomic_load_explicit(&stages[taker->index].over, memory_order_acquire) &&
	       atomic_load_explicit(&sender->state, memory_order_relaxed) == LANE_RUNNING) {
		rt_sleep_until(mono_ns() + look_ns);
		if (mono_ns() > until_ns)
			syscall(SYS_tgkill, getpid(), taker->tid, sender->run->wake_signal);
	}
}

/* False: the run is over for this lane. */
static bool wait_echo(const struct lane *lane, uint64_t *k)
{
	const struct stage *sender = &stages[lane->index - 1];
	int error;

	do
		error = far_wait(far_fds[lane->slot], far_run, (uint32_t)lane->slot, k);
	while (error == EINTR && !atomic_load_explicit(&sender->over, memory_order_acquire) &&
	       !atomic_load_explicit(&lane->run->stop, memory_order_acquire) &&
	       atomic_load_explicit(&lane->state, memory_order_relaxed) == LANE_RUNNING);
	if (error && error != EINTR) {
		atomic_store(&failed, error);
		run_stop(lane->run, STOP_ERROR, mono_ns());
	}
	return !error;
}

/* An answer that never came is missed: nobody knows how late it would have been. */
static void take_echoes(struct lane *lane)
{
	struct account account = account_begin(lane);
	uint64_t k;

	while (account_is_open(&account) && wait_echo(lane, &k)) {
		const int64_t now_ns = mono_ns(), due_ns = lane->first_due_ns + (int64_t)k * account.interval_ns;

		if (k < account.stats.next_k || k >= account.limit)
			continue; /* it came after a later one, or twice */
		if (account_is_over(&account, due_ns))
			break;
		account_skip(&account, k, 0);
		account_add(&account, now_ns - due_ns, now_ns);
	}
	atomic_store_explicit(&stages[lane->index].over, 1, memory_order_release);
}

static void measure_far(struct lane *lane)
{
	struct stage *stage = &stages[lane->index];

	if (!stage->after) {
		take_echoes(lane);
		return;
	}
	send_requests(lane, stage);
	atomic_store_explicit(&stage->over, 1, memory_order_release);
	end_taker(lane);
}

static void response_measure(struct lane *lane)
{
	struct stage *stage = &stages[lane->index];

	if (far_fds) {
		measure_far(lane);
		return;
	}
	if (stage->before) {
		take_requests(lane, stage);
		serve(lane, stage);
	} else {
		send_requests(lane, stage);
	}
	end_stage(stage);
}

const struct method method_response = {
	.name = "response",
	.summary = "time from a due request until the thread that waits for it runs, and until its answer is there",
	.measure = "response",
	.settings = response_settings,
	.lanes_per_cpu = STAGES,
	.prepare = response_prepare,
	.measure_lane = response_measure,
	.end = response_end,
};
