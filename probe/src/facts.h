/* What every stream says about itself, and small looks at the system. */
#ifndef RTPROBE_FACTS_H
#define RTPROBE_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "emit.h"
#include "plan.h"

#define RTPROBE_VERSION "0.1.0"

int64_t mono_ns(void);
int64_t wall_ns(void);
/* A clock minus CLOCK_MONOTONIC, from the try in which the two were read closest together: a reader may be preempted between them.
 * 0 where the kernel does not have the clock. */
int64_t clock_offset_ns(clockid_t id);

/* Opens the top object and writes the fields that FACTS of all commands share: stream, probe, version, command, argv, pid,
 * mono_ns, wall_ns, boot_id, kernel. Leaves the object open. */
void facts_begin(struct json *j, const struct plan *plan);
/* Likewise for END: mono_ns, wall_ns, reason, exit. */
void end_begin(struct json *j, const char *reason, int exit_code);

void json_cpus(struct json *j, const char *key, const struct cpus *set); /* array of CPU numbers */

/* Reads a small file: bytes read (NUL-terminated, trailing newlines cut), or -1 and errno. */
long read_small(const char *path, char *out, size_t size);
int cpus_allowed(struct cpus *set);                      /* of this thread; 0 or -1 */
int cpus_file(const char *path, struct cpus *set);       /* a CPU list file such as /sys/devices/system/cpu/isolated; 0 or -1 */

#endif
