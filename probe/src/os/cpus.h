/* Sets of CPUs, and the lists that people write for them. */
#ifndef RTPROBE_CPUS_H
#define RTPROBE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_CPUS = 4096 };

struct cpus {
	uint64_t bits[MAX_CPUS / 64];
};

static inline bool cpus_has(const struct cpus *set, int cpu)
{
	return cpu >= 0 && cpu < MAX_CPUS && (set->bits[cpu / 64] >> (cpu % 64) & 1);
}
static inline void cpus_add(struct cpus *set, int cpu)
{
	set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}
int cpus_count(const struct cpus *set);
int cpus_next(const struct cpus *set, int after); /* first member > after, -1 at the end; start with -1 */

/* A list such as 0-3,5. 0, or -1 with a reason (a static string) in *why. */
int parse_cpus(const char *text, struct cpus *set, const char **why);
/* The shortest list parse_cpus reads back, at most `size` bytes with the NUL; returns out. */
char *format_cpus(const struct cpus *set, char *out, size_t size);

int cpus_allowed(struct cpus *set);                /* of this thread; 0 or -1 */
int cpus_file(const char *path, struct cpus *set); /* a CPU list file such as /sys/devices/system/cpu/isolated; 0 or -1 */

#endif
