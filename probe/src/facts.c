#include "facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "kinds/kind.h"

static int64_t clock_now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t mono_ns(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

int64_t wall_ns(void)
{
	return clock_now(CLOCK_REALTIME);
}

int64_t clock_offset_ns(clockid_t id)
{
	enum { TRIES = 5 };
	int64_t best = INT64_MAX, offset = 0;

	for (int i = 0; i < TRIES; i++) {
		struct timespec t;
		int64_t before = mono_ns(), apart;

		if (clock_gettime(id, &t))
			return 0;
		apart = mono_ns() - before;
		if (apart < best) {
			best = apart;
			offset = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (before + apart / 2);
		}
	}
	return offset;
}

/* Both clocks of one moment. */
static void json_now(struct json *j)
{
	int64_t offset = clock_offset_ns(CLOCK_REALTIME), now = mono_ns();

	json_int(j, "mono_ns", now);
	json_int(j, "wall_ns", now + offset);
}

long read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -1;
	while (used + 1 < size && ((got = read(fd, out + used, size - 1 - used)) > 0 || (got < 0 && errno == EINTR)))
		used += got > 0 ? (size_t)got : 0;
	if (got < 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	close(fd);
	while (used && out[used - 1] == '\n')
		used--;
	out[used] = 0;
	return (long)used;
}

int cpus_allowed(struct cpus *set)
{
	unsigned long mask[MAX_CPUS / 8 / sizeof(long)] = { 0 };
	const int bits = 8 * (int)sizeof(long);

	memset(set, 0, sizeof *set);
	if (syscall(SYS_sched_getaffinity, 0, sizeof mask, mask) < 0)
		return -1;
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (mask[cpu / bits] >> (cpu % bits) & 1)
			cpus_add(set, cpu);
	return 0;
}

int cpus_file(const char *path, struct cpus *set)
{
	char text[4096];
	const char *why;

	memset(set, 0, sizeof *set);
	if (read_small(path, text, sizeof text) < 0)
		return -1;
	return *text ? parse_cpus(text, set, &why) : 0; /* an empty file is an empty set */
}

void json_cpus(struct json *j, const char *key, const struct cpus *set)
{
	json_array(j, key);
	for (int cpu = cpus_next(set, -1); cpu >= 0; cpu = cpus_next(set, cpu))
		json_int(j, NULL, cpu);
	json_end_array(j);
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
	json_string(j, "command", plan->kind->name);
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
