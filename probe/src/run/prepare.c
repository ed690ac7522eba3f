/* What a run gets before its threads start: signals, lanes, memory, idle states. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/files.h"
#include "os/say.h"
#include "run/method.h"
#include "run/session.h"

enum { SIGNAL_STACK = 64 * 1024 };

static const int64_t ring_holds_ns = INT64_C(10000000000);

/* Signals to the supervisor, taken by a thread of their own. A signalfd would wake the supervisor at each signal to any thread, and --by signal
 * sends thousands a second. */
struct signals {
	sigset_t set;
	int out; /* a pipe of ints */
};

static void *signal_thread(void *argument)
{
	const struct signals *signals = argument;

	for (;;) {
		const int number = sigwaitinfo(&signals->set, NULL);

		if (number > 0 && write(signals->out, &number, sizeof number) < 0)
			return NULL;
	}
	return NULL;
}

/* The end of a pipe that signals can be read from, or -1 and errno. */
static int open_signals(const sigset_t *set)
{
	static struct signals signals;
	pthread_attr_t attributes;
	pthread_t thread;
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	signals = (struct signals){ *set, ends[1] };
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, SIGNAL_STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, signal_thread, &signals);
	pthread_attr_destroy(&attributes);
	errno = error;
	return error ? -1 : ends[0];
}

static void on_wake(int number)
{
	(void)number; /* the signal only ends a sleep */
}

int prepare_signals(struct session *s)
{
	struct sigaction wake = { .sa_handler = on_wake };
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGUSR1, &wake, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (s->run.policy == POLICY_DEADLINE)
		sigaddset(&set, SIGXCPU);
	sigprocmask(SIG_BLOCK, &set, NULL); /* threads inherit the mask; each lane unblocks SIGUSR1 */
	sigdelset(&set, SIGUSR1);
	s->signal_fd = open_signals(&set);
	s->run.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->writer.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->signal_fd < 0 || s->run.wake_fd < 0 || s->writer.wake_fd < 0)
		return say_fail(EXIT_BOARD, "no thread for signals, or no eventfd: %s", strerror(errno));
	s->parent = getppid();
	if (s->attached)
		prctl(PR_SET_PDEATHSIG, SIGUSR2);
	return EXIT_DONE;
}

/* The kernel ends us if a real-time thread spins, so that a bug cannot block the board. */
void limit_spinning(const struct run *run)
{
	struct rlimit limit = { 2000000, 3000000 }; /* us of CPU time without a sleep */
	const int64_t planned_ns = run->duration_ns ? run->duration_ns : 2 * (int64_t)run->count * run->interval_ns;

	if (run->method->spins) {
		limit.rlim_cur += (rlim_t)(planned_ns / 1000);
		limit.rlim_max += (rlim_t)(planned_ns / 1000);
	}
	if (run->policy == SCHED_FIFO || run->policy == SCHED_RR)
		setrlimit(RLIMIT_RTTIME, &limit);
}

void hold_idle_states(struct session *s)
{
	const int64_t us = plan_number(s->plan, "dma-latency");

	s->dma_latency_us = -1;
	if (us < 0)
		return;
	if (rt_hold_dma_latency((int32_t)us) < 0)
		snprintf(s->dma_error, sizeof s->dma_error, "/dev/cpu_dma_latency: %s", strerror(errno));
	else
		s->dma_latency_us = us;
}

static bool may_lock(uint64_t bytes)
{
	char text[8192];
	const char *caps;
	struct rlimit limit;

	if (read_small("/proc/self/status", text, sizeof text) > 0 && (caps = strstr(text, "\nCapEff:")) &&
	    strtoull(caps + 8, NULL, 16) >> 14 & 1) /* CAP_IPC_LOCK */
		return true;
	return !getrlimit(RLIMIT_MEMLOCK, &limit) && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > bytes);
}

/* Locks all memory of now, and later memory when it is touched (MCL_ONFAULT), so that the large tables of the writer stay small. Where
 * the limit forbids that, it locks what a lane touches: code, rings (lock_rings) and stacks. */
static void lock_memory(struct session *s)
{
#ifndef MCL_ONFAULT
	enum { MCL_ONFAULT = 4 };
#endif
	const uint64_t lanes = (uint64_t)s->run.n_lanes;
	const uint64_t need = (UINT64_C(8) << 20) + lanes * (s->ring_samples * 32 + (UINT64_C(10) << 20));
	int bad;

	if (!s->mlock_wanted)
		return;
	bad = mlockall(MCL_CURRENT);
	if (bad)
		snprintf(s->mlock_error, sizeof s->mlock_error, "mlockall: %s", strerror(errno));
	if (may_lock(need)) {
		s->mlocked = !bad && (!mlockall(MCL_FUTURE | MCL_ONFAULT) || !mlockall(MCL_FUTURE));
		return;
	}
	s->run.lock_stacks = true;
	if (!bad)
		snprintf(s->mlock_error, sizeof s->mlock_error,
			 "the limit on locked memory (ulimit -l) is below %" PRIu64
			 " kB: code, rings and stacks of the lanes are locked, the writer's tables are not",
			 need >> 10);
}

static void lock_rings(struct session *s)
{
	for (int i = 0; s->run.lock_stacks && i < s->run.n_lanes; i++)
		if (mlock(s->run.lanes[i].ring.slots, ring_bytes(&s->run.lanes[i].ring)))
			snprintf(s->mlock_error, sizeof s->mlock_error,
				 "the limit on locked memory (ulimit -l) is too small even for the rings");
}

int prepare_lanes(struct session *s)
{
	struct run *run = &s->run;
	const int per_cpu = run->method->lanes_per_cpu ? run->method->lanes_per_cpu : 1;
	int cpu = -1;

	run->n_slots = cpus_count(&s->measured);
	run->n_lanes = run->n_slots * per_cpu;
	if (posix_memalign((void **)&run->lanes, 64, (size_t)run->n_lanes * sizeof *run->lanes))
		return say_fail(EXIT_BOARD, "no memory for %d lanes", run->n_lanes);
	memset(run->lanes, 0, (size_t)run->n_lanes * sizeof *run->lanes);
	for (int i = 0; i < run->n_lanes; i++) {
		run->lanes[i].run = run;
		run->lanes[i].index = i;
		atomic_store(&run->lanes[i].hits.level_ns, HITS_OFF);
		run->lanes[i].slot = i / per_cpu;
		run->lanes[i].cpu = cpu = i % per_cpu ? cpu : cpus_next(&s->measured, cpu);
	}
	return EXIT_DONE;
}

int prepare_memory(struct session *s)
{
	struct run *run = &s->run;

	s->ring_samples = (uint64_t)(ring_holds_ns / run->interval_ns) + 1;
	lock_memory(s);
	s->writer.sinks = calloc((size_t)run->n_lanes, sizeof *s->writer.sinks);
	s->moved = calloc((size_t)run->n_lanes, sizeof *s->moved);
	if (!s->writer.sinks || !s->moved || emit_open(&s->writer.emit, s->out_fd, 1 << 18))
		return say_fail(EXIT_BOARD, "no memory");
	for (int i = 0; i < run->n_lanes; i++) {
		struct lane *lane = &run->lanes[i];

		if (ring_open(&lane->ring, s->ring_samples) ||
		    sink_open(&s->writer.sinks[i], lane, &s->writer.emit, s->writer.keep_samples, (uint64_t)s->spill_per_second))
			return say_fail(EXIT_BOARD,
					"no memory for lane %d (%" PRIu64 " kB a ring): %s; use a longer --interval or fewer CPUs", i,
					s->ring_samples * sizeof(struct ring_slot) / 1024, strerror(errno));
	}
	s->ring_samples = run->lanes[0].ring.mask + UINT64_C(1);
	lock_rings(s);
	return EXIT_DONE;
}
