#include "os/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"

enum { PAGE_FAULTS = 3, SLOW_NS = 1000000 };

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool in_kernel; /* counted in the kernel only: without the right to that there is nothing to count */
} kinds[COUNTERS] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false },
	[PAGE_FAULTS] = { "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true },
};

const char *counter_name(int which)
{
	return kinds[which].name;
}

const char *counter_refusal(int error)
{
	switch (error) {
	case COUNTER_SLOW:
		return "it would lengthen each job: this kernel waits when it frees a counter; counters=always counts all the same";
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "this machine has no such counter (a virtual one often has none of the processor)";
	case EACCES:
	case EPERM:
		return "refused: as root, or with sysctl kernel.perf_event_paranoid=1 or less, it is counted";
	case ENOSYS:
		return "this kernel has no counters (perf_event_open)";
	default:
		return strerror(error);
	}
}

/* A counter of this thread: of what it starts, from its exec on (`inherit`), or of nothing, for it is never switched on. */
static int open_counter(int which, bool inherit, bool user_only)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.size = PERF_ATTR_SIZE_VER1;
	attr.type = kinds[which].type;
	attr.config = kinds[which].config;
	attr.disabled = 1;
	attr.inherit = inherit;
	attr.enable_on_exec = inherit;
	attr.exclude_kernel = user_only;
	attr.exclude_hv = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The guard is a counter that is not inherited. Where a thread has one, the kernel does not swap the counters of the thread with those of
 * the program that it started when it switches between them: then the program's exec would switch on those of the thread. */
static void open_one(struct counter *counter, int which)
{
	const struct counter none = { .fd = -1, .guard_fd = -1, .min = UINT64_MAX };

	*counter = none;
	counter->fd = open_counter(which, true, false);
	if (counter->fd < 0 && (errno == EACCES || errno == EPERM) && !kinds[which].in_kernel) {
		counter->user_only = true;
		counter->fd = open_counter(which, true, true);
	}
	if (counter->fd >= 0)
		counter->guard_fd = open_counter(which, false, counter->user_only);
	if (counter->fd >= 0 && counter->guard_fd >= 0)
		return;
	counter->refused = errno;
	if (counter->fd >= 0)
		close(counter->fd);
	counter->fd = -1;
}

/* A kernel with PREEMPT_RT may wait for a grace period of RCU (some 10 ms) whenever it frees a counter (irq_work_sync), also at the exit of a
 * program that inherited one. So the shortest of three times, for this thread may be interrupted. The first counter of all is kept until this
 * process ends: opening it waits for a grace period on any kernel, opening others beside it does not. */
int64_t counters_prepare(void)
{
	const int kept = open_counter(PAGE_FAULTS, false, true);
	int64_t shortest_ns = 0;

	for (int i = 0; kept >= 0 && i < 3; i++) {
		const int fd = open_counter(PAGE_FAULTS, false, true);
		const int64_t start_ns = mono_ns();
		int64_t took_ns;

		if (fd < 0)
			return 0;
		close(fd);
		took_ns = mono_ns() - start_ns;
		shortest_ns = !i || took_ns < shortest_ns ? took_ns : shortest_ns;
	}
	return shortest_ns;
}

void counters_open(struct counters *c, int64_t free_ns, bool always)
{
	c->free_ns = free_ns;
	for (int i = 0; i < COUNTERS; i++) {
		if (always || free_ns <= SLOW_NS)
			open_one(&c->each[i], i);
		else
			c->each[i] = (struct counter){ .fd = -1, .guard_fd = -1, .refused = COUNTER_SLOW };
	}
}

static void add(struct counter *c, uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
	if (!running_ns)
		return; /* others had the counter all the time */
	if (running_ns < enabled_ns) {
		count = (uint64_t)((double)count * ((double)enabled_ns / (double)running_ns));
		c->estimated++;
	}
	c->jobs++;
	c->sum += count;
	c->min = count < c->min ? count : c->min;
	c->max = count > c->max ? count : c->max;
}

void counters_take(struct counters *c, bool kept)
{
	for (int i = 0; i < COUNTERS; i++) {
		struct counter *one = &c->each[i];
		uint64_t now[3]; /* count, time switched on, time counted */

		if (one->fd < 0 || read(one->fd, now, sizeof now) != sizeof now)
			continue;
		if (kept)
			add(one, now[0] - one->last, now[1] - one->last_enabled_ns, now[2] - one->last_running_ns);
		one->last = now[0];
		one->last_enabled_ns = now[1];
		one->last_running_ns = now[2];
	}
}

void counters_close(struct counters *c)
{
	for (int i = 0; i < COUNTERS; i++) {
		if (c->each[i].fd < 0)
			continue;
		close(c->each[i].fd);
		close(c->each[i].guard_fd);
	}
}
