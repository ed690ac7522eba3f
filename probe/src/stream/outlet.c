#include "stream/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/say.h"

enum { SAFE_WRITE = 4096 }; /* poll says POLLOUT for a pipe only if this much fits */

static void make_nonblocking(struct outlet *o)
{
	char path[40];
	int own;

	/* Other processes may share the open file description, and O_NONBLOCK belongs to it. So open a new one. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", o->fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (own < 0)
		return;
	o->fd = own;
	o->nonblocking = true;
}

int outlet_open(struct outlet *o, const char *path)
{
	struct stat st;

	o->fd = STDOUT_FILENO;
	if (path) {
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (o->fd < 0)
			return say_fail(errno == ENOSPC || errno == EROFS ? EXIT_BOARD : EXIT_USAGE,
					"cannot write %s: %s; give -o another place", path, strerror(errno));
	} else if (isatty(o->fd)) {
		o->fd = -1;
		return say_fail(EXIT_USAGE, "the stream is binary and stdout is a terminal; redirect it, or use -o FILE");
	}
	if (fstat(o->fd, &st)) {
		o->fd = -1;
		return say_fail(EXIT_BOARD, "cannot write the stream: %s", strerror(errno));
	}
	o->queued = !S_ISREG(st.st_mode);
	if (S_ISFIFO(st.st_mode))
		make_nonblocking(o);
	if (emit_open(&o->emit, o->fd, FRAME_MAX + FRAME_HEADER)) {
		o->fd = -1;
		return say_fail(EXIT_BOARD, "no memory for the stream: %s", strerror(errno));
	}
	return 0;
}

void outlet_drop(struct outlet *o, int error)
{
	if (!o->error)
		o->error = error;
	o->head = o->tail = 0;
	o->emit.length = 0;
}

/* Moves the frame emit has built to the queue, so that emit itself never writes. */
static void enqueue(struct outlet *o)
{
	size_t need = o->tail + o->emit.length;

	if (o->head == o->tail) {
		o->head = o->tail = 0;
		need = o->emit.length;
	}
	if (need > o->capacity && o->head) {
		memmove(o->queue, o->queue + o->head, o->tail - o->head);
		need -= o->head;
		o->tail -= o->head;
		o->head = 0;
	}
	if (need > o->capacity) {
		size_t capacity = need + OUTLET_ROOM;
		void *bigger = realloc(o->queue, capacity);

		if (!bigger) {
			outlet_drop(o, ENOMEM);
			return;
		}
		o->queue = bigger;
		o->capacity = capacity;
	}
	memcpy(o->queue + o->tail, o->emit.buffer, o->emit.length);
	o->tail += o->emit.length;
	o->emit.length = 0;
}

void outlet_push(struct outlet *o)
{
	while (outlet_pending(o)) {
		size_t left = o->tail - o->head;
		ssize_t n = write(o->fd, o->queue + o->head, !o->nonblocking && left > SAFE_WRITE ? SAFE_WRITE : left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			outlet_drop(o, errno);
			return;
		}
		o->head += (size_t)n;
		if (!o->nonblocking)
			return; /* ask poll again before the next page */
	}
}

static void after_frame(struct outlet *o)
{
	if (o->queued)
		enqueue(o);
	else if (emit_flush(&o->emit))
		outlet_drop(o, o->emit.error);
}

void outlet_frame(struct outlet *o, enum frame_type type, const void *payload, size_t length)
{
	if (o->fd < 0 || o->error)
		return;
	emit_frame(&o->emit, type, LANE_NONE, payload, length);
	after_frame(o);
}

void outlet_json(struct outlet *o, enum frame_type type, struct json *j)
{
	if (o->fd < 0 || o->error) {
		json_close(j);
		return;
	}
	if (emit_json(&o->emit, type, LANE_NONE, j) && !o->emit.error)
		outlet_drop(o, ENOMEM);
	after_frame(o);
}

size_t outlet_pending(const struct outlet *o)
{
	return o->tail - o->head;
}

void event_begin_at(struct json *j, const char *name, int64_t at_ns)
{
	json_open(j);
	json_object(j, NULL);
	json_string(j, "event", name);
	json_int(j, "mono_ns", at_ns);
}

void event_begin(struct json *j, const char *name)
{
	event_begin_at(j, name, mono_ns());
}

void event_send(struct outlet *o, struct json *j)
{
	json_end_object(j);
	outlet_json(o, FRAME_EVENT, j);
}
