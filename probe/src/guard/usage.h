/* What a guarded command and everything that came from it use: looked at by a process of its own, so that the guard, which runs above
 * all others, never spends time on it. */
#ifndef RTPROBE_USAGE_H
#define RTPROBE_USAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct usage {
	int64_t mono_ns; /* when the look began */
	uint64_t processes, threads, real_time;
	int64_t cpu_ns; /* never less than the time before */
	bool gpu;       /* the next two are known (gpu.h) */
	int64_t gpu_ns, gpu_interrupts;
};

/* Looks once a second, as soon as *child is not 0, at all that is below `guard`, and writes each struct usage to fd. Ends when nobody
 * reads. It stays on the CPUs of the command. `gpu`: at the GPU, too. */
_Noreturn void usage_watch(int fd, pid_t guard, const _Atomic int *child, bool gpu);

#endif
