/* What every way to measure can be asked for. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "os/say.h"
#include "run/method.h"
#include "run/session.h"

static const char *const isolated[] = { "isolated", NULL };
static const char *const policies[] = { "fifo", "rr", "other", "deadline", NULL };
static const char *const off[] = { "off", NULL };

static const char *const automatic[] = { "auto", NULL };

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define H (3600 * S)
#define TRACE_ABOVE_MOST (4 * S) /* it must fit hits.level_ns */

const struct option_spec shared_settings[] = {
	{ "cpus", 0, OPT_CPUS, NULL, isolated, 0, 0, NULL, false, "CPUs to measure, one lane each (default: all this process may use)" },
	{ "policy", 0, OPT_CHOICE, NULL, policies, 0, 0, "fifo", false, "scheduling policy of the lanes" },
	{ "priority", 0, OPT_INTEGER, NULL, NULL, 1, 99, "90", false, "real-time priority of the lanes" },
	{ "interval", 0, OPT_DURATION, "ns", NULL, 10 * US, H, "997us", false, "time between due times of one lane" },
	{ "duration", 0, OPT_DURATION, "ns", NULL, MS, 8760 * H, NULL, false, "how long to measure (default 60s without --count)" },
	{ "count", 0, OPT_INTEGER, "samples", NULL, 1, INT64_C(1000000000000), NULL, false, "samples per lane, instead of --duration" },
	{ "deadline", 0, OPT_DURATION, "ns", NULL, 1, H, NULL, false, "count samples this late or later as exceedances" },
	{ "aligned", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "all lanes at the same moment (default: spread over the interval)" },
	{ "no-mlock", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "do not lock memory" },
	{ "dma-latency", 0, OPT_INTEGER, "us", off, 0, 2000000000, "0", false, "hold /dev/cpu_dma_latency at this" },
	{ "break-above", 0, OPT_DURATION, "ns", NULL, 1, H, NULL, false,
	  "stop the run and the kernel's trace at the first sample this late" },
	{ "trace-above", 0, OPT_DURATION, "ns", automatic, 1, TRACE_ABOVE_MOST, NULL, false,
	  "keep the kernel's trace of samples this late, in the second half of the run; auto: the deadline, else 4 x the running p99.9" },
	{ "trace-stacks", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false,
	  "with --trace-above: also the kernel's stack, so that what kept a lane waiting gets the function's name" },
	{ "no-samples", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "histogram, seconds and spill only, not every sample" },
	{ "spill", 0, OPT_INTEGER, "samples", NULL, 0, 1000000, "100", false,
	  "at most so many late samples kept one by one, a lane and second" },
	{ "text", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "rows for people on stdout; the stream only with --output" },
	{ "partition", 0, OPT_TEXT, "DIR", NULL, 0, 0, NULL, false,
	  "a cgroup that holds measured CPUs: the lanes of its CPUs join it, and this process its parent" },
	{ "attached", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "end when stdin ends" },
	{ "fallback", 0, OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "go on without the policy asked for when it is refused" },
	{ "writer-priority", 0, OPT_INTEGER, NULL, NULL, 0, 98, "1", false, "SCHED_FIFO priority of the writer, 0 for none" },
	{ "output", 'o', OPT_TEXT, "FILE", NULL, 0, 0, NULL, false, "write the stream to FILE (default: stdout)" },
	{ 0 },
};

static bool has_priority(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

int settings_take(struct session *s)
{
	static const int policy[] = { SCHED_FIFO, SCHED_RR, SCHED_OTHER, POLICY_DEADLINE };
	const struct plan *plan = s->plan;
	struct run *run = &s->run;

	run->policy = policy[plan_number(plan, "policy")];
	run->priority = !has_priority(run->policy) ? 0 : (int)plan_number(plan, "priority");
	run->interval_ns = plan_number(plan, "interval");
	run->duration_ns = plan_number(plan, "duration");
	run->count = (uint64_t)plan_number(plan, "count");
	run->deadline_ns = plan_number(plan, "deadline");
	run->break_ns = plan_number(plan, "break-above");
	run->trace = plan_set(plan, "trace-above");
	if (run->trace)
		run->trace_above_ns = plan_number(plan, "trace-above") > 0 ? plan_number(plan, "trace-above") : run->deadline_ns;
	if (run->trace_above_ns > TRACE_ABOVE_MOST)
		run->trace_above_ns = TRACE_ABOVE_MOST; /* of a long deadline */
	run->trace_stacks = plan_flag(plan, "trace-stacks");
	if (run->trace_stacks && !run->trace)
		return say_fail(EXIT_USAGE, "--trace-stacks needs --trace-above: stacks are kept of late samples");
	run->aligned = plan_flag(plan, "aligned");
	run->fallback = plan_flag(plan, "fallback");
	run->wake_signal = SIGUSR1;
	s->mlock_wanted = !plan_flag(plan, "no-mlock");
	s->attached = plan_flag(plan, "attached");
	s->text = plan_flag(plan, "text");
	s->spill_per_second = plan_number(plan, "spill");
	s->writer.keep_samples = !plan_flag(plan, "no-samples");
	s->writer.priority = run->policy == SCHED_OTHER && !plan_given(plan, "writer-priority") ? 0
												: (int)plan_number(plan, "writer-priority");
	run->reader_priority = s->writer.priority;
	if (!has_priority(run->policy) && plan_given(plan, "priority"))
		return say_fail(EXIT_USAGE, "--priority is for fifo and rr; --policy %s has none", plan_text(plan, "policy"));
	if (run->policy == POLICY_DEADLINE && !run->method->takes_deadline)
		return say_fail(EXIT_USAGE, "--policy deadline is for cyclic, whose lanes sleep until the next period");
	if (run->policy == POLICY_DEADLINE && run->trace)
		return say_fail(EXIT_USAGE, "--trace-above: lanes of the policy deadline have no CPU of their own to trace; leave it out");
	if (run->duration_ns && run->count)
		return say_fail(EXIT_USAGE, "--duration and --count both say when to end; give one of them");
	if (!run->duration_ns && !run->count)
		run->duration_ns = 60 * S;
	if (run->count && run->count > (uint64_t)(87600 * H / run->interval_ns))
		return say_fail(EXIT_USAGE, "--count %" PRIu64 " at this interval takes more than ten years", run->count);
	if (run->duration_ns && run->duration_ns <= run->interval_ns)
		return say_fail(EXIT_USAGE, "--duration %s is no longer than one interval of %s", plan_text(plan, "duration"),
				plan_text(plan, "interval"));
	if (has_priority(run->policy) && s->writer.priority >= run->priority)
		return say_fail(EXIT_USAGE, "--writer-priority %d must be below the lanes' --priority %d", s->writer.priority,
				run->priority);
	return EXIT_DONE;
}

void settings_ordinary(const struct plan *plan, struct run *run)
{
	if (plan_given(plan, "policy") || plan_given(plan, "priority"))
		return;
	run->policy = SCHED_OTHER;
	run->priority = 0;
}

int settings_leave_a_cpu(const struct run *run)
{
	struct cpus allowed;

	if (run->policy == SCHED_OTHER || (!cpus_allowed(&allowed) && cpus_count(&allowed) > run->n_slots))
		return EXIT_DONE;
	return say_fail(EXIT_USAGE,
			"a busy thread of policy %s leaves its CPU to nobody: leave one CPU out of --cpus for the rest of the board, or "
			"measure with --policy other",
			rt_policy_name(run->policy));
}

int settings_cpus(struct session *s)
{
	struct cpus online;
	char list[200];
	int code;

	if (cpus_allowed(&s->allowed))
		return say_fail(EXIT_BOARD, "cannot read the CPU mask of this process: %s", strerror(errno));
	code = partition_open(&s->run.partition, plan_text(s->plan, "partition"), &s->allowed);
	if (code)
		return code;
	if (cpus_file("/sys/devices/system/cpu/online", &online) || !cpus_count(&online))
		online = s->allowed;
	if (plan_cpus(s->plan, "cpus")) {
		s->measured = *plan_cpus(s->plan, "cpus");
	} else if (plan_set(s->plan, "cpus")) {
		if (cpus_file("/sys/devices/system/cpu/isolated", &s->measured) || !cpus_count(&s->measured))
			return say_fail(EXIT_USAGE,
					"--cpus isolated: this kernel isolates no CPU; boot with isolcpus=LIST, or give a list");
	} else {
		s->measured = s->allowed;
	}
	s->run.anywhere = s->allowed;
	for (int cpu = cpus_next(&s->measured, -1); cpu >= 0; cpu = cpus_next(&s->measured, cpu)) {
		struct cpus only = { 0 };
		int error;

		if (!cpus_has(&online, cpu))
			return say_fail(EXIT_USAGE, "--cpus: CPU %d is not there; online: %s", cpu,
					format_cpus(&online, list, sizeof list));
		if (cpus_has(&s->run.partition.cpus, cpu))
			continue; /* its lane joins it first */
		cpus_add(&only, cpu);
		error = rt_pin(0, &only); /* a cpuset may forbid it */
		rt_pin(0, &s->allowed);
		if (error)
			return say_fail(EXIT_USAGE, "--cpus: CPU %d is not allowed here (%s); allowed: %s", cpu, strerror(error),
					format_cpus(&s->allowed, list, sizeof list));
	}
	for (int i = 0; i < MAX_CPUS / 64; i++)
		s->housekeeping.bits[i] = s->allowed.bits[i] & ~s->measured.bits[i];
	return EXIT_DONE;
}

int settings_output(struct session *s)
{
	const char *path = plan_text(s->plan, "output");

	s->out_fd = s->text ? -1 : STDOUT_FILENO;
	if (path) {
		s->out_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (s->out_fd < 0)
			return say_fail(EXIT_USAGE, "--output %s: %s", path, strerror(errno));
	} else if (!s->text && isatty(STDOUT_FILENO)) {
		return say_fail(EXIT_USAGE, "the stream is not for terminals; use --text, or -o FILE, or a pipe");
	}
	return EXIT_DONE;
}
