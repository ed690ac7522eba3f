/*
 * rtprobe fetch: sends the streams of any number of spools over one connection. wire/STREAM.md ("Spools") lists the lines it takes on stdin
 * and the records it writes to stdout. It ends with its stdin; the spoolers go on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/spool.h"
#include "os/files.h"
#include "os/plan.h"
#include "os/procstat.h"
#include "os/say.h"
#include "stream/emit.h"

enum { CHUNK = 65536, STREAMS_MAX = 256, LINE = SPOOL_PATH + 64 };
enum record { RECORD_DATA = 1, RECORD_END, RECORD_LOST }; /* wire/STREAM.md */

struct stream {
	char dir[SPOOL_PATH];
	uint16_t channel;
	uint64_t offset, start; /* of the next byte to send, and of the segment it is in */
	int fd;
	bool orphaned; /* its spooler is gone: what it wrote last is still sent */
	bool over;
};

struct fetch {
	struct stream *streams;
	size_t n;
	int every_ms;
	bool owner_gone;
	int error; /* errno of a failed write to stdout */
	char line[LINE];
	size_t n_line;
};

static bool segment_name(const char *name, uint64_t *offset)
{
	if (strlen(name) != SPOOL_NAME || strspn(name, "0123456789") != SPOOL_NAME)
		return false;
	*offset = strtoull(name, NULL, 10);
	return true;
}

/* ---- records ---- */

static void send_bytes(struct fetch *f, const unsigned char *data, size_t length)
{
	while (length && !f->error) {
		ssize_t n = write(STDOUT_FILENO, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			f->error = errno;
			return;
		}
		data += n;
		length -= (size_t)n;
	}
}

/* `block` has room for the head before the `length` bytes of the record. */
static void send_record(struct fetch *f, const struct stream *s, enum record kind, unsigned char *block, size_t length)
{
	put_u32(block, (uint32_t)kind | (uint32_t)s->channel << 16);
	put_u32(block + 4, (uint32_t)length);
	send_bytes(f, block, 8 + length);
}

static void end_stream(struct stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->over = true;
}

__attribute__((format(printf, 3, 4))) static void send_lost(struct fetch *f, struct stream *s, const char *format, ...)
{
	unsigned char block[8 + SPOOL_PATH + 200];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf((char *)block + 8, sizeof block - 8, format, arguments);
	va_end(arguments);
	send_record(f, s, RECORD_LOST, block, (size_t)n < sizeof block - 8 ? (size_t)n : sizeof block - 9);
	end_stream(s);
}

/* ---- what the host says ---- */

/* Deletes the segments that end at or before `safe`, and says up to where. A segment ends where the next one begins. */
static void acknowledge(const struct stream *s, uint64_t safe)
{
	char path[SPOOL_PATH], aside[SPOOL_PATH], text[24];
	uint64_t begins = 0, at;
	DIR *dir = opendir(s->dir);
	struct dirent *entry;
	int fd;

	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL) /* the last segment that begins at or before `safe` stays */
		if (segment_name(entry->d_name, &at) && at <= safe && at > begins)
			begins = at;
	rewinddir(dir);
	fd = begins ? open(spool_path(aside, s->dir, ".fetched"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	while (begins && (entry = readdir(dir)) != NULL)
		if (segment_name(entry->d_name, &at) && at < begins)
			unlink(segment_path(path, s->dir, at));
	closedir(dir);
	if (fd < 0)
		return;
	snprintf(text, sizeof text, "%" PRIu64 "\n", begins);
	if (write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		rename(aside, spool_path(path, s->dir, "fetched"));
	close(fd);
}

static void pass_on(const struct stream *s, const char *line)
{
	char path[SPOOL_PATH], text[LINE + 1];
	int fd = open(spool_path(path, s->dir, "control"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return; /* the spooler has ended: there is nobody to tell */
	snprintf(text, sizeof text, "%s\n", line);
	if (write(fd, text, strlen(text)) < 0)
		errno = 0;
	close(fd);
}

static bool is_process(pid_t pid, uint64_t start)
{
	return pid > 1 && pid != getpid() && start && process_start(pid) == start;
}

/* One reader at a time: another one, whose connection died without a word, may sit in a write for hours. */
static void replace_other(const struct stream *s)
{
	char path[SPOOL_PATH], text[48];
	uint64_t start;
	int pid, fd;

	if (read_small(spool_path(path, s->dir, "fetcher"), text, sizeof text) > 0 && sscanf(text, "%d %" SCNu64, &pid, &start) == 2 &&
	    is_process(pid, start))
		kill(pid, SIGKILL);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	snprintf(text, sizeof text, "%d %" PRIu64 "\n", (int)getpid(), process_start(getpid()));
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* full: then a second reader cannot find us */
	close(fd);
}

static bool open_segment(struct stream *s, uint64_t start)
{
	char path[SPOOL_PATH];
	int fd = open(segment_path(path, s->dir, start), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = fd;
	s->start = start;
	return true;
}

/* Opens the segment that holds the offset asked for. */
static void find_segment(struct fetch *f, struct stream *s)
{
	uint64_t best = 0, least = UINT64_MAX, at;
	bool found = false;
	DIR *dir = opendir(s->dir);
	struct dirent *entry;

	if (!dir) {
		send_lost(f, s, "there is no spool %s: %s", s->dir, strerror(errno));
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (!segment_name(entry->d_name, &at))
			continue;
		least = at < least ? at : least;
		if (at <= s->offset && (!found || at > best)) {
			best = at;
			found = true;
		}
	}
	closedir(dir);
	if (!found)
		send_lost(f, s, "bytes from %" PRIu64 " on are not in %s any more: the first there is %" PRIu64, s->offset, s->dir, least);
	else if (!open_segment(s, best))
		send_lost(f, s, "cannot read the spool %s: %s", s->dir, strerror(errno));
	else
		replace_other(s);
}

static struct stream *stream_of(struct fetch *f, unsigned channel)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->streams[i].channel == channel && !f->streams[i].over)
			return &f->streams[i];
	return NULL;
}

static void follow(struct fetch *f, unsigned channel, uint64_t offset, const char *dir)
{
	struct stream *s = stream_of(f, channel);

	for (size_t i = 0; !s && i < f->n; i++)
		if (f->streams[i].over)
			s = &f->streams[i];
	if (!s && f->n < STREAMS_MAX) {
		s = &f->streams[f->n++];
		s->fd = -1;
	}
	if (!s)
		return;
	end_stream(s);
	*s = (struct stream){ .channel = (uint16_t)channel, .offset = offset, .fd = -1 };
	if (dir[0] != '/' || strlen(dir) + SPOOL_NAME + 2 > SPOOL_PATH) {
		send_lost(f, s, "the path of the spool is not absolute, or too long");
		return;
	}
	memcpy(s->dir, dir, strlen(dir) + 1);
	find_segment(f, s);
}

static void handle_line(struct fetch *f, const char *line)
{
	unsigned channel;
	uint64_t number;
	struct stream *s;
	int at = 0;

	if (sscanf(line, "follow %u %" SCNu64 " %n", &channel, &number, &at) == 2 && at) {
		follow(f, channel, number, line + at);
		return;
	}
	if (sscanf(line, "%*s %u %n", &channel, &at) != 1 || !(s = stream_of(f, channel)))
		return;
	if (sscanf(line, "ack %*u %" SCNu64, &number) == 1)
		acknowledge(s, number < s->offset ? number : s->offset);
	else if (!strncmp(line, "tell ", 5) && at)
		pass_on(s, line + at);
	else if (!strncmp(line, "leave ", 6))
		end_stream(s);
}

static void read_owner(struct fetch *f)
{
	char text[4096];
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
	struct pollfd owner = { .fd = STDIN_FILENO, .events = POLLIN };

	if (poll(&owner, 1, ms) > 0)
		read_owner(f);
}

/* ---- the streams ---- */

/* Sends a piece of what is there; false: nothing is there now. */
static bool send_some(struct fetch *f, struct stream *s)
{
	static unsigned char block[8 + CHUNK];
	ssize_t n = pread(s->fd, block + 8, CHUNK, (off_t)(s->offset - s->start));

	if (n > 0) {
		s->offset += (uint64_t)n;
		send_record(f, s, RECORD_DATA, block, (size_t)n);
		return true;
	}
	if (n < 0 && errno != EINTR) {
		send_lost(f, s, "cannot read the spool %s: %s", s->dir, strerror(errno));
		return true;
	}
	/* The next segment is made when this one is finished, and bears the offset at which it ended. */
	return n < 0 || (s->offset > s->start && open_segment(s, s->offset));
}

/* Whether the command has ended and everything was sent: then the record says how it ended, and its last words. */
static bool send_end(struct fetch *f, struct stream *s)
{
	static unsigned char block[8 + 128 + CHUNK];
	char path[SPOOL_PATH];
	uint64_t total;
	long head = read_small(spool_path(path, s->dir, "exit"), (char *)block + 8, 100);
	ssize_t words = 0;
	int fd;

	if (head <= 0 || sscanf((char *)block + 8, "%*d %" SCNu64, &total) != 1 || s->offset < total)
		return false;
	block[8 + head++] = '\n';
	fd = open(spool_path(path, s->dir, "errors"), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		words = read(fd, block + 8 + head, CHUNK);
		close(fd);
	}
	send_record(f, s, RECORD_END, block, (size_t)head + (words > 0 ? (size_t)words : 0));
	end_stream(s);
	return true;
}

static bool spooler_lives(const struct stream *s)
{
	char path[SPOOL_PATH], text[160], boot[64] = "", of_spool[64] = "";
	int pid;

	if (read_small(spool_path(path, s->dir, "pid"), text, sizeof text) <= 0 || sscanf(text, "%d %*u %*d %63s", &pid, of_spool) < 1)
		return true; /* just begun */
	read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	if (*of_spool && strcmp(boot, of_spool))
		return false;
	return !kill(pid, 0) || errno == EPERM;
}

/* Whether there may be more of it at once. */
static bool serve(struct fetch *f, struct stream *s)
{
	if (s->over)
		return false;
	if (send_some(f, s))
		return true;
	if (send_end(f, s))
		return false;
	if (s->orphaned) {
		send_lost(f, s, "the process that wrote %s is gone: the board was restarted, or it was killed", s->dir);
		return false;
	}
	s->orphaned = !spooler_lives(s); /* it may have written between our read and its end: read once more */
	return s->orphaned;
}

static int serve_all(struct fetch *f)
{
	while (!f->owner_gone && !f->error) {
		bool more = false;

		for (size_t i = 0; i < f->n; i++)
			more |= serve(f, &f->streams[i]);
		listen_for(f, more ? 0 : f->every_ms);
	}
	return f->error ? say_fail(EXIT_BOARD, "cannot send what is spooled: %s", strerror(f->error)) : EXIT_DONE;
}

static int fetch_run(const struct plan *plan)
{
	struct fetch f = { .every_ms = (int)(plan_number(plan, "every") / 1000000) };
	int code;

	f.streams = calloc(STREAMS_MAX, sizeof *f.streams);
	if (!f.streams)
		return say_fail(EXIT_BOARD, "no memory: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	code = serve_all(&f);
	for (size_t i = 0; i < f.n; i++)
		end_stream(&f.streams[i]);
	free(f.streams);
	return code;
}

static const struct option_spec fetch_options[] = {
	{ .name = "every",
	  .type = OPT_DURATION,
	  .unit = "ns",
	  .min = 10000000,
	  .max = INT64_C(60000000000),
	  .standard = "500ms",
	  .help = "how often to look for more: seldom, so that fetching disturbs little" },
	{ 0 },
};

const struct command command_fetch = {
	.name = "fetch",
	.summary = "sends the content of spools, old and new, over one connection; lines on stdin control it",
	.options = fetch_options,
	.run = fetch_run,
};
