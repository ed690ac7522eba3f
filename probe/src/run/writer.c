#include "run/writer.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

static const int64_t HISTOGRAM_EVERY_NS = INT64_C(10000000000);

static void note_cpu_time(struct writer *w)
{
	struct timespec t;
	int64_t now;
	int cpu = sched_getcpu();

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (cpu < 0 || cpu >= WRITER_CPUS)
		cpu = WRITER_CPUS - 1;
	w->cpu_ns_by_cpu[cpu] += now - w->cpu_ns;
	w->cpu_ns = now;
}

/* Takes all samples that wait now, in slices, so that a long backlog needs no large buffer. */
static void drain(struct writer *w)
{
	for (int i = 0; i < w->run->n_lanes; i++) {
		struct ring *ring = &w->run->lanes[i].ring;
		uint32_t waiting = ring_waiting(ring);

		if (waiting > w->max_ring_fill)
			w->max_ring_fill = waiting;
		while (waiting) {
			uint32_t slice = waiting < SINK_BLOCK ? waiting : SINK_BLOCK;

			for (uint32_t j = 0; j < slice; j++)
				sink_take(&w->sinks[i], ring_at(ring, j));
			ring_release(ring, slice);
			waiting -= slice;
		}
		sink_gaps(&w->sinks[i]);
		sink_flush(&w->sinks[i]);
	}
}

/* Sends what the capturing thread has for us. */
static void deliver_trace(struct writer *w)
{
	if (!w->capture)
		return;
	capture_deliver(w->capture, &w->emit);
	for (int i = 0; !w->levels_set && i < w->run->n_lanes; i++)
		sink_set_level(&w->sinks[i]);
	w->levels_set = atomic_load_explicit(&w->run->tracing, memory_order_acquire);
}

static void wait_start(struct writer *w)
{
	while (!atomic_load_explicit(&w->start, memory_order_acquire))
		syscall(SYS_futex, &w->start, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void *writer_thread(void *argument)
{
	struct writer *w = argument;
	struct pollfd wake = { .fd = w->wake_fd, .events = POLLIN };
	const int batch_ms = (int)(w->batch_ns / 1000000);
	int64_t histogram_at;

	w->tid = rt_tid();
	prctl(PR_SET_NAME, "rtprobe-writer");
	rt_pin(0, &w->cpus);
	if (w->priority)
		rt_set_policy(0, SCHED_FIFO, w->priority);
	w->obtained = rt_look(0);
	atomic_store_explicit(&w->ready, 1, memory_order_release);
	wait_start(w);
	emit_flush(&w->emit); /* FACTS: the reader waits for them */
	histogram_at = mono_ns() + HISTOGRAM_EVERY_NS;
	while (!atomic_load_explicit(&w->finish, memory_order_acquire)) {
		poll(&wake, 1, batch_ms);
		drain(w);
		deliver_trace(w);
		if (!w->keep_samples && mono_ns() >= histogram_at) {
			for (int i = 0; i < w->run->n_lanes; i++)
				sink_histogram(&w->sinks[i]);
			histogram_at += HISTOGRAM_EVERY_NS;
		}
		if (emit_flush(&w->emit))
			run_stop(w->run, STOP_ERROR, mono_ns());
		note_cpu_time(w);
		atomic_fetch_add_explicit(&w->beats, 1, memory_order_relaxed);
	}
	drain(w);
	deliver_trace(w);
	for (int i = 0; i < w->run->n_lanes; i++) {
		/* Read the counts after the drain. A lane counts a sample before it puts it into the ring, so no sample is without its count. */
		struct lane_stats stats = lane_look(&w->run->lanes[i]);

		sink_finish(&w->sinks[i], &stats);
		atomic_fetch_add_explicit(&w->beats, 1, memory_order_relaxed);
	}
	emit_flush(&w->emit);
	note_cpu_time(w);
	atomic_store_explicit(&w->done, 1, memory_order_release);
	for (;;)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
	return NULL;
}

int writer_start(struct writer *w)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, writer_thread, w);
	pthread_attr_destroy(&attributes);
	return error;
}

void writer_go(struct writer *w)
{
	atomic_store_explicit(&w->start, 1, memory_order_release);
	syscall(SYS_futex, &w->start, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void writer_finish(struct writer *w)
{
	const uint64_t one = 1;

	atomic_store_explicit(&w->finish, 1, memory_order_release);
	if (write(w->wake_fd, &one, sizeof one) < 0)
		return; /* it also looks at the end of its batch */
}
