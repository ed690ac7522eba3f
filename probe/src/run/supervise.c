/* The supervisor (the main thread): it waits for the end of the run, enforces it, and writes the last events and END. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/say.h"
#include "run/session.h"

/* Patience is counted in wake-ups, not in time, so that a stop of the whole process does not look like starved lanes. */
enum { TICK_MS = 25, GRACE_TICKS = 20, MOVED_TICKS = 40, WRITER_TICKS = 400, WRITER_TICKS_OWNERLESS = 40, ROW_MS = 500 };

static void ask_stop(struct session *s, enum stop_reason reason, int signal)
{
	if (run_stop(&s->run, reason, mono_ns()))
		s->stop_signal = signal;
}

static void read_signal(struct session *s)
{
	int number;

	if (read(s->signal_fd, &number, sizeof number) != (ssize_t)sizeof number)
		return;
	if (number == SIGXCPU) { /* a lane of the policy deadline ran longer than its runtime */
		s->overruns++;
	} else if (number != SIGUSR2) {
		ask_stop(s, STOP_SIGNAL, number);
	} else if (getppid() != s->parent) { /* the kernel also sends it when only the thread that started us ends */
		ask_stop(s, STOP_OWNER, 0);
	}
}

static void read_stdin(struct session *s)
{
	char ignored[512];
	ssize_t got = read(STDIN_FILENO, ignored, sizeof ignored);

	if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
		ask_stop(s, STOP_OWNER, 0);
}

/* Waits for something to happen, at most `ms`. */
static void wait_events(struct session *s, int ms)
{
	struct pollfd fds[3] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = s->run.wake_fd, .events = POLLIN },
		{ .fd = s->attached && s->run.stop_reason != STOP_OWNER ? STDIN_FILENO : -1, .events = POLLIN },
	};
	uint64_t woken;

	if (poll(fds, 3, ms) <= 0)
		return;
	if (fds[0].revents)
		read_signal(s);
	if (fds[1].revents && read(s->run.wake_fd, &woken, sizeof woken) < 0)
		return;
	if (fds[2].revents)
		read_stdin(s);
}

static bool lane_ended(const struct lane *lane)
{
	int state = atomic_load_explicit(&lane->state, memory_order_acquire);

	return state == LANE_ENDED || state == LANE_LEFT;
}

static bool all_ended(const struct run *run)
{
	for (int i = 0; i < run->n_lanes; i++)
		if (!lane_ended(&run->lanes[i]))
			return false;
	return true;
}

static void interrupt_lanes(const struct run *run)
{
	for (int i = 0; i < run->n_lanes; i++)
		if (!lane_ended(&run->lanes[i]))
			syscall(SYS_tgkill, getpid(), run->lanes[i].tid, run->wake_signal);
}

/* Ticks until all lanes ended; false when the ticks are over. */
static bool wait_lanes(struct session *s, int ticks)
{
	while (!all_ended(&s->run) && ticks--) {
		if (atomic_load(&s->run.stop))
			interrupt_lanes(&s->run);
		wait_events(s, TICK_MS);
	}
	return all_ended(&s->run);
}

static void wait_end(struct session *s)
{
	const struct run *run = &s->run;
	/* A run by count may take longer, because of missed activations, but its time is bounded. */
	const int64_t end = run->duration_ns ? run->planned_end_ns
					     : run->origin_ns + 2 * (int64_t)run->count * run->interval_ns + INT64_C(5000000000);
	const bool terminal = s->text && isatty(STDOUT_FILENO);
	const int rows_ms = terminal ? ROW_MS : 10 * ROW_MS;
	int64_t rows_at = mono_ns() + (terminal ? 0 : (int64_t)rows_ms * 1000000);
	bool redraw = false;

	for (;;) {
		int64_t now = mono_ns(), left = (end - now) / 1000000 + 1;

		if (s->attached && getppid() != s->parent) /* the signal may have come before we watched for it */
			ask_stop(s, STOP_OWNER, 0);
		if (atomic_load_explicit(&run->stop, memory_order_acquire) || now > end || all_ended(run))
			return;
		if (s->text && now >= rows_at) {
			text_rows(s, STDOUT_FILENO, redraw);
			redraw = terminal;
			rows_at = now + (int64_t)rows_ms * 1000000;
		}
		if (s->text && left > (rows_at - now) / 1000000 + 1)
			left = (rows_at - now) / 1000000 + 1;
		wait_events(s, left < 1000 ? (int)left : 1000);
	}
}

/* Ends lanes that a thread of a higher priority keeps from running. It closes them, so that they record nothing more, and moves them to
 * other CPUs, where they can end. */
static void end_starved(struct session *s)
{
	struct run *run = &s->run;

	run_stop(run, STOP_TIME, run->planned_end_ns ? run->planned_end_ns : mono_ns());
	for (int i = 0; i < run->n_lanes; i++) {
		struct cpus to = s->allowed;
		int running = LANE_RUNNING;

		if (!atomic_compare_exchange_strong(&run->lanes[i].state, &running, LANE_CLOSED))
			continue;
		s->moved[i].migrations = rt_counts(run->lanes[i].tid).migrations;
		to.bits[run->lanes[i].cpu / 64] &= ~(UINT64_C(1) << (run->lanes[i].cpu % 64));
		partition_leave(&run->partition, run->lanes[i].cpu, run->lanes[i].tid);
		if (cpus_count(&to) && !rt_pin(run->lanes[i].tid, &to)) {
			s->moved[i].at_ns = mono_ns();
			s->moved[i].to = to;
		}
	}
	wait_lanes(s, MOVED_TICKS);
}

/* Waits until the capturing thread has handed over its last frames. */
static void wait_capture(struct session *s)
{
	struct capture *c = &s->capture;
	const int signal_before = s->stop_signal;
	uint32_t beats = atomic_load(&c->beats);

	if (!c->ready)
		return;
	capture_finish(c);
	for (int ticks = 0; !atomic_load_explicit(&c->done, memory_order_acquire) && ticks < WRITER_TICKS; ticks++) {
		struct pollfd again = { .fd = s->signal_fd, .events = POLLIN };

		if (poll(&again, 1, ticks < 4 ? 2 : TICK_MS) > 0 && signal_before)
			return; /* a second signal: end at once */
		if (again.revents)
			read_signal(s);
		if (atomic_load(&c->beats) != beats) {
			beats = atomic_load(&c->beats);
			ticks = 0;
		}
	}
	s->capture_done = atomic_load_explicit(&c->done, memory_order_acquire);
}

/* Waits until the writer has written what is left in the rings. False: it makes no progress, because nobody reads the stream. */
static bool wait_writer(struct session *s)
{
	struct writer *w = &s->writer;
	const int limit = s->run.stop_reason == STOP_OWNER ? WRITER_TICKS_OWNERLESS : WRITER_TICKS;
	const int signal_before = s->stop_signal;
	uint32_t beats = atomic_load(&w->beats);
	int ticks = 0;

	writer_finish(w);
	while (!atomic_load_explicit(&w->done, memory_order_acquire)) {
		struct pollfd again = { .fd = s->signal_fd, .events = POLLIN };

		if (poll(&again, 1, ticks < 4 ? 2 : TICK_MS) > 0 && signal_before)
			return false; /* a second signal: end at once */
		if (again.revents)
			read_signal(s);
		if (atomic_load(&w->beats) != beats) {
			beats = atomic_load(&w->beats);
			ticks = 0;
		} else if (++ticks == limit / 2) {
			rt_pin(w->tid, &s->allowed); /* perhaps the writer itself is starved */
		} else if (ticks >= limit) {
			return false;
		}
	}
	return true;
}

static void report_events(struct session *s)
{
	const struct run *run = &s->run;
	const enum stop_reason why = atomic_load(&run->stop) ? run->stop_reason : STOP_NONE;

	if (why == STOP_SIGNAL)
		report_signal(s, s->stop_signal, run->close_ns);
	if (why == STOP_OWNER)
		report_event(s, "owner_gone", -1, run->close_ns);
	for (int i = 0; i < run->n_lanes; i++) {
		if (s->moved[i].at_ns)
			report_moved(s, i);
		if (!lane_ended(&run->lanes[i]))
			report_event(s, "lane_abandoned", i, mono_ns());
	}
	if (why == STOP_BREAK) {
		const char *kept = trace_keep(&s->trace, &s->run, plan_text(s->plan, "output"));

		report_break(s, kept, *s->trace.error ? s->trace.error : NULL);
		say_note("CPU %d was %.1f us late, above --break-above %.1f us; %s%s", run->lanes[run->break_lane].cpu,
			 (double)run->break_latency_ns / 1e3, (double)run->break_ns / 1e3,
			 kept ? "the trace is in " : "no trace: ", kept ? kept : s->trace.error);
	}
}

static int write_error(const struct session *s, int error)
{
	if (error == EPIPE)
		return say_fail(EXIT_BOARD, "the reader of the stream went away (%s)", strerror(error));
	return say_fail(EXIT_BOARD, "the stream could not be written: %s%s", strerror(error),
			error == ENOSPC && s->writer.keep_samples ? "; free some space, or keep less with --no-samples" : "");
}

/* Reason and exit code of a run that came to its end. */
static int judge(struct session *s, const char **reason)
{
	const struct run *run = &s->run;

	*reason = "duration";
	switch (atomic_load(&run->stop) ? run->stop_reason : STOP_NONE) {
	case STOP_SIGNAL:
		*reason = "signal";
		return 128 + s->stop_signal;
	case STOP_BREAK:
		*reason = "break";
		return EXIT_HIT;
	case STOP_OWNER:
		*reason = "owner";
		return EXIT_BOARD;
	case STOP_ERROR:
		*reason = "error";
		return EXIT_BOARD;
	case STOP_NONE: /* every lane ended by itself */
		if (run->count)
			*reason = "count";
		break;
	case STOP_TIME:
		break;
	}
	return EXIT_DONE;
}

int supervise(struct session *s)
{
	const char *reason;
	int code, error;

	wait_end(s);
	if (!wait_lanes(s, GRACE_TICKS))
		end_starved(s);
	wait_capture(s);
	if (!wait_writer(s)) {
		if (s->stop_signal)
			return 128 + s->stop_signal;
		return say_fail(EXIT_BOARD, "nobody reads the stream any more: it ends without its END frame");
	}
	code = judge(s, &reason);
	error = s->writer.emit.error;
	if (error) { /* cutting back to a whole frame may have freed room for these frames */
		reason = "error";
		code = EXIT_BOARD;
		s->writer.emit.error = 0;
	}
	report_events(s);
	if (s->capture_done)
		capture_remove(&s->capture);
	s->writer.emit.error = error;
	report_end(s, reason, code);
	s->writer.emit.error = 0;
	if (emit_flush(&s->writer.emit) && !error) {
		error = s->writer.emit.error;
		code = EXIT_BOARD;
	}
	if (s->text) {
		text_rows(s, STDOUT_FILENO, false);
		text_summary(s, STDOUT_FILENO, reason);
	}
	return error ? write_error(s, error) : code;
}
