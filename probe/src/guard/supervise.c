#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "guard/guard.h"
#include "os/clock.h"

enum { OUTPUT_BLOCK = 65536 };
static const int64_t ms_ns = 1000000;
/*
 * Between SIGTERM and SIGKILL: stress-ng needed 2.4 s under load. Only time in which the guard itself runs counts, at most `step_ns` from
 * one look to the next: while the machine stands still, the command cannot end either. `grace_limit_ns` bounds the grace in any case.
 */
static const int64_t grace_ns = 10000000000;
static const int64_t grace_limit_ns = 20000000000;
static const int64_t command_alone_ns = 4000000000; /* of the grace, in which the command may end its children itself */
static const int64_t look_ns = 50000000, step_ns = 100000000;
static const int64_t reap_patience_ns = 200000000;   /* after the command's end, until unreaped children count as left over */
static const int64_t kill_patience_ns = 10000000000; /* then only processes stuck in the kernel can be left */

/* No descendant is left: orphans become our children. */
static bool childless(const struct guard *g)
{
	return atomic_load(&g->reaper.childless);
}

/* Has the command ended? */
static void look(struct guard *g)
{
	if (!g->exited && reaper_look(g->child, &g->end)) {
		g->exited = true;
		g->exited_ns = mono_ns();
		reaper_release(&g->reaper);
		guard_send_exited(g);
	}
}

/* Called while the reader of the stream keeps up. Otherwise the command has to wait, as at a full pipe. */
bool guard_take_output(struct guard *g, int which)
{
	static unsigned char block[16 + OUTPUT_BLOCK];
	ssize_t n = read(g->pipe[which], block + 16, OUTPUT_BLOCK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close(g->pipe[which]);
		g->pipe[which] = -1;
		return false;
	}
	put_u64(block, (uint64_t)mono_ns());
	put_u32(block + 8, (uint32_t)which + 1);
	put_u32(block + 12, 0);
	outlet_frame(&g->loop.out, FRAME_OUTPUT, block, 16 + (size_t)n);
	return true;
}

static void take_usage(struct guard *g)
{
	struct usage u;
	ssize_t n = read(g->standby.usage_fd, &u, sizeof u);

	if (n == (ssize_t)sizeof u) {
		guard_send_usage(g, &u);
	} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		close(g->standby.usage_fd); /* its process is gone */
		g->standby.usage_fd = -1;
	}
}

static bool max_reached(struct guard *g)
{
	uint64_t expired;

	return g->timer >= 0 && read(g->timer, &expired, sizeof expired) > 0;
}

static void begin_end(struct guard *g, const char *why)
{
	g->why = why;
	g->phase = ASKED;
	g->looked_ns = mono_ns();
	g->phase_until_ns = g->looked_ns + grace_limit_ns;
	family_ask(&g->family, !g->exited);
}

/* While the command runs: is there a reason to end it? */
static void decide(struct guard *g)
{
	if (g->loop.out.error && g->loop.attached)
		g->loop.owner_gone = true; /* nobody reads any more */
	if (g->loop.owner_gone) {
		guard_send_owner_gone(g);
		begin_end(g, "owner");
	} else if (g->loop.stop_signal) {
		begin_end(g, "signal");
	} else if (max_reached(g)) {
		begin_end(g, "max");
	} else if (g->exited && mono_ns() >= g->exited_ns + reap_patience_ns) {
		begin_end(g, "child");
	}
}

static bool grace_is_over(struct guard *g, int64_t now)
{
	int64_t since = now - g->looked_ns;

	g->looked_ns = now;
	g->grace_used_ns += since < step_ns ? since : step_ns;
	return g->grace_used_ns >= grace_ns || now >= g->phase_until_ns;
}

static void go_on_ending(struct guard *g, int stops_before)
{
	int64_t now = mono_ns();

	if (g->phase == ASKED && (grace_is_over(g, now) || g->loop.stops > stops_before)) {
		g->phase = KILLING;
		g->phase_until_ns = now + kill_patience_ns;
		g->in_group = group_count(&g->group);
		if (group_kill(&g->group)) {
			g->group_killed_ns = now;
			return;
		}
	}
	if (g->phase == ASKED) {
		/* stress-ng ends its workers itself, and reports an error if somebody else does. */
		family_ask(&g->family, !g->exited && g->grace_used_ns < command_alone_ns);
	} else if (now < g->phase_until_ns) {
		family_kill(&g->family);
	} else {
		g->stuck = family_alive(&g->family);
		g->phase = GONE;
	}
}

/* When to look again at the latest. Scans of /proc are spaced, so that the guard itself does not use up the CPU. */
static int64_t next_look_ns(const struct guard *g)
{
	if (g->phase == RUNNING)
		return g->exited ? g->exited_ns + reap_patience_ns : INT64_MAX;
	if (g->phase == KILLING && mono_ns() < g->group_killed_ns + look_ns)
		return g->group_killed_ns + look_ns; /* then the family: processes that left the cgroup */
	return mono_ns() + (g->phase == ASKED ? look_ns : 2 * ms_ns);
}

static void wait_for_news(struct guard *g)
{
	bool room = outlet_pending(&g->loop.out) < OUTLET_ROOM;
	struct pollfd extra[5] = {
		{ .fd = g->phase == RUNNING ? g->timer : -1, .events = POLLIN },
		{ .fd = room ? g->pipe[0] : -1, .events = POLLIN },
		{ .fd = room ? g->pipe[1] : -1, .events = POLLIN },
		{ .fd = room ? g->standby.usage_fd : -1, .events = POLLIN },
		{ .fd = childless(g) ? -1 : g->reaper.fd, .events = POLLIN },
	};

	loop_wait(&g->loop, next_look_ns(g), extra, 5);
	for (int i = 0; i < 2; i++)
		if (extra[1 + i].revents)
			guard_take_output(g, i);
	if (extra[3].revents)
		take_usage(g);
}

void guard_supervise(struct guard *g)
{
	int stops = 0;
	int64_t next_ns = 0;

	while (g->phase != GONE) {
		wait_for_news(g);
		look(g);
		if (g->phase == RUNNING) {
			if (g->exited && childless(g) && !loop_asked_to_end(&g->loop)) {
				g->why = "child";
				g->phase = GONE;
				return;
			}
			decide(g);
			stops = g->loop.stops;
			next_ns = next_look_ns(g);
		} else if (childless(g)) {
			g->phase = GONE;
		} else if (mono_ns() >= next_ns || g->loop.stops > stops) {
			go_on_ending(g, stops);
			stops = g->loop.stops;
			next_ns = next_look_ns(g);
		}
	}
	guard_send_killed(g);
}
