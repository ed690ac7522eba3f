/*
 * rtprobe selftest: can this board measure, and what is missing? KTAP, one line for each check. What a measurement needs is "ok" or "not
 * ok". What only makes it better is "ok # SKIP reason" where it is missing. Nothing on the board is changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/files.h"
#include "os/plan.h"
#include "os/rt.h"
#include "os/say.h"
#include "os/version.h"
#include "stream/json.h"

enum answer { OK, NOT_OK, SKIP };
enum { SELFTEST_PRIORITY = 90, SAMPLES_WANTED = 200, PROBE_MEMORY = 4 << 20, TEXT = 240 };

struct check {
	enum answer answer;
	char text[TEXT]; /* what was found */
	char hint[TEXT]; /* what to do, or why it was skipped */
};

static void found(struct check *c, enum answer answer, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void hint(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void found(struct check *c, enum answer answer, const char *format, ...)
{
	va_list list;

	c->answer = answer;
	va_start(list, format);
	vsnprintf(c->text, sizeof c->text, format, list);
	va_end(list);
}

static void hint(struct check *c, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(c->hint, sizeof c->hint, format, list);
	va_end(list);
}

/* ---- needed ---- */

static void check_time(struct check *c)
{
	int64_t wall = wall_ns(), first = mono_ns(), second = mono_ns();

	if (sizeof(time_t) < 8)
		found(c, NOT_OK, "time_t has %zu bits: this binary ends in 2038", 8 * sizeof(time_t));
	else if (first <= 0 || second < first || wall <= 0)
		found(c, NOT_OK, "CLOCK_MONOTONIC goes backwards or cannot be read");
	else
		found(c, OK, "64-bit time, CLOCK_MONOTONIC runs forward");
}

static void check_proc(struct check *c)
{
	char text[64];

	if (read_small("/proc/self/stat", text, sizeof text) > 0 && read_small("/proc/uptime", text, sizeof text) > 0)
		found(c, OK, "/proc is readable");
	else {
		found(c, NOT_OK, "/proc cannot be read: %s", strerror(errno));
		hint(c, "mount -t proc proc /proc");
	}
}

static void check_fifo(struct check *c)
{
	int error = rt_set_policy(0, SCHED_FIFO, SELFTEST_PRIORITY);
	struct obtained got = rt_look(0);

	if (error) {
		found(c, NOT_OK, "SCHED_FIFO %d is refused: %s", SELFTEST_PRIORITY, strerror(error));
		hint(c,
		     "run as root, with CAP_SYS_NICE, or with RLIMIT_RTPRIO at %d; in a container or cgroup v1 look at cpu.rt_runtime_us",
		     SELFTEST_PRIORITY);
		return;
	}
	rt_set_policy(0, SCHED_OTHER, 0);
	if (got.known && got.policy == SCHED_FIFO && got.priority == SELFTEST_PRIORITY)
		found(c, OK, "SCHED_FIFO %d obtained and read back", SELFTEST_PRIORITY);
	else
		found(c, NOT_OK, "asked for SCHED_FIFO %d, the kernel says %s %d", SELFTEST_PRIORITY, rt_policy_name(got.policy),
		      got.priority);
}

static void check_affinity(struct check *c)
{
	struct cpus allowed, got;
	char list[128];

	if (cpus_allowed(&allowed)) {
		found(c, NOT_OK, "the allowed CPUs cannot be read: %s", strerror(errno));
		return;
	}
	for (int cpu = cpus_next(&allowed, -1); cpu >= 0; cpu = cpus_next(&allowed, cpu)) {
		struct cpus one = { { 0 } };
		int error;

		cpus_add(&one, cpu);
		error = rt_pin(0, &one);
		if (error || cpus_allowed(&got) || memcmp(&got, &one, sizeof one)) {
			found(c, NOT_OK, "cannot pin to CPU %d: %s", cpu, error ? strerror(error) : "the kernel gives another mask");
			rt_pin(0, &allowed);
			return;
		}
	}
	rt_pin(0, &allowed);
	found(c, OK, "pinned to each of the CPUs %s", format_cpus(&allowed, list, sizeof list));
}

/* A short run must add up as wire/STREAM.md says: every due activation ran or was missed, none twice. */
static void check_wakeups(struct check *c)
{
	const int64_t interval = 997000;
	int64_t first = mono_ns() + 2 * interval, k = 0, n = 0, missed = 0, early = 0, due;

	rt_choose_sleep();
	while (n < SAMPLES_WANTED) {
		int64_t at = first + k * interval, late, skipped;
		int error = rt_sleep_until(at);

		if (error == EINTR)
			continue;
		if (error) {
			found(c, NOT_OK, "cannot sleep until an absolute time: %s", strerror(error));
			return;
		}
		late = mono_ns() - at;
		early += late < 0;
		skipped = late > 0 ? late / interval : 0;
		n++;
		missed += skipped;
		k += 1 + skipped;
	}
	due = (mono_ns() - first) / interval + 1;
	/* Activations due after the last wake-up are not counted. */
	if (early)
		found(c, NOT_OK, "%lld of %lld wake-ups came before they were due", (long long)early, (long long)n);
	else if (n + missed != k || k > due)
		found(c, NOT_OK, "wake-ups do not add up: %lld ran, %lld missed, %lld due", (long long)n, (long long)missed,
		      (long long)due);
	else
		found(c, OK, "%lld wake-ups of %lld due accounted for, %lld missed", (long long)n, (long long)k, (long long)missed);
}

static void check_subreaper(struct check *c)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(7);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7)
		found(c, OK, "processes can be started and waited for");
	else
		found(c, NOT_OK, "cannot start a process: %s", strerror(errno));
}

/* ---- better with ---- */

static void check_timers(struct check *c)
{
	struct clock_facts clock = clock_measure();

	if (clock.getres_ns == 1 || clock.getres_ns < 1000)
		found(c, OK, "high-resolution timers; the clock steps by %lld ns, a read costs %lld ns", (long long)clock.step_ns,
		      (long long)clock.read_cost_ns);
	else {
		found(c, SKIP, "timers of %lld ns", (long long)clock.getres_ns);
		hint(c,
		     "no high-resolution timers: wake-ups come on the tick; CONFIG_HIGH_RES_TIMERS, and no highres=off on the command line");
	}
}

static void check_mlock(struct check *c)
{
	struct rlimit limit = { 0 };
	void *memory = mmap(NULL, PROBE_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = memory == MAP_FAILED || mlock(memory, PROBE_MEMORY) ? errno : 0;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (memory != MAP_FAILED)
		munmap(memory, PROBE_MEMORY);
	if (!error)
		found(c, OK, "%d MiB of memory locked", PROBE_MEMORY >> 20);
	else {
		found(c, SKIP, "memory lock");
		hint(c, "%s; RLIMIT_MEMLOCK is %llu kB: page faults may show as latency", strerror(error),
		     (unsigned long long)limit.rlim_cur / 1024);
	}
}

static void check_dma_latency(struct check *c)
{
	int fd = rt_hold_dma_latency(0);

	if (fd >= 0) {
		close(fd);
		found(c, OK, "/dev/cpu_dma_latency can be held at 0");
	} else {
		found(c, SKIP, "cpu_dma_latency");
		hint(c, "%s: idle states stay as they are", strerror(errno));
	}
}

static void check_tracefs(struct check *c)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[64];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/tracing_on", roots[i]);
		if (!access(path, W_OK)) {
			found(c, OK, "%s is writable: --trace-above and --break-above can keep the trace", roots[i]);
			return;
		}
	}
	found(c, SKIP, "tracefs");
	hint(c,
	     "not mounted or not writable (%s): --break-above stops, but keeps no trace, and --trace-above measures untraced; mount -t tracefs nodev /sys/kernel/tracing",
	     strerror(errno));
}

static void check_kmsg(struct check *c)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		found(c, OK, "/dev/kmsg is readable: messages of the kernel are kept with their time");
	} else {
		found(c, SKIP, "kernel log");
		hint(c,
		     "/dev/kmsg: %s: throttling, under-voltage and memory shortage the kernel speaks of will not be seen; root, or "
		     "kernel.dmesg_restrict=0",
		     strerror(errno));
	}
}

static void check_pressure(struct check *c)
{
	char text[256];

	if (read_small("/proc/pressure/memory", text, sizeof text) > 0)
		found(c, OK, "pressure of CPU, memory and I/O is told");
	else {
		found(c, SKIP, "pressure");
		hint(c, "/proc/pressure: %s: stalls for memory or I/O have no number; CONFIG_PSI, psi=1 on the command line",
		     strerror(errno));
	}
}

#if defined(__x86_64__) || defined(__i386__)
static void check_msr(struct check *c)
{
	enum { SMI_COUNT = 0x34 };
	int fd = open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC);
	uint64_t value;
	bool told = fd >= 0 && pread(fd, &value, sizeof value, SMI_COUNT) == (ssize_t)sizeof value;

	if (told)
		found(c, OK, "system management interrupts are counted: %llu so far", (unsigned long long)value);
	else {
		found(c, SKIP, "system management interrupts");
		hint(c, "register 0x34: %s: firmware that takes the CPU away is not seen; root and `modprobe msr`, on Intel CPUs",
		     strerror(errno));
	}
	if (fd >= 0)
		close(fd);
}
#endif

static void check_throttling(struct check *c)
{
	char runtime[32] = "", period[32] = "";

	if (read_small("/proc/sys/kernel/sched_rt_runtime_us", runtime, sizeof runtime) < 0 ||
	    read_small("/proc/sys/kernel/sched_rt_period_us", period, sizeof period) < 0) {
		found(c, SKIP, "real-time throttling");
		hint(c, "unknown: %s", strerror(errno));
	} else if (!strcmp(runtime, "-1")) {
		found(c, OK, "real-time throttling is off");
	} else {
		found(c, SKIP, "real-time throttling is on (%s of %s us)", runtime, period);
		hint(c, "a real-time load above its share is stopped; sysctl kernel.sched_rt_runtime_us=-1 turns it off");
	}
}

static void check_kernel(struct check *c)
{
	struct utsname name;
	char text[16];

	if (uname(&name))
		found(c, SKIP, "kernel name"), hint(c, "%s", strerror(errno));
	else if (read_small("/sys/kernel/realtime", text, sizeof text) > 0 && text[0] == '1')
		found(c, OK, "kernel %s is PREEMPT_RT", name.release);
	else
		found(c, SKIP, "kernel %s", name.release), hint(c, "not PREEMPT_RT: it can be measured, and will show");
}

static void check_cpus(struct check *c)
{
	struct cpus allowed;

	if (!cpus_allowed(&allowed) && cpus_count(&allowed) > 1)
		found(c, OK, "%d CPUs: the writer has a place beside the lane", cpus_count(&allowed));
	else
		found(c, SKIP, "one CPU"), hint(c, "lane and writer share it");
}

static const struct {
	const char *id;
	void (*look)(struct check *c);
} checks[] = {
	{ "time", check_time },
	{ "proc", check_proc },
	{ "fifo", check_fifo },
	{ "affinity", check_affinity },
	{ "wakeups", check_wakeups },
	{ "processes", check_subreaper },
	{ "timers", check_timers },
	{ "mlock", check_mlock },
	{ "dma-latency", check_dma_latency },
	{ "tracefs", check_tracefs },
	{ "kmsg", check_kmsg },
	{ "pressure", check_pressure },
#if defined(__x86_64__) || defined(__i386__)
	{ "smi", check_msr },
#endif
	{ "throttling", check_throttling },
	{ "kernel", check_kernel },
	{ "cpus", check_cpus },
};
enum { N_CHECKS = sizeof checks / sizeof *checks };

static void print_ktap(int i, const struct check *c)
{
	printf("%s %d - %s: %s", c->answer == NOT_OK ? "not ok" : "ok", i + 1, checks[i].id, c->text);
	if (c->answer == SKIP)
		printf(" # SKIP %s", c->hint);
	printf("\n");
	if (c->answer == NOT_OK && *c->hint)
		printf("# %s\n", c->hint);
	fflush(stdout);
}

static void add_json(struct json *j, int i, const struct check *c)
{
	static const char *const answers[] = { [OK] = "ok", [NOT_OK] = "failed", [SKIP] = "skipped" };

	json_object(j, NULL);
	json_string(j, "id", checks[i].id);
	json_string(j, "result", answers[c->answer]);
	json_string(j, "found", c->text);
	json_string(j, "hint", *c->hint ? c->hint : NULL);
	json_end_object(j);
}

static int finish_json(struct json *j, bool can_measure)
{
	bool failed;

	json_end_array(j);
	json_bool(j, "can_measure", can_measure);
	json_end_object(j);
	failed = j->failed || fwrite(j->text, 1, j->length, stdout) != j->length || putchar('\n') == EOF;
	json_close(j);
	return failed ? -1 : 0;
}

static int selftest_run(const struct plan *plan)
{
	bool as_json = plan_flag(plan, "json");
	char missing[TEXT] = "";
	struct json j;

	json_open(&j);
	json_object(&j, NULL);
	json_string(&j, "schema", "rtprobe/selftest/1");
	json_string(&j, "version", RTPROBE_VERSION);
	json_array(&j, "checks");
	if (!as_json)
		printf("KTAP version 1\n1..%d\n", (int)N_CHECKS);
	for (int i = 0; i < N_CHECKS; i++) {
		struct check c = { .answer = NOT_OK };
		size_t used = strlen(missing);

		checks[i].look(&c);
		if (c.answer == NOT_OK)
			snprintf(missing + used, sizeof missing - used, "%s%s", used ? ", " : "", checks[i].id);
		if (as_json)
			add_json(&j, i, &c);
		else
			print_ktap(i, &c);
	}
	if (as_json && finish_json(&j, !*missing))
		return say_fail(EXIT_BOARD, "cannot write to stdout");
	if (!as_json)
		json_close(&j);
	if (fflush(stdout) || ferror(stdout))
		return say_fail(EXIT_BOARD, "cannot write to stdout: %s", strerror(errno));
	return *missing ? say_fail(EXIT_BOARD, "this board cannot measure as it is: %s", missing) : EXIT_DONE;
}

static const struct option_spec selftest_options[] = {
	{ .name = "json", .type = OPT_FLAG, .help = "one JSON object instead of KTAP lines" },
	{ 0 },
};

const struct command command_selftest = {
	.name = "selftest",
	.summary = "whether this board can measure, and what it lacks",
	.options = selftest_options,
	.run = selftest_run,
};
