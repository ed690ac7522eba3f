/* gpio: how long after its due time does an edge on a wire reach the kernel and the thread that waits for it, and how long until that thread has
 * answered on another line? Two lines of a GPIO chip are wired together: the sender changes the level of one at each due time, the other tells
 * of its edges.
 *
 * All lanes count the same activations, each from the due time and each for itself, as those of `response` do: whoever is late by an interval has
 * missed one (run/account.h). The receiver's thread also takes the samples of the edge, whose time is the stamp of the interrupt's handler, and of
 * the answer, which is there when the kernel has set the line.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/gpio.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/account.h"
#include "run/keeper.h"
#include "run/method.h"

enum { SENT, EDGE, RECEIVED, ANSWERED, LANES };
enum { WIRE_MS = 1000, SETTLE_MS = 20, CHIPS_TEXT = 600 };
/* How long after its last edge the sender waits for the receiver, before it ends that one's wait. */
static const int64_t last_edge_ns = 200000000, look_ns = 1000000;

static const char *const measures[LANES] = { "wake-up", "gpio-edge", "gpio-response", "gpio-answer" };
static const char *const words[LANES] = { "sent", "edge", "received", "answered" };

static struct gpio_chip chip = { .fd = -1 };
static struct gpio_line out = { .fd = -1 }, in = { .fd = -1 }, answer = { .fd = -1 };
static struct keeper keeper;
static char names[LANES][32];
static int last_lane; /* RECEIVED or ANSWERED */
static bool level; /* of `out` */
static _Atomic uint32_t passed; /* activations whose edge was sent, low half of the number */
static _Atomic int sender_is_over, receiver_is_over;
static _Atomic int failed; /* errno of a line */
static _Atomic uint32_t driven; /* edges that were sent */
static uint32_t tried; /* the number of the last edge before the run */
static _Atomic int32_t excess; /* so many edges more came than were sent */

static const struct option_spec settings[] = {
	{ "chip", 0, OPT_TEXT, NULL, NULL, 0, 0, NULL, true, "the GPIO chip: /dev/gpiochip0 or gpiochip0" },
	{ "out", 0, OPT_TEXT, NULL, NULL, 0, 0, NULL, true,
	  "a line that this probe may drive, by number or name: it changes at each due time" },
	{ "in", 0, OPT_TEXT, NULL, NULL, 0, 0, NULL, true, "the line that is wired to it" },
	{ "answer", 0, OPT_TEXT, NULL, NULL, 0, 0, NULL, false, "a line that follows the level of --in after each edge" },
	{ 0 },
};

/* --- the lines --- */

static int no_chip(const char *word, int error)
{
	char chips[CHIPS_TEXT];

	if (error == EACCES || error == EPERM)
		return say_fail(EXIT_BOARD,
				"%s cannot be opened (%s): that needs root, or the group that the board gives its GPIO lines to", chip.path,
				strerror(error));
	if (!*gpio_chips(chips, sizeof chips))
		return say_fail(EXIT_BOARD,
				"this board has no GPIO chip (no /dev/gpiochip*): the kernel has no driver for one; `response` measures "
				"answers without a wire");
	if (error == ENOTTY)
		return say_fail(EXIT_USAGE, "--chip %s is no GPIO chip; there are: %s", word, chips);
	return say_fail(EXIT_USAGE, "--chip %s: %s; there are: %s", word, strerror(error), chips);
}

/* The number of the line that an option names, or -1 after an error message. */
static int find_line(const struct plan *plan, const char *option)
{
	const int number = gpio_find(&chip, plan_text(plan, option));

	if (number < 0)
		say_fail(EXIT_USAGE, "--%s %s: %s (%s) has the lines 0 to %u, and none of that name; `gpioinfo` lists them", option,
			 plan_text(plan, option), chip.path, chip.label, chip.n_lines - 1);
	return number;
}

static int not_taken(const struct gpio_line *line, const char *option, int error)
{
	if (*line->user)
		return say_fail(EXIT_BOARD, "--%s: line %u of %s is in use by %s", option, line->number, chip.path, line->user);
	if (error == ENOTTY || error == EINVAL)
		return say_fail(EXIT_BOARD, "--%s: the kernel does not take line %u of %s that way (%s): it needs Linux 5.10 (GPIO ABI 2)",
				option, line->number, chip.path, strerror(error));
	return say_fail(EXIT_BOARD, "--%s: line %u of %s cannot be taken: %s%s", option, line->number, chip.path, strerror(error),
			line == &in ? "; can it raise interrupts?" : "");
}

static int put_lines_back(const void *nothing)
{
	const int error = gpio_put_back(&out), other = gpio_put_back(&answer);

	(void)nothing;
	return error ? error : other;
}

static int take_lines(const struct plan *plan)
{
	const int out_number = find_line(plan, "out");
	const int in_number = out_number < 0 ? -1 : find_line(plan, "in");
	const bool answers = plan_set(plan, "answer");
	const int answer_number = in_number < 0 || !answers ? -1 : find_line(plan, "answer");
	int error;

	if (out_number < 0 || in_number < 0 || (answers && answer_number < 0))
		return EXIT_USAGE;
	if (out_number == in_number || (answers && (answer_number == out_number || answer_number == in_number)))
		return say_fail(EXIT_USAGE, "--out, --in and --answer must be different lines");
	error = gpio_take_input(&chip, (unsigned)in_number, &in);
	if (error)
		return not_taken(&in, "in", error);
	error = gpio_take_output(&chip, (unsigned)out_number, &out);
	if (error)
		return not_taken(&out, "out", error);
	level = out.level_before;
	error = answers ? gpio_take_output(&chip, (unsigned)answer_number, &answer) : 0;
	return error ? not_taken(&answer, "answer", error) : EXIT_DONE;
}

static int start_keeper(void)
{
	const int fds[] = { out.fd, answer.fd };
	const int error = keeper_start_task(&keeper, put_lines_back, NULL, fds, 2);

	return error ? say_fail(EXIT_BOARD, "no process to put the lines back: %s", strerror(error)) : EXIT_DONE;
}

/* Is the input wired to the output? An edge in each direction tells. */
static int try_wire(void)
{
	struct gpio_edge edge;

	gpio_set(&out, level);
	while (!gpio_next_edge_within(&in, &edge, SETTLE_MS))
		; /* of becoming an output */
	for (int i = 0; i < 2; i++) {
		int error = gpio_set(&out, level = !level);

		if (!error)
			error = gpio_next_edge_within(&in, &edge, WIRE_MS);
		if (error == ETIMEDOUT)
			return say_fail(EXIT_BOARD,
					"no edge on line %u within 1 s after line %u of %s was set to %d: are the two wired together?",
					in.number, out.number, chip.path, level);
		if (error)
			return say_fail(EXIT_BOARD, "line %u or %u of %s: %s", out.number, in.number, chip.path, strerror(error));
	}
	tried = edge.number;
	return EXIT_DONE;
}

/* --- before the run --- */

static void name_lane(struct lane *lane, int kind, unsigned number, int cpu)
{
	snprintf(names[kind], sizeof names[kind], "line %u %s", number, words[kind]);
	lane->name = names[kind];
	lane->measure = measures[kind];
	lane->cpu = cpu;
}

/* There is one pair of lines: the receiver is on the first measured CPU, the sender on the second, where there is one. */
static void place_lanes(struct run *run)
{
	struct lane *lanes = run->lanes;
	const int cpu = lanes[0].cpu, sender_cpu = run->n_slots > 1 ? lanes[LANES].cpu : cpu;

	if (run->n_slots > 2)
		say_note("one pair of lines takes two CPUs: the edges are sent by CPU %d and answered by CPU %d", sender_cpu, cpu);
	name_lane(&lanes[SENT], SENT, out.number, sender_cpu);
	name_lane(&lanes[EDGE], EDGE, in.number, cpu);
	name_lane(&lanes[RECEIVED], RECEIVED, in.number, cpu);
	name_lane(&lanes[ANSWERED], ANSWERED, answer.number, cpu);
	lanes[EDGE].taken_by = lanes[ANSWERED].taken_by = &lanes[RECEIVED];
	last_lane = answer.fd < 0 ? RECEIVED : ANSWERED;
	run->n_lanes = last_lane + 1;
	run->n_slots = 1;
}

static int gpio_prepare(const struct plan *plan, struct run *run)
{
	int error = rt_choose_sleep(), code;

	if (run->trace)
		return say_fail(EXIT_USAGE, "--trace-above: gpio keeps no trace; leave it out, or measure with cyclic");
	if (error)
		return say_fail(EXIT_BOARD, "this kernel does not sleep until a moment (clock_nanosleep: %s); nothing was measured",
				strerror(error));
	error = gpio_open(plan_text(plan, "chip"), &chip);
	if (error)
		return no_chip(plan_text(plan, "chip"), error);
	if ((code = take_lines(plan)) || (code = start_keeper()) || (code = try_wire()))
		return code;
	place_lanes(run);
	return EXIT_DONE;
}

static void gpio_end(struct run *run)
{
	const int32_t more = atomic_load(&excess);
	int error;

	(void)run;
	if (atomic_load(&failed))
		say_fail(EXIT_BOARD, "lines %u and %u of %s: %s", out.number, in.number, chip.path, strerror(atomic_load(&failed)));
	if (more > 0)
		say_note("line %u had %d edges that were not sent: it bounces, or something else drives it", in.number, more);
	error = keeper.pid ? keeper_remove(&keeper) : put_lines_back(NULL);
	if (error)
		say_note("the lines of %s could not be put back: %s", chip.path, strerror(error));
}

/* --- the loops --- */

static void fail(struct run *run, int error)
{
	atomic_store(&failed, error);
	run_stop(run, STOP_ERROR, mono_ns());
}

static bool has_passed(uint64_t k)
{
	return (int32_t)(atomic_load_explicit(&passed, memory_order_acquire) - (uint32_t)k) > 0;
}

static bool receiver_goes_on(const struct lane *lane)
{
	return !atomic_load_explicit(&receiver_is_over, memory_order_acquire) &&
	       atomic_load_explicit(&lane->state, memory_order_relaxed) == LANE_RUNNING;
}

/* Does a run by count go on for the receiver, which missed activations? */
static bool is_needed(const struct lane *lane)
{
	return lane->run->count && receiver_goes_on(lane) && !atomic_load_explicit(&lane->run->stop, memory_order_acquire);
}

/* The receiver ends with the last edge. If that one never comes, a signal ends its wait. */
static void end_receiver(const struct lane *lane)
{
	const int64_t until_ns = mono_ns() + last_edge_ns;

	atomic_store_explicit(&sender_is_over, 1, memory_order_release);
	while (receiver_goes_on(lane)) {
		rt_sleep_until(mono_ns() + look_ns);
		if (mono_ns() > until_ns)
			syscall(SYS_tgkill, getpid(), lane[RECEIVED].tid, lane->run->wake_signal);
	}
}

static bool send_edge(struct run *run, uint64_t k)
{
	int error;

	atomic_store_explicit(&passed, (uint32_t)k + 1, memory_order_release);
	atomic_fetch_add_explicit(&driven, 1, memory_order_release);
	level = !level;
	error = gpio_set(&out, level);
	if (error)
		fail(run, error);
	return !error;
}

static void send_edges(struct lane *lane)
{
	struct account account = account_begin(lane);
	uint64_t k = account.stats.next_k;

	while (account_is_open(&account) || is_needed(lane)) {
		const int64_t due_ns = lane->first_due_ns + (int64_t)k * account.interval_ns;
		const int error = rt_sleep_until(due_ns);
		const int64_t now_ns = mono_ns(), late_ns = now_ns - due_ns;

		if (account_is_over(&account, due_ns))
			break;
		if (error && late_ns < 0)
			continue; /* woken by a signal, not by the timer */
		if (!send_edge(lane->run, k))
			break;
		if (account_is_open(&account)) {
			account_add(&account, late_ns, now_ns);
			k = account.stats.next_k;
		} else {
			k += 1 + (late_ns < 0 ? 0 : (uint64_t)(late_ns / account.interval_ns));
		}
	}
	end_receiver(lane);
}

/* Counts the oldest activation that this lane has not counted, if its edge was sent. */
static void count(struct account *account, int64_t at_ns)
{
	const int64_t due_ns = account_due_ns(account);

	if (account_is_open(account) && has_passed(account->stats.next_k) && !account_is_over(account, due_ns))
		account_add(account, at_ns - due_ns, at_ns);
}

/* Edges that the kernel had no room to keep: they came in time, and nobody knows when. */
static void skip_lost(struct account *account, uint32_t lost)
{
	if (lost && account_is_open(account) && has_passed(account->stats.next_k + lost - 1))
		account_skip(account, account->stats.next_k + lost, lost);
}

/* False: the run is over for this lane, or the line has failed. */
static bool wait_edge(const struct lane *lane, struct gpio_edge *edge)
{
	int error;

	do
		error = gpio_next_edge(&in, edge);
	while (error == EINTR && !atomic_load_explicit(&sender_is_over, memory_order_acquire) &&
	       !atomic_load_explicit(&lane->run->stop, memory_order_acquire) &&
	       atomic_load_explicit(&lane->state, memory_order_relaxed) == LANE_RUNNING);
	if (error && error != EINTR)
		fail(lane->run, error);
	return !error;
}

static void take_edges(struct lane *edge_lane)
{
	const int n = last_lane;
	struct account accounts[LANES];
	struct gpio_edge edge;
	uint32_t before = tried;
	bool open = true;

	for (int i = 0; i < n; i++)
		accounts[i] = account_begin(edge_lane + i);
	while (open && wait_edge(edge_lane + 1, &edge)) {
		const int64_t now_ns = mono_ns();
		const int error = answer.fd < 0 ? 0 : gpio_set(&answer, edge.level);
		const int64_t at_ns[] = { edge.at_ns, now_ns, answer.fd < 0 ? now_ns : mono_ns() };
		const int32_t more = (int32_t)(edge.number - tried - atomic_load_explicit(&driven, memory_order_acquire));

		if (error) {
			fail(edge_lane->run, error);
			break;
		}
		skip_lost(&accounts[0], edge.number - before - 1);
		before = edge.number;
		open = false;
		for (int i = 0; i < n; i++) {
			count(&accounts[i], at_ns[i]);
			open |= account_is_open(&accounts[i]);
		}
		if (more > atomic_load_explicit(&excess, memory_order_relaxed))
			atomic_store_explicit(&excess, more, memory_order_relaxed);
	}
	atomic_store_explicit(&receiver_is_over, 1, memory_order_release);
}

static void gpio_measure(struct lane *lane)
{
	if (lane->index == SENT)
		send_edges(lane);
	else
		take_edges(lane - RECEIVED + EDGE);
}

const struct method method_gpio = {
	.name = "gpio",
	.summary =
		"time from a due edge on a wire between two GPIO lines until its interrupt, the thread that waits for it, and its answer",
	.measure = "gpio-response",
	.settings = settings,
	.lanes_per_cpu = LANES,
	.prepare = gpio_prepare,
	.measure_lane = gpio_measure,
	.end = gpio_end,
};
