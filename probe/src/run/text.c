/* Rows for people, like those of cyclictest. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "run/session.h"

static void put(int fd, const char *text, int length, size_t size)
{
	if (length > 0 && write(fd, text, (size_t)length < size ? (size_t)length : size - 1) < 0)
		return; /* the terminal is gone: the run goes on */
}

void text_rows(const struct session *s, int fd, bool redraw)
{
	const struct run *run = &s->run;
	char line[256];

	if (redraw)
		put(fd, line, snprintf(line, sizeof line, "\033[%dA", run->n_lanes + 1), sizeof line);
	put(fd, line,
	    snprintf(line, sizeof line, "%4s %-6s %4s %10s %12s %10s %10s %10s %10s %10s\n", "CPU", "policy", "prio", "every us", "count",
		     "min us", "act us", "avg us", "max us", "missed"),
	    sizeof line);
	for (int i = 0; i < run->n_lanes; i++) {
		const struct lane *lane = &run->lanes[i], *by = lane->taken_by ? lane->taken_by : lane;
		struct lane_stats stats = lane_look(lane);
		double n = stats.count ? (double)stats.count : 1;
		bool any = stats.count > 0;

		put(fd, line,
		    snprintf(line, sizeof line, "%4d %-6s %4d %10.1f %12" PRIu64 " %10.1f %10.1f %10.1f %10.1f %10" PRIu64 "%s%s\n",
			     lane->cpu, rt_policy_name(by->got_policy), by->got_priority, (double)run->interval_ns / 1e3, stats.count,
			     any ? (double)stats.min_ns / 1e3 : 0, (double)stats.last_ns / 1e3, (double)stats.sum_ns / n / 1e3,
			     any ? (double)stats.max_ns / 1e3 : 0, stats.missed, lane->name ? "  " : "", lane->name ? lane->name : ""),
		    sizeof line);
	}
}

void text_summary(const struct session *s, int fd, const char *reason)
{
	static const uint64_t ladder[][2] = {
		{ 1, 2 }, { 99, 100 }, { 999, 1000 }, { 9999, 10000 }, { 99999, 100000 }, { 999999, 1000000 }
	};
	const struct run *run = &s->run;
	char line[256];

	put(fd, line,
	    snprintf(line, sizeof line, "\nended: %s\n%4s %12s %8s %8s %9s %10s %10s %10s %10s %10s %10s %10s\n", reason, "CPU", "n",
		     "missed", "dropped", "truncated", "p50 us", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max us"),
	    sizeof line);
	for (int i = 0; i < run->n_lanes; i++) {
		struct sink *sink = &s->writer.sinks[i];
		const struct lane_stats *stats = &sink->last;
		uint64_t due = lane_due(&run->lanes[i], lane_closed_ns(&run->lanes[i], stats));

		put(fd, line,
		    snprintf(line, sizeof line, "%4d %12" PRIu64 " %8" PRIu64 " %8" PRIu64 " %9" PRIu64, run->lanes[i].cpu, sink->n,
			     stats->missed, stats->count - sink->n, due > stats->next_k ? due - stats->next_k : 0),
		    sizeof line);
		for (size_t q = 0; q < sizeof ladder / sizeof *ladder; q++) {
			/* A quantile with no sample above it is only the maximum: leave it out. */
			bool enough = sink->n >= ladder[q][1];

			put(fd, line,
			    enough || q == 0 ? snprintf(line, sizeof line, " %10.1f",
							(double)hist_quantile(&sink->hist, ladder[q][0], ladder[q][1]) / 1e3)
					     : snprintf(line, sizeof line, " %10s", "-"),
			    sizeof line);
		}
		put(fd, line,
		    snprintf(line, sizeof line, " %10.1f%s%s\n", stats->count ? (double)stats->max_ns / 1e3 : 0,
			     run->lanes[i].name ? "  " : "", run->lanes[i].name ? run->lanes[i].name : ""),
		    sizeof line);
	}
}
