#include "os/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/files.h"
#include "os/procstat.h"

struct kernel_sched_param {
	int priority;
};

pid_t rt_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

int rt_set_policy(pid_t tid, int policy, int priority)
{
	struct kernel_sched_param param = { priority };

	return syscall(SYS_sched_setscheduler, tid, policy, &param) ? errno : 0;
}

/* As the kernel has it since 3.14; C libraries do not declare it. */
struct kernel_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

int rt_set_deadline(int64_t runtime_ns, int64_t period_ns)
{
	enum { FLAG_DL_OVERRUN = 4 };
	struct kernel_sched_attr attr = {
		.size = sizeof attr,
		.policy = POLICY_DEADLINE,
		.flags = FLAG_DL_OVERRUN,
		.runtime_ns = (uint64_t)runtime_ns,
		.deadline_ns = (uint64_t)period_ns,
		.period_ns = (uint64_t)period_ns,
	};

	return syscall(SYS_sched_setattr, 0, &attr, 0) ? errno : 0;
}

static void look_deadline(pid_t tid, struct obtained *got)
{
	struct kernel_sched_attr attr = { 0 };

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof attr, 0))
		return;
	got->runtime_ns = (int64_t)attr.runtime_ns;
	got->period_ns = (int64_t)attr.period_ns;
}

int rt_pin(pid_t tid, const struct cpus *set)
{
	unsigned long mask[MAX_CPUS / 8 / sizeof(long)] = { 0 };
	const int bits = 8 * (int)sizeof(long);

	for (int cpu = cpus_next(set, -1); cpu >= 0; cpu = cpus_next(set, cpu))
		mask[cpu / bits] |= 1ul << (cpu % bits);
	return syscall(SYS_sched_setaffinity, tid, sizeof mask, mask) ? errno : 0;
}

bool rt_is_real_time_policy(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR || policy == POLICY_DEADLINE;
}

bool rt_is_real_time(pid_t tid)
{
	const long policy = syscall(SYS_sched_getscheduler, tid);

	return policy >= 0 && rt_is_real_time_policy((int)policy & ~RESET_ON_FORK);
}

struct obtained rt_look(pid_t tid)
{
	unsigned long mask[MAX_CPUS / 8 / sizeof(long)] = { 0 };
	const int bits = 8 * (int)sizeof(long);
	struct kernel_sched_param param = { 0 };
	struct obtained got = { 0 };
	long policy = syscall(SYS_sched_getscheduler, tid);

	if (policy < 0 || syscall(SYS_sched_getparam, tid, &param) < 0 || syscall(SYS_sched_getaffinity, tid, sizeof mask, mask) < 0)
		return got;
	got.known = true;
	got.policy = (int)policy & ~RESET_ON_FORK;
	got.reset_on_fork = policy & RESET_ON_FORK;
	got.priority = param.priority;
	if (got.policy == POLICY_DEADLINE)
		look_deadline(tid, &got);
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (mask[cpu / bits] >> (cpu % bits) & 1)
			cpus_add(&got.affinity, cpu);
	return got;
}

const char *rt_policy_name(int policy)
{
	static const char *const names[] = { "other", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext" };

	return policy >= 0 && policy < (int)(sizeof names / sizeof *names) ? names[policy] : "unknown";
}

/* --- what /proc says about a thread --- */

static int64_t number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	at = at ? at + strlen(name) + strcspn(at + strlen(name), "0123456789\n") : NULL;
	return at && *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : -1;
}

static const char *task_file(pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)tid, (int)tid, name);
	return read_small(path, text, size) > 0 ? text : "";
}

struct task_counts rt_counts(pid_t tid)
{
	struct task_counts got = { -1, -1, -1, -1, -1 };
	char text[8192];
	struct procstat stat;

	if (procstat_parse(task_file(tid, "stat", text, sizeof text), &stat)) {
		got.minor_faults = (int64_t)stat.minor_faults;
		got.major_faults = (int64_t)stat.major_faults;
	}
	task_file(tid, "status", text, sizeof text);
	got.voluntary_switches = number_after(text, "\nvoluntary_ctxt_switches:");
	got.involuntary_switches = number_after(text, "\nnonvoluntary_ctxt_switches:");
	got.migrations = number_after(task_file(tid, "sched", text, sizeof text), "se.nr_migrations");
	return got;
}

int64_t rt_cpu_ns(pid_t tid)
{
	/* The kernel's name for a thread's CPU clock: ~tid, "per thread", CPUCLOCK_SCHED. */
	clockid_t id = (clockid_t)(~(unsigned)tid << 3 | 6);
	struct timespec t;

	return clock_gettime(id, &t) ? -1 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- clock and sleep --- */

/* It sleeps until a moment in the past, so it returns at once. */
static int sleep_works(void)
{
	int error = rt_sleep_until(0);

	return error == EINTR ? 0 : error;
}

#if defined(SYS_clock_nanosleep_time64)
/* On 32 bit, kernels before 5.1 have only the call with 32-bit seconds. CLOCK_MONOTONIC counts from boot, so that is enough. musl gives
 * this call another name, because its own struct timespec has 64-bit seconds. */
#if defined(SYS_clock_nanosleep)
#define SLEEP_OLD SYS_clock_nanosleep
#else
#define SLEEP_OLD SYS_clock_nanosleep_time32
#endif
static bool sleep_is_old;

int rt_choose_sleep(void)
{
	int64_t past[2] = { 0, 0 };

	sleep_is_old = syscall(SYS_clock_nanosleep_time64, CLOCK_MONOTONIC, TIMER_ABSTIME, past, NULL) && errno == ENOSYS;
	return sleep_works();
}

int rt_sleep_by(clockid_t clock, int64_t ns)
{
	int64_t until[2] = { ns / 1000000000, ns % 1000000000 };
	int32_t old_until[2] = { (int32_t)until[0], (int32_t)until[1] };
	long rc = sleep_is_old ? syscall(SLEEP_OLD, clock, TIMER_ABSTIME, old_until, NULL)
			       : syscall(SYS_clock_nanosleep_time64, clock, TIMER_ABSTIME, until, NULL);

	return rc ? errno : 0;
}
#else
int rt_choose_sleep(void)
{
	return sleep_works();
}

int rt_sleep_by(clockid_t clock, int64_t ns)
{
	struct timespec until = { .tv_sec = ns / 1000000000, .tv_nsec = (long)(ns % 1000000000) };

	return syscall(SYS_clock_nanosleep, clock, TIMER_ABSTIME, &until, NULL) ? errno : 0;
}
#endif

int rt_sleep_until(int64_t ns)
{
	return rt_sleep_by(CLOCK_MONOTONIC, ns);
}

int rt_hold_dma_latency(int32_t us)
{
	int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (write(fd, &us, sizeof us) != (ssize_t)sizeof us) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}
