#include "os/cpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/files.h"

int cpus_count(const struct cpus *set)
{
	int count = 0;

	for (int i = 0; i < MAX_CPUS / 64; i++)
		count += __builtin_popcountll(set->bits[i]);
	return count;
}

int cpus_next(const struct cpus *set, int after)
{
	for (int cpu = after + 1; cpu < MAX_CPUS; cpu++)
		if (cpus_has(set, cpu))
			return cpu;
	return -1;
}

char *format_cpus(const struct cpus *set, char *out, size_t size)
{
	size_t used = 0;

	if (size)
		out[0] = 0;
	for (int first = cpus_next(set, -1), last; first >= 0; first = cpus_next(set, last)) {
		char part[24];
		int length;

		for (last = first; cpus_has(set, last + 1); last++)
			;
		length = first == last ? snprintf(part, sizeof part, "%s%d", used ? "," : "", first)
				       : snprintf(part, sizeof part, "%s%d-%d", used ? "," : "", first, last);
		if (used + (size_t)length >= size)
			break;
		memcpy(out + used, part, (size_t)length + 1);
		used += (size_t)length;
	}
	return out;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int parse_cpu(const char **at, int *cpu)
{
	int value = 0;

	if (!is_digit(**at))
		return -1;
	for (; is_digit(**at); (*at)++)
		if ((value = value * 10 + (**at - '0')) > 1000000)
			return -1;
	*cpu = value;
	return 0;
}

int parse_cpus(const char *text, struct cpus *set, const char **why)
{
	memset(set, 0, sizeof *set);
	for (;;) {
		int first, last, step = 1;

		if (parse_cpu(&text, &first))
			return *why = "is not a CPU list", -1;
		last = first;
		if (*text == '-') {
			text++;
			if (parse_cpu(&text, &last))
				return *why = "is not a CPU list", -1;
			if (*text == ':') {
				text++;
				if (parse_cpu(&text, &step))
					return *why = "is not a CPU list", -1;
			}
		}
		if (last < first || step == 0)
			return *why = "runs backwards", -1;
		if (last >= MAX_CPUS)
			return *why = "names a CPU beyond 4095", -1;
		for (int cpu = first; cpu <= last; cpu += step)
			cpus_add(set, cpu);
		if (!*text)
			return 0;
		if (*text++ != ',')
			return *why = "is not a CPU list", -1;
	}
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
