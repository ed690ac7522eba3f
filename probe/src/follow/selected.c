#include "follow/selected.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/tracefs.h"

enum { PART_KB = 512, READS = 512 };
static const char *const events[] = { "sched/sched_waking", "sched/sched_switch", NULL };

static int failed(struct selected *s, const char *what, int error)
{
	snprintf(s->error, sizeof s->error, "%s: %s", what, strerror(error));
	return -1;
}

static int layout(struct selected *s)
{
	static const char *const paths[] = { "events/header_page", "events/sched/sched_switch/format", "events/sched/sched_waking/format" };
	char *text[3] = { NULL };
	size_t length;
	int wrong = 0;

	for (int i = 0; i < 3; i++) {
		text[i] = tracefs_text(s->directory, paths[i], &length);
		wrong = wrong ? wrong : text[i] ? 0 : errno;
	}
	if (!wrong && records_layout(&s->records, text[0], text[1], text[2]))
		wrong = EPROTO;
	for (int i = 0; i < 3; i++)
		free(text[i]);
	return wrong;
}

static int open_rings(struct selected *s, const struct cpus *cpus)
{
	char path[SELECTED_PATH + 64];

	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	s->page = calloc(1, s->page_size);
	s->cpu = calloc((size_t)cpus_count(cpus), sizeof *s->cpu);
	s->raw = calloc((size_t)cpus_count(cpus), sizeof *s->raw);
	if (!s->page || !s->cpu || !s->raw)
		return ENOMEM;
	for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
		snprintf(path, sizeof path, "%s/per_cpu/cpu%d/trace_pipe_raw", s->directory, cpu);
		s->raw[s->n_cpus] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (s->raw[s->n_cpus] < 0)
			return errno;
		s->cpu[s->n_cpus++] = cpu;
	}
	return 0;
}

int selected_prepare(struct selected *s, const char *root, const struct cpus *cpus)
{
	char size[16];
	int error;

	tracefs_instance(root, getpid(), "-threads", s->directory, sizeof s->directory);
	if ((error = keeper_start(&s->keeper, s->directory, NULL)))
		return failed(s, "no process to remove the trace instance", error);
	if (mkdir(s->directory, 0700) && errno != EEXIST)
		return failed(s, "no second trace instance", errno);
	snprintf(size, sizeof size, "%d", PART_KB);
	if ((error = tracefs_put(s->directory, "tracing_on", "0")) || (error = tracefs_put(s->directory, "trace_clock", "mono")) ||
	    (error = tracefs_put(s->directory, "buffer_size_kb", size)) || (error = layout(s)) || (error = open_rings(s, cpus)))
		return failed(s, "the second trace instance cannot be set up", error);
	/* Where a kernel has not these options, nothing is lost but wake-ups of a thread before it is found. */
	tracefs_put(s->directory, "options/event-fork", "1");
	tracefs_put(s->directory, "options/record-cmd", "0");
	return 0;
}

int selected_add(struct selected *s, int tid)
{
	char path[SELECTED_PATH + 32], text[16];
	const int length = snprintf(text, sizeof text, "%d\n", tid);
	int fd, error;

	snprintf(path, sizeof path, "%s/set_event_pid", s->directory);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return errno;
	error = write(fd, text, (size_t)length) == length ? 0 : errno;
	close(fd);
	return error;
}

int selected_begin(struct selected *s)
{
	int error = 0;

	for (int i = 0; events[i] && !error; i++) {
		char path[64];

		snprintf(path, sizeof path, "events/%s/enable", events[i]);
		error = tracefs_put(s->directory, path, "1");
	}
	if (error || (error = tracefs_put(s->directory, "tracing_on", "1")))
		return failed(s, "the wake-ups cannot be traced", error);
	return 0;
}

static struct moment *room_for(struct selected *s, size_t more)
{
	if (s->n + more > s->room) {
		const size_t room = 2 * (s->n + more);
		struct moment *grown = realloc(s->moments, room * sizeof *grown);

		if (!grown)
			return NULL;
		s->moments = grown;
		s->room = room;
	}
	return s->moments + s->n;
}

static void read_cpu(struct selected *s, int i)
{
	const size_t most = s->page_size / 8; /* no record is smaller */

	for (int n = 0; n < READS; n++) {
		const ssize_t got = read(s->raw[i], s->page, s->page_size);
		struct moment *at;
		size_t found;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || !(at = room_for(s, most)))
			return;
		found = records_read(&s->records, s->page, (size_t)got, s->cpu[i], at, most);
		for (size_t j = 0; j < found; j++) {
			at[j].order = s->order++;
			s->losses += at[j].kind == MOMENT_LOSS;
		}
		s->n += found;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* What was recorded before the reading began is complete on all CPUs; the rest waits for the next time. */
size_t selected_read(struct selected *s, const struct moment **moments)
{
	const int64_t until_ns = mono_ns();
	size_t n = 0;

	s->order = s->n ? s->order : 0;
	for (int i = 0; i < s->n_cpus; i++)
		read_cpu(s, i);
	qsort(s->moments, s->n, sizeof *s->moments, by_time);
	while (n < s->n && s->moments[n].ns < until_ns)
		n++;
	if (n > s->taken_room) {
		free(s->taken);
		s->taken = malloc(2 * n * sizeof *s->taken);
		s->taken_room = s->taken ? 2 * n : 0;
	}
	if (n > s->taken_room)
		return 0; /* no memory now: they wait */
	if (n) {
		memcpy(s->taken, s->moments, n * sizeof *s->taken);
		memmove(s->moments, s->moments + n, (s->n - n) * sizeof *s->moments);
		s->n -= n;
	}
	*moments = s->taken;
	return n;
}

void selected_remove(struct selected *s)
{
	for (int i = 0; i < s->n_cpus; i++)
		close(s->raw[i]);
	s->n_cpus = 0;
	keeper_remove(&s->keeper);
}
