#include "follow/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The types of a record (include/linux/ring_buffer.h) and the bits of the commit counter. */
enum { PADDING = 29, TIME_EXTEND = 30, ABSOLUTE = 31, TYPE_BITS = 5, TIME_BITS = 27 };
static const uint32_t commit_mask = (UINT32_C(1) << 30) - 1, missed_events = UINT32_C(1) << 31;
static const uint64_t absolute_mask = (UINT64_C(1) << 59) - 1;
/* Bits of prev_state that name a sleep; those above tell only that a runnable thread was preempted. */
static const uint64_t sleep_states = 0xff;

static uint32_t read_u32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

/* The line `field:TYPE NAME;` of a text. */
static int find_field(const char *text, const char *name, struct record_field *field)
{
	const size_t length = strlen(name);

	for (const char *line = strstr(text, "field:"); line; line = strstr(line + 1, "field:")) {
		const char *end = strchr(line, ';');

		if (!end || (size_t)(end - line) <= length + 1 || strncmp(end - length, name, length) || end[-(long)length - 1] != ' ')
			continue;
		return sscanf(end, "; offset:%zu; size:%zu;", &field->offset, &field->size) == 2 && field->size && field->size <= 8 &&
				       field->offset < 4096
			       ? 0
			       : -1;
	}
	return -1;
}

static int find_id(const char *text, uint32_t *id)
{
	const char *line = strstr(text, "ID: ");

	return line && sscanf(line, "ID: %u", id) == 1 ? 0 : -1;
}

/* The data of a page have the size of the page: only where they begin is of interest. */
static int find_data(const char *text, size_t *offset)
{
	const char *line = strstr(text, " data;");

	return line && sscanf(line, " data; offset:%zu;", offset) == 1 && *offset >= 12 && *offset <= 64 ? 0 : -1;
}

int records_layout(struct records *r, const char *header_page, const char *of_switch, const char *of_waking)
{
	struct record_field commit;

	*r = (struct records){ 0 };
	if (find_field(header_page, "commit", &commit) || commit.size < 4 || find_data(header_page, &r->data_at) ||
	    find_id(of_switch, &r->switch_id) || find_field(of_switch, "prev_pid", &r->out) ||
	    find_field(of_switch, "prev_state", &r->out_state) || find_field(of_switch, "next_pid", &r->into) ||
	    find_id(of_waking, &r->waking_id) || find_field(of_waking, "pid", &r->woken))
		return -1;
	r->commit_at = commit.offset;
	r->commit_size = commit.size;
	return 0;
}

static bool has(const struct record_field *f, size_t length)
{
	return f->offset + f->size <= length;
}

static int64_t value(const unsigned char *record, const struct record_field *f)
{
	uint64_t found = 0;

	memcpy(&found, record + f->offset, f->size);
	return f->size == 4 ? (int32_t)found : (int64_t)found;
}

/* False: the record is of another event, or too short for its own. */
static bool take_record(const struct records *r, const unsigned char *record, size_t length, struct moment *m)
{
	uint16_t id;

	if (length < sizeof id)
		return false;
	memcpy(&id, record, sizeof id);
	if (id == r->waking_id && has(&r->woken, length)) {
		m->kind = MOMENT_WAKING;
		m->tid = (int32_t)value(record, &r->woken);
		return true;
	}
	if (id != r->switch_id || !has(&r->out, length) || !has(&r->out_state, length) || !has(&r->into, length))
		return false;
	m->kind = MOMENT_SWITCH;
	m->tid = (int32_t)value(record, &r->into);
	m->out = (int32_t)value(record, &r->out);
	m->out_runnable = !((uint64_t)value(record, &r->out_state) & sleep_states);
	return true;
}

size_t records_read(const struct records *r, const unsigned char *page, size_t size, int cpu, struct moment *out, size_t most)
{
	struct moment m = { .cpu = cpu };
	size_t n = 0, at = r->data_at, end;
	uint32_t commit;
	uint64_t ns;

	if (size < r->data_at || size < r->commit_at + 4 || !most)
		return 0;
	memcpy(&ns, page, sizeof ns);
	commit = read_u32(page + r->commit_at);
	end = r->data_at + (commit & commit_mask);
	m.ns = (int64_t)ns;
	m.kind = MOMENT_LOSS;
	if (commit & missed_events)
		out[n++] = m;
	while (end <= size && at + 4 <= end && n < most) {
		const uint32_t word = read_u32(page + at), type = word & ((1 << TYPE_BITS) - 1), delta = word >> TYPE_BITS;
		size_t data = at + 4, length = (size_t)type * 4;

		if (type == PADDING && !delta)
			return n;
		if (!type || type >= PADDING) {
			uint32_t second;

			if (at + 8 > end)
				break;
			second = read_u32(page + at + 4);
			if (type == TIME_EXTEND || type == ABSOLUTE) {
				const uint64_t stamp = delta + ((uint64_t)second << TIME_BITS);

				ns = type == TIME_EXTEND ? ns + stamp : (ns & ~absolute_mask) | stamp;
				at += 8;
				continue;
			}
			if (second < 4)
				break;
			data = at + 8;
			length = ((size_t)second - 4 + 3) & ~(size_t)3;
		}
		if (length > end - data)
			break;
		ns += delta;
		m.ns = (int64_t)ns;
		if (type != PADDING && take_record(r, page + data, length, &m))
			out[n++] = m;
		at = data + length;
	}
	if (at != end && n < most) { /* no page ends so */
		m.kind = MOMENT_LOSS;
		out[n++] = m;
	}
	return n;
}
