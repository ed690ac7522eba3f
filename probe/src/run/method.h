/* A way to measure: one file in methods/ that ends in one of these, plus one line in methods.def (docs/extend/methods.md).
 * The threads, the grid of due times, the histogram, the stream, the end of the run and its shared settings are the same for all.
 */
#ifndef RTPROBE_METHOD_H
#define RTPROBE_METHOD_H

#include "os/plan.h"
#include "run/lane.h"

struct method {
	const char *name;    /* as the user types it: rtprobe NAME */
	const char *summary; /* one line, no full stop */
	/* What the latency is: "wake-up" ... (wire/STREAM.md, "Measures"). `prepare` may set run->measure to a finer one. */
	const char *measure;
	const struct option_spec *settings; /* its own, beside the shared ones; ends with .name = NULL; NULL: none */
	/* Once, before any lane starts: run->lanes have their CPUs, and signals are blocked. 0, or an exit code (os/say.h) after an
	 * error message. NULL: there is nothing to prepare. */
	int (*prepare)(const struct plan *plan, struct run *run);
	/* In the thread of each lane, which has its CPU and its policy: the measuring loop (run/account.h). */
	void (*measure_lane)(struct lane *lane);
	/* After the last lane has ended: puts back what `prepare` changed outside of this process. NULL: nothing. */
	void (*end)(struct run *run);
	bool spins;          /* its lanes never sleep */
	bool takes_deadline; /* --policy deadline makes sense */
	/* Lanes on each CPU, side by side in run->lanes; 0: one. `prepare` may give them other CPUs, names and measures, and take some away. */
	int lanes_per_cpu;
};

/* The settings of every way to measure; ends with .name = NULL. */
extern const struct option_spec shared_settings[];
/* For a method whose thread is busy all the time: it is an ordinary one unless the user asks for a policy. It then needs no right, and leaves
 * its CPU to others. To be called by `prepare`. */
void settings_ordinary(const struct plan *plan, struct run *run);
/* For the same methods: with a real-time policy one CPU must be left for the rest of the board. 0, or an exit code after an error message. */
int settings_leave_a_cpu(const struct run *run);

/* Measures as `plan` says; ends the process, and so its threads, with the exit code. */
_Noreturn void measure(const struct method *method, const struct plan *plan);

#endif
