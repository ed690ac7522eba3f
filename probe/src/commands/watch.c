/*
 * rtprobe watch: sends the contents of files and sources (../sources) as frames with the time of CLOCK_MONOTONIC, again and again
 * (monitors) or once (inventory). It runs beside a measurement, so it costs little: default policy, one sleep a round, files stay open,
 * unchanged content is not sent, and each target may have a longer period. END tells its CPU time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"
#include "run/loop.h"
#include "sources/targets.h"
#include "stream/facts.h"

enum { FILE_HEAD = 24, FLAG_SAME = 1, FLAG_CUT = 2, NEVER_SENT = -1 };
enum { SPARE_FDS = 16, SPARE_FDS_OF_SOURCES = 400 };
#define MAX_CONTENT (FRAME_MAX - FILE_HEAD)

struct watched {
	int fd;      /* of a file; -1: not open */
	void *state; /* of a source; NULL: not open */
	int64_t next_ns; /* not to be read before */
	int error;  /* the last one sent, 0 after content, NEVER_SENT */
	bool cut;
	size_t length;
	uint64_t hash; /* of the last content sent */
};

struct watch {
	const struct plan *plan;
	struct loop loop;
	struct targets paths;
	struct watched *files;
	struct source_place place;
	unsigned char *block; /* FILE_HEAD + max_bytes + 1 */
	size_t max_bytes;
	int64_t every_ns;
	uint64_t count, rounds, late_rounds;
	bool keep_open;
};

/* FNV-1a: with the length it is enough to see a change; nobody forges /proc/stat. */
static uint64_t hash_of(const unsigned char *at, size_t length)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ at[i]) * UINT64_C(1099511628211);
	return hash;
}

/* Reads from the start, at most max_bytes + 1. Bytes, or -1 and errno. */
static ssize_t read_content(const struct watch *w, int fd)
{
	unsigned char *to = w->block + FILE_HEAD;
	size_t n = 0;

	while (n <= w->max_bytes) {
		ssize_t got = pread(fd, to + n, w->max_bytes + 1 - n, (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

/* An old descriptor still reads a file that was deleted or replaced, so open the name again. */
static bool deleted(int fd)
{
	struct stat st;

	return fstat(fd, &st) || st.st_nlink == 0;
}

static void forget(struct watched *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static ssize_t open_and_read(struct watch *w, size_t i)
{
	struct watched *file = &w->files[i];
	ssize_t n;

	file->fd = open(w->paths.list[i].name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0)
		return -1;
	n = read_content(w, file->fd);
	if (n < 0 || !w->keep_open) {
		int error = errno;

		forget(file);
		errno = error;
	}
	return n;
}

static void send_file(struct watch *w, size_t i, int64_t at_ns, int error, unsigned char flags, size_t length)
{
	memset(w->block, 0, FILE_HEAD);
	put_u64(w->block, (uint64_t)at_ns);
	put_u32(w->block + 8, (uint32_t)i);
	put_u32(w->block + 12, (uint32_t)error);
	w->block[16] = flags;
	outlet_frame(&w->loop.out, FRAME_FILE, w->block, FILE_HEAD + length);
}

static ssize_t read_file(struct watch *w, size_t i, int64_t *at_ns)
{
	struct watched *file = &w->files[i];
	ssize_t n = -1;

	if (file->fd >= 0 && (deleted(file->fd) || (n = read_content(w, file->fd)) < 0))
		forget(file);
	if (file->fd < 0 && n < 0) {
		*at_ns = mono_ns();
		n = open_and_read(w, i);
	}
	return n;
}

static ssize_t read_source(struct watch *w, size_t i, bool *more)
{
	const struct target *target = &w->paths.list[i];
	struct watched *file = &w->files[i];

	if (!file->state)
		file->state = target->source->open(target->argument, &w->place);
	return file->state ? target->source->read(file->state, (char *)w->block + FILE_HEAD, w->max_bytes + 1, more) : -1;
}

/* Sends the result of a reading: `n` bytes in the block, or -1 and `error`. */
static void send_reading(struct watch *w, size_t i, int64_t at_ns, ssize_t n, int error)
{
	struct watched *file = &w->files[i];
	uint64_t hash;
	size_t length;
	bool cut, same;

	if (n < 0) {
		/* Each gap in the kernel's log is an event; any other error is a state. */
		if (error != file->error || error == EPIPE)
			send_file(w, i, at_ns, error, 0, 0);
		file->error = error;
		return;
	}
	cut = (size_t)n > w->max_bytes;
	length = cut ? w->max_bytes : (size_t)n;
	hash = hash_of(w->block + FILE_HEAD, length);
	same = file->error == 0 && file->length == length && file->cut == cut && file->hash == hash;
	send_file(w, i, at_ns, 0, (unsigned char)((same ? FLAG_SAME : 0) | (cut ? FLAG_CUT : 0)), same ? 0 : length);
	file->error = 0;
	file->cut = cut;
	file->length = length;
	file->hash = hash;
}

/* Waits for a slow reader; nothing is skipped. False: asked to end, or nobody reads. */
static bool room_for_more(struct watch *w)
{
	if (outlet_pending(&w->loop.out) > OUTLET_ROOM && loop_drain(&w->loop, INT64_MAX, true, OUTLET_ROOM) > OUTLET_ROOM)
		return false;
	return !w->loop.out.error;
}

/* One reading of one target. False: asked to end, or nobody reads. */
static bool read_one(struct watch *w, size_t i)
{
	bool more = false;

	do {
		int64_t at_ns = mono_ns();
		ssize_t n;

		more = false;
		n = w->paths.list[i].source ? read_source(w, i, &more) : read_file(w, i, &at_ns);
		if (n >= 0 || errno != EAGAIN)
			send_reading(w, i, at_ns, n, errno);
		if (!room_for_more(w))
			return false;
	} while (more);
	return true;
}

/* Reads all targets that are due in the round of `due_ns`. */
static void read_all(struct watch *w, int64_t due_ns)
{
	for (size_t i = 0; i < w->paths.n; i++) {
		if (due_ns < w->files[i].next_ns)
			continue;
		w->files[i].next_ns = due_ns + w->paths.list[i].period_ns;
		if (!read_one(w, i))
			return;
	}
	w->rounds++;
}

static void json_paths(struct json *j, const struct targets *paths)
{
	json_array(j, "paths");
	for (size_t i = 0; i < paths->n; i++)
		json_string(j, NULL, paths->list[i].name);
	json_end_array(j);
	json_array(j, "unmatched");
	for (size_t i = 0; i < paths->unmatched.n; i++)
		json_string(j, NULL, paths->unmatched.list[i]);
	json_end_array(j);
	json_object(j, "slower_ns");
	for (size_t i = 0; i < paths->n; i++)
		if (paths->list[i].period_ns)
			json_int(j, paths->list[i].name, paths->list[i].period_ns);
	json_end_object(j);
}

/* FACTS, or an exit code if the list of paths does not fit a frame. */
static int send_facts(struct watch *w)
{
	struct obtained obtained = rt_look(0);
	struct json j;

	facts_begin(&j, w->plan);
	json_int(&j, "every_ns", w->every_ns);
	json_uint(&j, "max_bytes", w->max_bytes);
	if (w->count)
		json_uint(&j, "count", w->count);
	else
		json_null(&j, "count");
	json_paths(&j, &w->paths);
	json_obtained(&j, "obtained", &obtained);
	json_end_object(&j);
	if (j.length > FRAME_MAX) {
		json_close(&j);
		return say_fail(EXIT_USAGE, "%zu paths are too many for one watch; give narrower patterns", w->paths.n);
	}
	outlet_json(&w->loop.out, FRAME_FACTS, &j);
	return 0;
}

static int collect_paths(struct watch *w)
{
	int code = 0;

	for (int i = 0; i < w->plan->n_args && !code; i++)
		code = targets_add(&w->paths, w->plan->args[i]);
	if (!code)
		code = targets_unique(&w->paths);
	if (!code && !w->paths.n)
		say_note("no path matches; there is nothing to watch");
	return code;
}

static bool has_source(const struct watch *w)
{
	for (size_t i = 0; i < w->paths.n; i++)
		if (w->paths.list[i].source)
			return true;
	return false;
}

/* Files stay open only if there are descriptors for all. An inventory reads thousands of files one by one. */
static bool enough_descriptors(const struct watch *w)
{
	size_t spare = has_source(w) ? SPARE_FDS_OF_SOURCES : SPARE_FDS;
	struct rlimit limit;

	if (w->count == 1 || getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return !getrlimit(RLIMIT_NOFILE, &limit) && w->paths.n + spare < limit.rlim_cur;
}

static int prepare(struct watch *w)
{
	int code = collect_paths(w);

	if (code)
		return code;
	w->place = (struct source_place){ .loop = &w->loop, .events = epoll_create1(EPOLL_CLOEXEC) };
	if (w->place.events < 0)
		return say_fail(EXIT_BOARD, "cannot watch anything: %s", strerror(errno));
	w->block = malloc(FILE_HEAD + w->max_bytes + 1);
	w->files = calloc(w->paths.n + 1, sizeof *w->files);
	if (!w->block || !w->files)
		return say_fail(EXIT_BOARD, "no memory to read %zu files of %zu bytes; lower --max-bytes", w->paths.n, w->max_bytes);
	for (size_t i = 0; i < w->paths.n; i++)
		w->files[i] = (struct watched){ .fd = -1, .next_ns = INT64_MIN, .error = NEVER_SENT };
	w->keep_open = enough_descriptors(w);
	return send_facts(w);
}

/* Takes the results of sources that a reading only started. Returns when to look again at the latest; INT64_MAX: nothing is left. */
static int64_t collect_results(struct watch *w)
{
	int64_t next_ns = INT64_MAX;

	for (size_t i = 0; i < w->paths.n; i++) {
		const struct source *source = w->paths.list[i].source;
		void *state = w->files[i].state;
		int64_t until_ns;
		ssize_t n;

		if (!state || !source->collect || source->until_ns(state) == INT64_MAX)
			continue;
		n = source->collect(state, (char *)w->block + FILE_HEAD, w->max_bytes + 1);
		if (n >= 0 || errno != EAGAIN)
			send_reading(w, i, mono_ns(), n, errno);
		until_ns = source->until_ns(state);
		if (until_ns < next_ns)
			next_ns = until_ns;
	}
	return next_ns;
}

static bool over(const struct watch *w)
{
	return w->loop.out.error || loop_asked_to_end(&w->loop);
}

/* Until `due_ns`, or (with INT64_MAX) until nothing is left to collect. */
static void wait_and_collect(struct watch *w, int64_t due_ns)
{
	while (!over(w)) {
		struct pollfd results = { .fd = w->place.events, .events = POLLIN };
		int64_t next_ns = collect_results(w);

		if (mono_ns() >= due_ns || (next_ns == INT64_MAX && due_ns == INT64_MAX))
			return;
		loop_wait(&w->loop, next_ns < due_ns ? next_ns : due_ns, &results, 1);
	}
}

/* Rounds at start + k * every. A round that is too late is counted as late and left out. */
static const char *watch_rounds(struct watch *w)
{
	int64_t due_ns = mono_ns();

	for (;;) {
		int64_t behind;

		read_all(w, due_ns);
		if (w->count && w->rounds >= w->count) {
			wait_and_collect(w, INT64_MAX);
			return w->loop.out.error ? "error" : "count";
		}
		due_ns += w->every_ns;
		behind = mono_ns() - due_ns;
		if (behind >= w->every_ns) {
			w->late_rounds += (uint64_t)(behind / w->every_ns);
			due_ns += behind / w->every_ns * w->every_ns;
		}
		wait_and_collect(w, due_ns);
		if (w->loop.out.error)
			return "error";
		if (loop_asked_to_end(&w->loop))
			return w->loop.stop_signal ? "signal" : "owner";
	}
}

static void close_sources(struct watch *w)
{
	for (size_t i = 0; w->files && i < w->paths.n; i++) {
		if (w->files[i].state)
			w->paths.list[i].source->close(w->files[i].state);
		w->files[i].state = NULL;
	}
}

/* CPU time of this process and of the programs it ran. */
static int64_t cpu_ns(void)
{
	struct rusage children;
	struct timespec own;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (int64_t)(own.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1000000000 + own.tv_nsec +
	       (int64_t)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1000;
}

static void send_end(struct watch *w, const char *reason, int exit_code)
{
	struct json j;

	end_begin(&j, reason, exit_code);
	json_uint(&j, "rounds", w->rounds);
	json_uint(&j, "late_rounds", w->late_rounds);
	json_int(&j, "cpu_ns", cpu_ns());
	json_end_object(&j);
	outlet_json(&w->loop.out, FRAME_END, &j);
}

static void release(struct watch *w)
{
	close_sources(w);
	for (size_t i = 0; w->files && i < w->paths.n; i++)
		forget(&w->files[i]);
	if (w->place.events >= 0)
		close(w->place.events);
	free(w->files);
	free(w->block);
	targets_free(&w->paths);
}

/* Moves to the CPUs of --cpus; programs that a source starts inherit it. */
static int take_place(const struct cpus *cpus)
{
	int error = cpus ? rt_pin(0, cpus) : 0;

	return error ? say_fail(EXIT_BOARD, "cannot run on the CPUs of --cpus: %s", strerror(error)) : 0;
}

static int watch_run(const struct plan *plan)
{
	struct watch w = {
		.plan = plan,
		.every_ns = plan_number(plan, "every"),
		.count = (uint64_t)plan_number(plan, "count"),
		.max_bytes = (size_t)plan_number(plan, "max-bytes"),
		.place = { .events = -1 },
	};
	int code = loop_open(&w.loop, plan_text(plan, "output"), true, plan_flag(plan, "attached"));

	if (!code)
		code = take_place(plan_cpus(plan, "cpus"));
	if (!code)
		code = prepare(&w);
	if (!code) {
		const char *reason = watch_rounds(&w);

		close_sources(&w); /* so that END has the CPU time of the last programs */
		send_end(&w, reason, EXIT_DONE);
	}
	code = loop_close(&w.loop, INT64_MAX, code);
	release(&w);
	return code;
}

static const struct option_spec watch_options[] = {
	{ .name = "every",
	  .type = OPT_DURATION,
	  .unit = "ns",
	  .min = 10000000,
	  .max = INT64_C(86400000000000),
	  .standard = "1s",
	  .help = "time between two readings of all files" },
	{ .name = "count", .type = OPT_INTEGER, .unit = "readings", .min = 1, .max = INT32_MAX, .help = "end after this many readings" },
	{ .name = "max-bytes",
	  .type = OPT_INTEGER,
	  .unit = "bytes",
	  .min = 1,
	  .max = MAX_CONTENT,
	  .standard = "65536",
	  .help = "longer content is cut and marked as cut" },
	{ .name = "cpus", .type = OPT_CPUS, .help = "run on these CPUs, away from the measured ones" },
	{ .name = "attached", .type = OPT_FLAG, .help = "end when stdin ends" },
	{ .name = "output", .letter = 'o', .type = OPT_TEXT, .unit = "FILE", .help = "where the stream goes instead of stdout" },
	{ 0 },
};

const struct command command_watch = {
	.name = "watch",
	.summary = "contents of files as frames stamped with the board's clock",
	.arguments = "[PERIOD:]PATH|@SOURCE...",
	.min_arguments = 1,
	.max_arguments = INT32_MAX,
	.options = watch_options,
	.run = watch_run,
};
