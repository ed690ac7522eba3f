/* The event loop of the helper commands (guard, watch, load, repeat): it waits for signals, the end of the owner, a time, and room in the
 * output. Measurements do not use it (run/supervise.c). */
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
	bool attached;      /* the end of stdin is the end of the owner */
	short owner_events; /* POLLIN, or 0 where stdin cannot be read but can still hang up */
	sigset_t old_mask;
	struct sigaction old_int, old_pipe, old_ttin;
	int stop_signal;    /* SIGTERM, SIGINT, SIGHUP or SIGQUIT came: the last one */
	int stops;          /* how often */
	bool owner_gone;
};

/* `path` NULL: stdout. With `stream` false nothing is written. 0, or an exit code after an error message. */
int loop_open(struct loop *l, const char *path, bool stream, bool attached);
/* Restores the signal handlers and mask this process started with, in a child before exec. Async-signal-safe. */
void loop_undo_signals(const struct loop *l);
/* Sleeps until one of: a signal, the owner's end, data on `extra`, room for pending output (which is then written), `until_ns` on
 * CLOCK_MONOTONIC (INT64_MAX: for ever). Sets stop_signal, owner_gone and extra[].revents. */
void loop_wait(struct loop *l, int64_t until_ns, struct pollfd *extra, int n_extra);
bool loop_asked_to_end(const struct loop *l);
/* Writes what is pending until `down_to` bytes are left, writing fails, `until_ns` is reached, or (with `yields`) the command is asked to
 * end. Returns the bytes left. */
size_t loop_drain(struct loop *l, int64_t until_ns, bool yields, size_t down_to);
/* Writes the rest and closes. It waits for the reader until `until_ns`, or 2 s if the command was asked to end. Reports bytes that could
 * not be written, and then turns EXIT_DONE into EXIT_BOARD. */
int loop_close(struct loop *l, int64_t until_ns, int exit_code);

#endif
