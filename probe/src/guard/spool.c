#include "guard/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/files.h"

enum { RESERVE = 1 << 20 };

char *spool_path(char *out, const char *dir, const char *name)
{
	snprintf(out, SPOOL_PATH, "%s/%s", dir, name);
	return out;
}

char *segment_path(char *out, const char *dir, uint64_t offset)
{
	snprintf(out, SPOOL_PATH, "%s/%020" PRIu64, dir, offset);
	return out;
}

/* ---- segments ---- */

/* Reserves room for the histogram and the end, in case others fill the disk. */
static bool make_reserve(const struct segments *s)
{
	char path[SPOOL_PATH], block[4096] = { 0 };
	uint64_t size = s->budget / 8 < RESERVE ? s->budget / 8 : RESERVE;
	struct statvfs disk;
	int fd = open(spool_path(path, s->dir, "reserve"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool whole = fd >= 0;

	if (!statvfs(s->dir, &disk) && (uint64_t)disk.f_bavail * disk.f_frsize / 4 < size)
		size = (uint64_t)disk.f_bavail * disk.f_frsize / 4;
	for (uint64_t done = 0; whole && done < size; done += sizeof block)
		whole = write(fd, block, sizeof block) == (ssize_t)sizeof block;
	if (fd >= 0)
		close(fd);
	if (!whole)
		unlink(path);
	return whole;
}

static bool give_up_reserve(struct segments *s)
{
	char path[SPOOL_PATH];

	if (!s->reserve)
		return false;
	s->reserve = false;
	return !unlink(spool_path(path, s->dir, "reserve"));
}

/* If no new one can be made, the old one grows. */
static int next_segment(struct segments *s)
{
	char path[SPOOL_PATH];
	int fd = open(segment_path(path, s->dir, s->offset), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = fd;
	s->start = s->offset;
	return 0;
}

int segments_open(struct segments *s, const char *dir, uint64_t budget, uint64_t segment_bytes)
{
	memset(s, 0, sizeof *s);
	s->dir = dir;
	s->fd = -1;
	s->budget = s->asked = budget;
	s->segment_bytes = segment_bytes;
	s->reserve = make_reserve(s);
	return next_segment(s);
}

void segments_close(struct segments *s)
{
	give_up_reserve(s);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

uint64_t segments_used(struct segments *s)
{
	char path[SPOOL_PATH], text[24];

	if (s->offset - s->first > s->budget / 2 && read_small(spool_path(path, s->dir, "fetched"), text, sizeof text) > 0) {
		uint64_t fetched = strtoull(text, NULL, 10);

		if (fetched > s->first && fetched <= s->offset) {
			s->first = fetched;
			s->budget = s->asked; /* there is room again; if not, the next write says so */
			if (!s->reserve)
				s->reserve = make_reserve(s);
		}
	}
	return s->offset - s->first;
}

static bool append(struct segments *s, const unsigned char *data, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = write(s->fd, data + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done == length)
		return true;
	if (done && ftruncate(s->fd, (off_t)(s->offset - s->start)))
		s->lost += 1; /* half a frame stays: the parser skips it */
	return false;
}

bool segments_write(struct segments *s, const void *data, size_t length, bool last_ones)
{
	bool done, full;
	uint64_t used;

	if (s->offset - s->start >= s->segment_bytes)
		next_segment(s);
	done = append(s, data, length);
	full = !done;
	if (full && (errno == ENOSPC || errno == EDQUOT) && last_ones && give_up_reserve(s))
		done = append(s, data, length);
	used = segments_used(s);
	if (full && used < s->budget)
		s->budget = used; /* keep what is left for the frames that must be written */
	if (done)
		s->offset += length;
	return done;
}

/* ---- frames ---- */

static uint16_t get_u16(const unsigned char *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t get_u32(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get_u64(const unsigned char *at)
{
	return get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

/* Bytes of the whole frame at the start of the buffer; 0: not known yet; SIZE_MAX: no frame. */
static size_t frame_size(const unsigned char *at, size_t length)
{
	if (length < FRAME_HEADER)
		return length == 0 || !memcmp(at, "\xF7RTW", length < 4 ? length : 4) ? 0 : SIZE_MAX;
	if (memcmp(at, "\xF7RTW", 4) || crc32_update(0, at, 16) != get_u32(at + 16) || get_u32(at + 12) > FRAME_MAX)
		return SIZE_MAX;
	return FRAME_HEADER + get_u32(at + 12);
}

static void number(struct frame_filter *t, unsigned char *frame)
{
	if (get_u32(frame + 8) != t->seq) {
		put_u32(frame + 8, t->seq);
		put_u32(frame + 16, crc32_update(0, frame, 16));
	}
	t->seq++;
}

/* How much of the budget may be used before a frame of this type is left out, in 16ths; 0: it always goes. */
static unsigned share_of(int type)
{
	switch (type) {
	case FRAME_SAMPLES:
	case FRAME_FILE:
	case FRAME_OUTPUT:
	case FRAME_TRACE_PAGE:
		return 11;
	case FRAME_SECOND:
	case FRAME_SPILL:
	case FRAME_GAPS:
		return 15;
	default:
		return 0;
	}
}

static struct omitted *omitted_of(struct frame_filter *t, uint16_t lane, unsigned char type)
{
	struct omitted *more;

	for (size_t i = 0; i < t->n_omitted; i++)
		if (t->omitted[i].lane == lane && t->omitted[i].type == type)
			return &t->omitted[i];
	more = realloc(t->omitted, (t->n_omitted + 1) * sizeof *more);
	if (!more)
		return NULL;
	t->omitted = more;
	more[t->n_omitted] = (struct omitted){ .lane = lane, .type = type };
	return &more[t->n_omitted++];
}

static void count_samples(struct omitted *a, const unsigned char *payload, size_t length)
{
	uint32_t count = length >= 16 ? get_u32(payload + 8) : 0, marks = length >= 16 ? get_u32(payload + 12) : 0;
	const unsigned char *mark = payload + 16 + 4 * (size_t)count;

	if (length < 16 || 16 + 4 * (uint64_t)count + 16 * (uint64_t)marks > length)
		return;
	a->samples += count;
	for (uint32_t i = 0; i < marks; i++, mark += 16) {
		if (mark[4] == 1)
			a->missed += get_u64(mark + 8);
		else if (mark[4] == 2)
			a->dropped += get_u64(mark + 8);
	}
}

static void mark_stale(struct frame_filter *t, uint32_t path, bool stale)
{
	if (path >= t->n_stale) {
		unsigned char *more = stale && path < 1 << 20 ? realloc(t->stale, path + 64) : NULL;

		if (!more)
			return;
		memset(more + t->n_stale, 0, path + 64 - t->n_stale);
		t->stale = more;
		t->n_stale = path + 64;
	}
	t->stale[path] = stale;
}

static bool is_stale(const struct frame_filter *t, const unsigned char *frame, size_t size)
{
	uint32_t path = size >= FRAME_HEADER + 24 ? get_u32(frame + FRAME_HEADER + 8) : UINT32_MAX;

	return frame[5] == FRAME_FILE && path < t->n_stale && t->stale[path] && (frame[FRAME_HEADER + 16] & 1);
}

static void leave_out(struct frame_filter *t, const unsigned char *frame, size_t size)
{
	struct omitted *a = omitted_of(t, get_u16(frame + 6), frame[5]);

	if (frame[5] == FRAME_FILE && size >= FRAME_HEADER + 24 && !(frame[FRAME_HEADER + 16] & 1))
		mark_stale(t, get_u32(frame + FRAME_HEADER + 8), true);
	if (!a) {
		t->to->lost += size;
		return;
	}
	a->frames++;
	a->bytes += size;
	if (frame[5] == FRAME_SAMPLES)
		count_samples(a, frame + FRAME_HEADER, size - FRAME_HEADER);
}

static const char *type_name(int type)
{
	static const char *const names[] = { "?",    "facts",  "samples", "seconds",    "spill", "histogram", "event",
					     "file", "output", "end",     "trace_text", "trace", "gaps" };

	return type > 0 && type <= FRAME_GAPS ? names[type] : names[0];
}

/* An event in the place of what was left out. */
static void tell(struct frame_filter *t, struct omitted *a)
{
	struct json j;

	json_open(&j);
	json_object(&j, NULL);
	json_string(&j, "event", "spool_dropped");
	json_int(&j, "mono_ns", mono_ns());
	if (a->lane != LANE_NONE)
		json_uint(&j, "lane", a->lane);
	json_string(&j, "what", type_name(a->type));
	json_uint(&j, "frames", a->frames);
	json_uint(&j, "bytes", a->bytes);
	if (a->type == FRAME_SAMPLES) {
		json_uint(&j, "samples", a->samples);
		json_uint(&j, "missed", a->missed);
		json_uint(&j, "dropped", a->dropped);
	}
	json_end_object(&j);
	t->notes.seq = t->seq;
	emit_json(&t->notes, FRAME_EVENT, a->lane, &j);
	if (segments_write(t->to, t->notes.buffer, t->notes.length, true)) {
		t->seq++;
		*a = (struct omitted){ .lane = a->lane, .type = a->type };
	}
	t->notes.length = 0;
}

static void tell_all(struct frame_filter *t)
{
	for (size_t i = 0; i < t->n_omitted; i++)
		if (t->omitted[i].frames)
			tell(t, &t->omitted[i]);
}

static bool has_room(const struct frame_filter *t, int type, size_t size)
{
	unsigned share = share_of(type);

	return !share || segments_used(t->to) + size <= t->to->budget / 16 * share;
}

static void take_frame(struct frame_filter *t, unsigned char *frame, size_t size)
{
	int type = frame[5];

	if (!has_room(t, type, size) || is_stale(t, frame, size)) {
		leave_out(t, frame, size);
		return;
	}
	if (type == FRAME_END)
		tell_all(t);
	for (size_t i = 0; i < t->n_omitted; i++)
		if (t->omitted[i].frames && t->omitted[i].type == type && t->omitted[i].lane == get_u16(frame + 6))
			tell(t, &t->omitted[i]);
	number(t, frame);
	if (segments_write(t->to, frame, size, share_of(type) == 0)) {
		if (type == FRAME_FILE && size >= FRAME_HEADER + 24 && !(frame[FRAME_HEADER + 16] & 1))
			mark_stale(t, get_u32(frame + FRAME_HEADER + 8), false);
		return;
	}
	if (share_of(type)) {
		t->seq--;
		leave_out(t, frame, size);
	} else {
		t->to->lost += size; /* its number stays unused, so that the reader counts a lost frame */
	}
}

static void take_raw(struct frame_filter *t)
{
	if (t->to->lost || segments_used(t->to) + t->length > t->to->budget || !segments_write(t->to, t->buffer, t->length, false))
		t->to->lost += t->length; /* nothing is kept from here on: a text with a gap would be misread */
	t->length = 0;
}

static void take_whole_frames(struct frame_filter *t)
{
	size_t at = 0;

	while (!t->raw && at < t->length) {
		size_t size = frame_size(t->buffer + at, t->length - at);

		if (size == SIZE_MAX)
			t->raw = true;
		else if (size == 0 || size > t->length - at)
			break;
		else
			take_frame(t, t->buffer + at, size);
		at += t->raw ? 0 : size;
	}
	memmove(t->buffer, t->buffer + at, t->length - at);
	t->length -= at;
	if (t->raw)
		take_raw(t);
}

int filter_open(struct frame_filter *t, struct segments *to)
{
	memset(t, 0, sizeof *t);
	t->to = to;
	return emit_open(&t->notes, -1, 0);
}

int filter_feed(struct frame_filter *t, const void *data, size_t length)
{
	if (t->length + length > t->capacity) {
		size_t capacity = t->length + length + 65536;
		unsigned char *more = realloc(t->buffer, capacity);

		if (!more)
			return -1;
		t->buffer = more;
		t->capacity = capacity;
	}
	memcpy(t->buffer + t->length, data, length);
	t->length += length;
	take_whole_frames(t);
	return 0;
}

void filter_finish(struct frame_filter *t)
{
	if (!t->raw)
		tell_all(t);
	if (t->length && !segments_write(t->to, t->buffer, t->length, true))
		t->to->lost += t->length;
	t->length = 0;
}

void filter_close(struct frame_filter *t)
{
	t->notes.length = 0;
	emit_close(&t->notes);
	free(t->buffer);
	free(t->omitted);
	free(t->stale);
}
