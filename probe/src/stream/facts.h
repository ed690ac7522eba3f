/* What every stream says about itself. */
#ifndef RTPROBE_FACTS_H
#define RTPROBE_FACTS_H

#include "os/cpus.h"
#include "os/plan.h"
#include "os/rt.h"
#include "stream/json.h"

/* Opens the top object and writes the fields that FACTS of all commands share: stream, probe, version, command, argv, pid,
 * mono_ns, wall_ns, boot_id, kernel. Leaves the object open. */
void facts_begin(struct json *j, const struct plan *plan);
/* Likewise for END: mono_ns, wall_ns, reason, exit. */
void end_begin(struct json *j, const char *reason, int exit_code);

void json_cpus(struct json *j, const char *key, const struct cpus *set); /* array of CPU numbers */
void json_obtained(struct json *j, const char *key, const struct obtained *got);

#endif
