/*
 * @msr:REG: a model-specific register of every online CPU, from /dev/cpu/N/msr. Each reading interrupts its CPU for a microsecond, also a
 * measured one, so read it seldom.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/cpus.h"
#include "sources/source.h"

enum { KEPT_OPEN = 64 };

struct msr {
	uint32_t number;
	int fd[KEPT_OPEN]; /* by CPU; -1: not open */
};

static void *msr_open(const char *argument, const struct source_place *place)
{
	char *end;
	unsigned long long number;
	struct msr *m;

	(void)place;
	errno = 0;
	number = strtoull(argument, &end, 0);
	if (errno || *end || *argument < '0' || *argument > '9' || number > UINT32_MAX) {
		errno = EINVAL;
		return NULL;
	}
	m = malloc(sizeof *m);
	if (!m)
		return NULL;
	m->number = (uint32_t)number;
	for (int i = 0; i < KEPT_OPEN; i++)
		m->fd[i] = -1;
	return m;
}

/* 0, or errno. */
static int read_cpu(struct msr *m, int cpu, uint64_t *value)
{
	int once = -1, *fd = cpu < KEPT_OPEN ? &m->fd[cpu] : &once, error;
	char path[40];
	ssize_t n;

	if (*fd < 0) {
		snprintf(path, sizeof path, "/dev/cpu/%d/msr", cpu);
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		if (*fd < 0)
			return errno;
	}
	n = pread(*fd, value, sizeof *value, (off_t)m->number);
	error = n == (ssize_t)sizeof *value ? 0 : n < 0 ? errno : EIO;
	if (error || fd == &once) {
		close(*fd);
		*fd = -1;
	}
	return error;
}

static ssize_t msr_read(void *state, char *to, size_t size, bool *more)
{
	struct lines out = { .at = to, .size = size };
	struct cpus online;
	int first_error = 0;

	(void)more;
	if (cpus_file("/sys/devices/system/cpu/online", &online) && cpus_allowed(&online))
		return -1;
	for (int cpu = cpus_next(&online, -1); cpu >= 0; cpu = cpus_next(&online, cpu)) {
		uint64_t value;
		int error = read_cpu(state, cpu, &value);

		if (!error)
			lines_add(&out, "%d %" PRIu64 "\n", cpu, value);
		else if (!first_error)
			first_error = error;
	}
	if (out.used)
		return (ssize_t)out.used;
	errno = first_error ? first_error : ENODEV;
	return -1;
}

static void msr_close(void *state)
{
	struct msr *m = state;

	for (int i = 0; i < KEPT_OPEN; i++)
		if (m->fd[i] >= 0)
			close(m->fd[i]);
	free(m);
}

const struct source source_msr = {
	.name = "@msr",
	.argument = "REG",
	.summary = "a model-specific register of every CPU (x86); 0x34 counts system management interrupts",
	.open = msr_open,
	.read = msr_read,
	.close = msr_close,
};
