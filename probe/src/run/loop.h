/* What the helper commands (guard, watch, load) share: waiting for signals, the owner, the clock and room in the output, and a
 * stream that never blocks them. cyclic has its own ways: it must not share a line with these. */
#ifndef RTPROBE_LOOP_H
#define RTPROBE_LOOP_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/outlet.h"

enum { LOOP_MAX_EXTRA = 5 };

struct loop {
	struct outlet out;
	int signals;        /* signalfd */
	bool attached;      /* stdin is watched: its end is the owner's end */
	short owner_events; /* POLLIN, or 0 where stdin cannot be read but can still hang up */
	sigset_t old_mask;
	struct sigaction old_int, old_pipe, old_ttin;
	int stop_signal;    /* SIGTERM, SIGINT, SIGHUP or SIGQUIT came: the last one */
	int stops;          /* how often */
	bool owner_gone;
};

/* `path` NULL: stdout. With `stream` false nothing is ever written. 0, or an exit code after having said why. */
int loop_open(struct loop *l, const char *path, bool stream, bool attached);
/* Signal dispositions and mask as this process found them, for a child about to exec. Async-signal-safe. */
void loop_undo_signals(const struct loop *l);
/* Sleeps until one of: a signal, the owner's end, data on `extra`, room for pending output (which is then written), `until_ns` on
 * CLOCK_MONOTONIC (INT64_MAX: for ever). Sets stop_signal, owner_gone and extra[].revents. */
void loop_wait(struct loop *l, int64_t until_ns, struct pollfd *extra, int n_extra);
bool loop_asked_to_end(const struct loop *l);
/* Writes what is pending, until it is written, writing fails, `until_ns` is reached, or (with `yields`) the end is asked for.
 * Returns the bytes left over. */
size_t loop_drain(struct loop *l, int64_t until_ns, bool yields, size_t down_to);
/* Drains at the end of a command and closes: as long as the reader takes where it ended by itself, 2 s where it was told to end.
 * Says what could not be written. `exit_code`, or EXIT_BOARD if it was EXIT_DONE and the stream is not whole. */
int loop_close(struct loop *l, int64_t until_ns, int exit_code);

#endif
