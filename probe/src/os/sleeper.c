#include "os/sleeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/rt.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static const int64_t step_seen_ns = 1000; /* a smaller step is not told from the cost of reading two clocks */

const char *const sleep_way_names[] = { "clock_nanosleep", "timerfd", "signal", "poll", NULL };
const char *const sleep_clock_names[] = { "monotonic", "realtime", "tai", "boottime", NULL };
static const clockid_t clock_ids[SLEEP_CLOCKS] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_TAI, CLOCK_BOOTTIME };

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
}

/* --- the clock --- */

struct range {
	int64_t least, most;
};

/* The offset lies between these: the clock is read between two readings of CLOCK_MONOTONIC. */
static struct range offset_range(clockid_t clock)
{
	const int64_t before = mono_ns();
	struct timespec now = { 0 };
	int64_t at;

	clock_gettime(clock, &now);
	at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	return (struct range){ at - mono_ns(), at - before };
}

/* The offset is one number, so it lies in every range that is read; together they leave a few ns. */
static int64_t find_offset(clockid_t clock)
{
	enum { READS = 50 };
	struct range found = offset_range(clock);

	for (int i = 1; i < READS; i++) {
		const struct range more = offset_range(clock);

		if (more.least > found.most || more.most < found.least) {
			found = more; /* the clock was set between two readings */
			continue;
		}
		found.least = more.least > found.least ? more.least : found.least;
		found.most = more.most < found.most ? more.most : found.most;
	}
	return found.least + (found.most - found.least) / 2;
}

bool sleeper_was_set(struct sleeper *s)
{
	struct range now;

	if (s->clock == CLOCK_MONOTONIC)
		return false;
	now = offset_range(s->clock);
	if (s->offset_ns >= now.least - step_seen_ns && s->offset_ns <= now.most + step_seen_ns)
		return false;
	s->offset_ns = find_offset(s->clock);
	s->steps++;
	return true;
}

/* --- the ways --- */

static int signal_number(void)
{
	return SIGRTMIN + 5; /* the C library, the run and response have those below */
}

static sigset_t signal_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_number());
	return set;
}

static int open_timer(struct sleeper *s)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID };
	const sigset_t set = signal_set();
	const int error = pthread_sigmask(SIG_BLOCK, &set, NULL);

	event.sigev_signo = signal_number();
	event.sigev_notify_thread_id = rt_tid();
	if (error)
		return error;
	return timer_create(s->clock, &event, &s->timer) ? errno : 0;
}

int sleeper_open(struct sleeper *s, enum sleep_way way, enum sleep_clock clock)
{
	struct timespec now;

	*s = (struct sleeper){ .way = way, .clock = clock_ids[clock], .fd = -1 };
	if (clock_gettime(s->clock, &now))
		return errno;
	if (s->clock != CLOCK_MONOTONIC)
		s->offset_ns = find_offset(s->clock);
	switch (way) {
	case SLEEP_TIMERFD:
		s->fd = timerfd_create(s->clock, TFD_CLOEXEC);
		return s->fd < 0 ? errno : 0;
	case SLEEP_SIGNAL:
		return open_timer(s);
	case SLEEP_POLL: /* the kernel counts a time-out by CLOCK_MONOTONIC only */
		return s->clock == CLOCK_MONOTONIC ? 0 : EINVAL;
	default:
		return rt_sleep_by(s->clock, 0);
	}
}

void sleeper_close(struct sleeper *s)
{
	if (s->way == SLEEP_TIMERFD)
		close(s->fd);
	else if (s->way == SLEEP_SIGNAL)
		timer_delete(s->timer);
}

static int by_timerfd(const struct sleeper *s, int64_t at_ns)
{
	const struct itimerspec until = { .it_value = to_timespec(at_ns) };
	uint64_t expirations;

	if (timerfd_settime(s->fd, TFD_TIMER_ABSTIME, &until, NULL))
		return errno;
	return read(s->fd, &expirations, sizeof expirations) < 0 ? errno : 0;
}

/* A signal of an earlier moment, that came when another signal had ended the sleep, ends this one: the caller sees that it is too early. */
static int by_signal(const struct sleeper *s, int64_t at_ns)
{
	const struct itimerspec until = { .it_value = to_timespec(at_ns) };
	const sigset_t set = signal_set();

	if (timer_settime(s->timer, TIMER_ABSTIME, &until, NULL))
		return errno;
	return sigwaitinfo(&set, NULL) < 0 ? errno : 0;
}

static int by_poll(int64_t due_ns)
{
	const int64_t left_ns = due_ns - mono_ns();
	const struct timespec time_out = to_timespec(left_ns > 0 ? left_ns : 0);

	return ppoll(NULL, 0, &time_out, NULL) < 0 ? errno : 0;
}

int sleeper_until(const struct sleeper *s, int64_t due_ns)
{
	switch (s->way) {
	case SLEEP_TIMERFD:
		return by_timerfd(s, due_ns + s->offset_ns);
	case SLEEP_SIGNAL:
		return by_signal(s, due_ns + s->offset_ns);
	case SLEEP_POLL:
		return by_poll(due_ns);
	default:
		return rt_sleep_by(s->clock, due_ns + s->offset_ns);
	}
}
