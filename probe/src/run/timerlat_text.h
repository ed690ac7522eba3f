/* The text of the kernel's timerlat tracer, as trace_pipe shows it. */
#ifndef RTPROBE_TIMERLAT_TEXT_H
#define RTPROBE_TIMERLAT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum timerlat_context { TIMERLAT_IRQ, TIMERLAT_THREAD, TIMERLAT_CONTEXTS };

struct timerlat_sample {
	enum timerlat_context context;
	uint64_t number; /* of the activation, counted by the kernel for each CPU; both contexts have the same */
	int64_t latency_ns;
	int64_t at_ns; /* when it was recorded, by the trace's clock, rounded to 1 us */
};

/* One line without its end. False: it is no sample of the interrupt or the thread. */
bool timerlat_parse(const char *line, struct timerlat_sample *sample);

#endif
