/* The thread that empties the rings: it counts every sample (run/sink.h) and writes the stream. */
#ifndef RTPROBE_WRITER_H
#define RTPROBE_WRITER_H

#include "stream/emit.h"
#include "run/capture.h"
#include "run/lane.h"
#include "run/sink.h"

enum { WRITER_CPUS = 256 };

struct writer {
	struct run *run;
	struct sink *sinks;
	struct emit emit;
	bool keep_samples;
	struct capture *capture; /* NULL: an untraced run */
	bool levels_set;
	int64_t batch_ns;
	int priority; /* wanted: FIFO, 0 for OTHER */
	struct cpus cpus;

	pid_t tid;
	int wake_fd; /* eventfd */
	_Atomic int ready, start, finish, done;
	_Atomic uint32_t beats; /* counts its rounds: a sign of progress */
	struct obtained obtained;

	uint32_t max_ring_fill;
	int64_t cpu_ns, cpu_ns_by_cpu[WRITER_CPUS]; /* CPUs beyond are added to the last */
};

int writer_start(struct writer *w);  /* the thread waits until `start`; 0 or errno */
void writer_go(struct writer *w);    /* FACTS are written: begin */
void writer_finish(struct writer *w); /* lanes are closed: drain, write what remains, set `done` */

#endif
