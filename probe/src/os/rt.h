/* Real-time threads: what to ask of the kernel, and what it gave. Raw system calls where musl answers ENOSYS. */
#ifndef RTPROBE_RT_H
#define RTPROBE_RT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "os/cpus.h"

struct obtained {
	bool known; /* the kernel answered */
	int policy, priority;
	bool reset_on_fork;
	struct cpus affinity;
	int64_t runtime_ns, period_ns; /* of the policy deadline; else 0 */
};

struct task_counts { /* -1: not known */
	int64_t migrations, minor_faults, major_faults, voluntary_switches, involuntary_switches;
};

enum { POLICY_DEADLINE = 6 };
enum { RESET_ON_FORK = 0x40000000 }; /* added to a policy: children do not inherit it */

pid_t rt_tid(void);
bool rt_is_real_time_policy(int policy); /* fifo, rr or deadline */
bool rt_is_real_time(pid_t tid);
int rt_set_policy(pid_t tid, int policy, int priority);     /* 0 or errno */
/* Deadline and period are one. The kernel sends SIGXCPU to the process when the thread runs longer than its runtime. 0 or errno. */
int rt_set_deadline(int64_t runtime_ns, int64_t period_ns);
int rt_pin(pid_t tid, const struct cpus *set);              /* 0 or errno */
struct obtained rt_look(pid_t tid);
struct task_counts rt_counts(pid_t tid);
int64_t rt_cpu_ns(pid_t tid);                               /* of a thread of this process; -1: not known */
const char *rt_policy_name(int policy);

/* Sleeps on CLOCK_MONOTONIC; 0, or errno (EINTR: a signal came). Call rt_choose_sleep once before the first thread starts: it returns 0,
 * or the errno of every sleep on this kernel. Without that check a lane would spin instead of sleeping. */
int rt_choose_sleep(void);
int rt_sleep_until(int64_t ns);
int rt_sleep_by(clockid_t clock, int64_t ns); /* on another clock */

/* Holds /dev/cpu_dma_latency at `us` until the process ends. The fd, or -1 and errno. */
int rt_hold_dma_latency(int32_t us);

#endif
