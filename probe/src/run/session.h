/* One run from start to end: what was asked, what was obtained, and the threads. */
#ifndef RTPROBE_SESSION_H
#define RTPROBE_SESSION_H

#include "os/clock.h"
#include "os/plan.h"
#include "os/rt.h"
#include "run/capture.h"
#include "run/lane.h"
#include "run/writer.h"

enum { REASON_TEXT = 400 };

/* trace.c: ftrace around --break-above */
struct trace {
	const char *root; /* tracefs */
	char error[REASON_TEXT];
	bool was_on;
};

/* A lane that could not end on its own CPU. */
struct moved {
	int64_t at_ns; /* 0: it was not moved */
	int64_t migrations; /* of the thread until then: this move is none of the measurement; -1: not known */
	struct cpus to;
};

struct session {
	const struct plan *plan;
	struct run run;
	struct writer writer;

	struct cpus allowed, measured, housekeeping; /* as found; lanes; writer and main */
	uint64_t ring_samples;
	int64_t spill_per_second;
	bool mlock_wanted, mlocked, attached, text;
	char mlock_error[REASON_TEXT], fallback[REASON_TEXT], dma_error[REASON_TEXT];
	int64_t dma_latency_us; /* held; -1: not */
	int64_t timer_slack_ns;
	struct clock_facts clock;
	pid_t main_tid, parent;
	int signal_fd, stop_signal;
	uint64_t overruns;
	int out_fd;
	struct obtained main_obtained;
	int64_t main_cpu_start_ns;

	struct trace trace;
	struct capture capture;
	bool capture_done; /* its thread has ended; else END knows less */

	struct moved *moved; /* a lane each */
};

/* settings.c: what was asked. 0, or an exit code after an error message. */
int settings_take(struct session *s);
int settings_cpus(struct session *s);
int settings_output(struct session *s);

/* prepare.c: what can be had. 0, or an exit code after an error message. */
int prepare_signals(struct session *s);
int prepare_lanes(struct session *s); /* only their CPUs: prepare_memory gives them memory */
int prepare_memory(struct session *s);
void hold_idle_states(struct session *s); /* /dev/cpu_dma_latency */
void limit_spinning(const struct run *run);

/* supervise.c: from the first due time to END; returns the exit code */
int supervise(struct session *s);

/* trace.c */
void trace_open(struct trace *t, struct run *run);
/* Copies the trace to a new file beside `output` (NULL: in the temporary directory) and switches tracing on again if it was on.
 * The path (static), or NULL with t->error. */
const char *trace_keep(struct trace *t, struct run *run, const char *output);

/* report.c */
void report_facts(struct session *s);
void report_event(struct session *s, const char *name, int lane, int64_t at_ns);
void report_signal(struct session *s, int number, int64_t at_ns);
void report_moved(struct session *s, int lane);
void report_break(struct session *s, const char *trace, const char *trace_error);
void report_end(struct session *s, const char *reason, int exit_code);

/* text.c: rows for people on `fd` (a terminal is redrawn in place) */
void text_rows(const struct session *s, int fd, bool redraw);
void text_summary(const struct session *s, int fd, const char *reason);

#endif
