/*
 * rtprobe fetch: a spool's stream from an offset on, to its end. Lines on stdin: "ack N" (the first N bytes are safe on the host: whole
 * segments of them are deleted), "signal ID NUMBER" and "close-stdin" (passed on to the spooler). It ends with its stdin: the spooler goes on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/spool.h"
#include "os/files.h"
#include "os/plan.h"
#include "os/say.h"

enum { CHUNK = 65536 };

struct fetch {
	const char *dir;
	uint64_t offset, start; /* of the next byte to send, and of the segment it is in */
	int fd;
	int every_ms;
	bool owner_gone;
	char line[128];
	size_t n_line;
};

static bool segment_name(const char *name, uint64_t *offset)
{
	if (strlen(name) != SPOOL_NAME || strspn(name, "0123456789") != SPOOL_NAME)
		return false;
	*offset = strtoull(name, NULL, 10);
	return true;
}

/* ---- what the host says ---- */

/* Deletes the segments that end at or before `safe`, and says up to where. A segment ends where the next one begins. */
static void acknowledge(struct fetch *f, uint64_t safe)
{
	char path[SPOOL_PATH], aside[SPOOL_PATH], text[24];
	uint64_t begins = 0, at;
	DIR *dir = opendir(f->dir);
	struct dirent *entry;
	int fd;

	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL)	/* the last segment that begins at or before `safe` stays */
		if (segment_name(entry->d_name, &at) && at <= safe && at > begins)
			begins = at;
	rewinddir(dir);
	fd = begins ? open(spool_path(aside, f->dir, ".fetched"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	while (begins && (entry = readdir(dir)) != NULL)
		if (segment_name(entry->d_name, &at) && at < begins)
			unlink(segment_path(path, f->dir, at));
	closedir(dir);
	if (fd < 0)
		return;
	snprintf(text, sizeof text, "%" PRIu64 "\n", begins);
	if (write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		rename(aside, spool_path(path, f->dir, "fetched"));
	close(fd);
}

static void pass_on(const struct fetch *f, const char *line)
{
	char path[SPOOL_PATH], text[140];
	int fd = open(spool_path(path, f->dir, "control"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;	/* the spooler has ended: there is nobody to tell */
	snprintf(text, sizeof text, "%s\n", line);
	if (write(fd, text, strlen(text)) < 0)
		errno = 0;
	close(fd);
}

static void handle_line(struct fetch *f, const char *line)
{
	uint64_t safe;

	if (sscanf(line, "ack %" SCNu64, &safe) == 1)
		acknowledge(f, safe < f->offset ? safe : f->offset);
	else if (!strncmp(line, "signal ", 7) || !strcmp(line, "close-stdin"))
		pass_on(f, line);
}

static void read_owner(struct fetch *f)
{
	char text[512];
	ssize_t n = read(STDIN_FILENO, text, sizeof text);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		f->owner_gone = true;
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] != '\n') {
			if (f->n_line < sizeof f->line - 1)
				f->line[f->n_line++] = text[i];
			continue;
		}
		f->line[f->n_line] = 0;
		f->n_line = 0;
		handle_line(f, f->line);
	}
}

static void listen_for(struct fetch *f, int ms)
{
	struct pollfd owner = {.fd = STDIN_FILENO, .events = POLLIN};

	if (poll(&owner, 1, ms) > 0)
		read_owner(f);
}

/* ---- one reader at a time ---- */

static bool is_fetcher_of(pid_t pid, const char *dir)
{
	char path[40], text[2048];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1)
		if (!strcmp(text + at, dir))
			return true;
	return false;
}

/* One whose connection died without a word may sit in a write for hours. */
static void replace_other(const struct fetch *f)
{
	char path[SPOOL_PATH], text[24];
	int fd;

	if (read_small(spool_path(path, f->dir, "fetcher"), text, sizeof text) > 0) {
		pid_t other = (pid_t)atoi(text);

		if (other > 1 && other != getpid() && is_fetcher_of(other, f->dir))
			kill(other, SIGKILL);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	snprintf(text, sizeof text, "%d\n", (int)getpid());
	if (write(fd, text, strlen(text)) < 0)
		errno = 0;	/* full: then a second reader cannot find us */
	close(fd);
}

/* ---- the stream ---- */

static bool open_segment(struct fetch *f, uint64_t start)
{
	char path[SPOOL_PATH];
	int fd = open(segment_path(path, f->dir, start), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = fd;
	f->start = start;
	return true;
}

/* The segment that holds the offset asked for. */
static int find_segment(struct fetch *f)
{
	uint64_t best = 0, least = UINT64_MAX, at;
	bool found = false;
	DIR *dir = opendir(f->dir);
	struct dirent *entry;

	if (!dir)
		return say_fail(EXIT_BOARD, "there is no spool %s: %s", f->dir, strerror(errno));
	while ((entry = readdir(dir)) != NULL) {
		if (!segment_name(entry->d_name, &at))
			continue;
		least = at < least ? at : least;
		if (at <= f->offset && (!found || at > best)) {
			best = at;
			found = true;
		}
	}
	closedir(dir);
	if (!found)
		return say_fail(EXIT_BOARD, "bytes from %" PRIu64 " on are not in %s any more: the first there is %" PRIu64, f->offset,
				f->dir, least);
	return open_segment(f, best) ? 0 : say_fail(EXIT_BOARD, "cannot read the spool %s: %s", f->dir, strerror(errno));
}

static int send_bytes(const char *data, size_t length)
{
	while (length) {
		ssize_t n = write(STDOUT_FILENO, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		length -= (size_t)n;
	}
	return 0;
}

/* Sends what there is; 1: something was sent, 0: nothing there now, -1: nobody reads, or the disk fails. */
static int send_some(struct fetch *f)
{
	static char chunk[CHUNK];
	ssize_t n = pread(f->fd, chunk, sizeof chunk, (off_t)(f->offset - f->start));

	if (n > 0) {
		f->offset += (uint64_t)n;
		return send_bytes(chunk, (size_t)n) ? -1 : 1;
	}
	if (n < 0)
		return errno == EINTR ? 1 : -1;
	/* The next segment is made when this one is finished, and bears the offset at which it ended. */
	return f->offset > f->start && open_segment(f, f->offset) ? 1 : 0;
}

/* Whether the command has ended and everything was sent. */
static bool at_the_end(const struct fetch *f)
{
	char path[SPOOL_PATH], text[80];
	uint64_t total;

	return read_small(spool_path(path, f->dir, "exit"), text, sizeof text) > 0 && sscanf(text, "%*d %" SCNu64, &total) == 1 &&
	       f->offset >= total;
}

static bool spooler_lives(const struct fetch *f)
{
	char path[SPOOL_PATH], text[160], boot[64] = "", of_spool[64] = "";
	int pid;

	if (read_small(spool_path(path, f->dir, "pid"), text, sizeof text) <= 0 || sscanf(text, "%d %*u %*d %63s", &pid, of_spool) < 1)
		return true;	/* just begun */
	read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	if (*of_spool && strcmp(boot, of_spool))
		return false;
	return !kill(pid, 0) || errno == EPERM;
}

static int follow(struct fetch *f)
{
	bool gone = false;

	while (!f->owner_gone) {
		int sent = send_some(f);

		if (sent < 0)
			return say_fail(EXIT_BOARD, "cannot send the spool %s: %s", f->dir, strerror(errno));
		if (sent) {
			listen_for(f, 0);
			continue;
		}
		if (at_the_end(f))
			return EXIT_DONE;
		if (gone)
			return say_fail(EXIT_BOARD, "the process that wrote %s is gone: the board was restarted, or it was killed", f->dir);
		gone = !spooler_lives(f);	/* then once more: it may have written its last between the two looks */
		listen_for(f, gone ? 0 : f->every_ms);
	}
	return EXIT_DONE;
}

static int fetch_run(const struct plan *plan)
{
	struct fetch f = {
		.dir = plan->args[0],
		.offset = (uint64_t)plan_number(plan, "from"),
		.fd = -1,
		.every_ms = (int)(plan_number(plan, "every") / 1000000),
	};
	int code;

	if (f.dir[0] != '/' || strlen(f.dir) + SPOOL_NAME + 2 > SPOOL_PATH)
		return say_fail(EXIT_USAGE, "%s is not an absolute path, or too long", f.dir);
	signal(SIGPIPE, SIG_IGN);
	code = find_segment(&f);
	if (!code) {
		replace_other(&f);
		code = follow(&f);
	}
	if (f.fd >= 0)
		close(f.fd);
	return code;
}

static const struct option_spec fetch_options[] = {
	{.name = "from", .type = OPT_INTEGER, .unit = "bytes", .min = 0, .max = INT64_C(1) << 60, .standard = "0",
	 .help = "offset of the first byte to send"},
	{.name = "every", .type = OPT_DURATION, .unit = "ns", .min = 10000000, .max = INT64_C(60000000000), .standard = "500ms",
	 .help = "how often to look for more: seldom, so that fetching disturbs little"},
	{0},
};

const struct command command_fetch = {
	.name = "fetch",
	.summary = "sends what a spool holds from an offset on, and what comes, until its command has ended",
	.arguments = "DIR",
	.min_arguments = 1,
	.max_arguments = 1,
	.options = fetch_options,
	.run = fetch_run,
};
