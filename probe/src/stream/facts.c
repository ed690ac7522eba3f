#include "stream/facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/files.h"
#include "os/version.h"

/* Both clocks at the same moment. */
static void json_now(struct json *j)
{
	int64_t offset = clock_offset_ns(CLOCK_REALTIME), now = mono_ns();

	json_int(j, "mono_ns", now);
	json_int(j, "wall_ns", now + offset);
}

void json_cpus(struct json *j, const char *key, const struct cpus *set)
{
	json_array(j, key);
	for (int cpu = cpus_next(set, -1); cpu >= 0; cpu = cpus_next(set, cpu))
		json_int(j, NULL, cpu);
	json_end_array(j);
}

void json_obtained(struct json *j, const char *key, const struct obtained *got)
{
	if (!got->known) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_string(j, "policy", rt_policy_name(got->policy));
	json_int(j, "priority", got->priority);
	json_cpus(j, "affinity", &got->affinity);
	json_bool(j, "reset_on_fork", got->reset_on_fork);
	if (got->runtime_ns) {
		json_int(j, "runtime_ns", got->runtime_ns);
		json_int(j, "period_ns", got->period_ns);
	}
	json_end_object(j);
}

static void json_kernel(struct json *j)
{
	struct utsname name;

	if (uname(&name))
		return;
	json_object(j, "kernel");
	json_string(j, "release", name.release);
	json_string(j, "version", name.version);
	json_string(j, "machine", name.machine);
	json_end_object(j);
}

void facts_begin(struct json *j, const struct plan *plan)
{
	char boot[64];

	json_open(j);
	json_object(j, NULL);
	json_int(j, "stream", 1);
	json_string(j, "probe", "rtprobe");
	json_string(j, "version", RTPROBE_VERSION);
	json_string(j, "command", plan->command->name);
	json_array(j, "argv");
	for (int i = 0; i < plan->argc; i++)
		json_string(j, NULL, plan->argv[i]);
	json_end_array(j);
	json_int(j, "pid", getpid());
	json_now(j);
	json_string(j, "boot_id", read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot) > 0 ? boot : NULL);
	json_kernel(j);
}

void end_begin(struct json *j, const char *reason, int exit_code)
{
	json_open(j);
	json_object(j, NULL);
	json_now(j);
	json_string(j, "reason", reason);
	json_int(j, "exit", exit_code);
}
