/* The text of the kernel's tracers, as trace_pipe shows it. Each function takes one line without its end. */
#ifndef RTPROBE_TRACER_TEXT_H
#define RTPROBE_TRACER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { TRACER_LINE = 512 }; /* no line of them is as long */

enum timerlat_context { TIMERLAT_IRQ, TIMERLAT_THREAD, TIMERLAT_USER, TIMERLAT_CONTEXTS };

struct timerlat_sample {
	enum timerlat_context context;
	uint64_t number; /* of the activation, counted by the kernel for each CPU; all contexts have the same */
	int64_t latency_ns;
	int64_t at_ns; /* when it was recorded, by the trace's clock, rounded to 1 us */
};

/* One window of osnoise; the kernel gives whole microseconds. */
struct osnoise_sample {
	int64_t at_ns;                /* its end, as above */
	int64_t runtime_ns;           /* how long it was */
	int64_t noise_ns, longest_ns; /* taken in it, and at once */
};

/* What hwlat found in one window; the kernel gives whole microseconds. */
struct hwlat_sample {
	int64_t at_ns; /* its end, as above */
	int64_t longest_ns;
};

/* False: it is no sample. */
bool timerlat_parse(const char *line, struct timerlat_sample *sample);
/* False: it is no window. */
bool osnoise_parse(const char *line, struct osnoise_sample *sample);
/* False: it is no finding. */
bool hwlat_parse(const char *line, struct hwlat_sample *sample);

#endif
