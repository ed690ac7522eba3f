#include "stream/emit.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- little-endian bytes and CRC-32 --- */

void put_u16(unsigned char *at, uint16_t value)
{
	at[0] = (unsigned char)value;
	at[1] = (unsigned char)(value >> 8);
}

void put_u32(unsigned char *at, uint32_t value)
{
	put_u16(at, (uint16_t)value);
	put_u16(at + 2, (uint16_t)(value >> 16));
}

void put_u64(unsigned char *at, uint64_t value)
{
	put_u32(at, (uint32_t)value);
	put_u32(at + 4, (uint32_t)(value >> 32));
}

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? UINT32_C(0xEDB88320) ^ (c >> 1) : c >> 1;
		crc_table[0][i] = c;
	}
	for (int t = 1; t < 8; t++)
		for (int i = 0; i < 256; i++)
			crc_table[t][i] = crc_table[0][crc_table[t - 1][i] & 255] ^ (crc_table[t - 1][i] >> 8);
}

static uint32_t get_u32(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Eight bytes a step: it needs eight tables, and a fifth of the time. */
uint32_t crc32_update(uint32_t crc, const void *data, size_t length)
{
	const unsigned char *at = data;

	pthread_once(&crc_once, crc_fill);
	crc = ~crc;
	for (; length >= 8; length -= 8, at += 8) {
		uint32_t low = crc ^ get_u32(at), high = get_u32(at + 4);

		crc = crc_table[7][low & 255] ^ crc_table[6][low >> 8 & 255] ^ crc_table[5][low >> 16 & 255] ^ crc_table[4][low >> 24] ^
		      crc_table[3][high & 255] ^ crc_table[2][high >> 8 & 255] ^ crc_table[1][high >> 16 & 255] ^ crc_table[0][high >> 24];
	}
	while (length--)
		crc = crc_table[0][(crc ^ *at++) & 255] ^ (crc >> 8);
	return ~crc;
}

/* --- frames --- */

int emit_open(struct emit *e, int fd, size_t capacity)
{
	memset(e, 0, sizeof *e);
	e->fd = fd;
	e->capacity = capacity < 65536 ? 65536 : capacity;
	e->buffer = malloc(e->capacity);
	if (e->buffer)
		crc32_update(0, "", 0); /* fills the tables now, not in the run */
	return e->buffer ? 0 : -1;
}

void emit_close(struct emit *e)
{
	emit_flush(e);
	free(e->buffer);
	e->buffer = NULL;
}

/* Cuts a half-written frame off a regular file, so that it ends with a whole one. */
static void cut_back(const struct emit *e, size_t written)
{
	size_t whole = 0;
	off_t at = lseek(e->fd, 0, SEEK_CUR);

	while (whole + FRAME_HEADER <= written && whole + FRAME_HEADER + get_u32(e->buffer + whole + 12) <= written)
		whole += FRAME_HEADER + get_u32(e->buffer + whole + 12);
	if (at < (off_t)(written - whole) || ftruncate(e->fd, at - (off_t)(written - whole)))
		return; /* a pipe: the reader skips the half frame */
	lseek(e->fd, at - (off_t)(written - whole), SEEK_SET);
}

int emit_flush(struct emit *e)
{
	size_t done = 0;

	while (e->fd >= 0 && !e->error && done < e->length) {
		ssize_t wrote = write(e->fd, e->buffer + done, e->length - done);

		if (wrote >= 0) {
			done += (size_t)wrote;
			e->bytes += (uint64_t)wrote;
			e->writes++;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			struct pollfd room = { .fd = e->fd, .events = POLLOUT };

			poll(&room, 1, 1000);
		} else if (errno != EINTR) {
			e->error = errno;
			e->write_errors++;
			cut_back(e, done);
		}
	}
	e->length = 0;
	return e->error ? -1 : 0;
}

static int make_room(struct emit *e, size_t need)
{
	unsigned char *bigger;

	if (e->length + need <= e->capacity)
		return 0;
	emit_flush(e);
	if (need <= e->capacity)
		return 0;
	bigger = realloc(e->buffer, need);
	if (!bigger)
		return -1;
	e->buffer = bigger;
	e->capacity = need;
	return 0;
}

void *emit_begin(struct emit *e, enum frame_type type, uint16_t lane, size_t most)
{
	unsigned char *head;

	if (most > FRAME_MAX || make_room(e, FRAME_HEADER + most)) {
		fprintf(stderr, "rtprobe: no memory for a frame of %zu bytes\n", most);
		abort();
	}
	e->open_at = e->length;
	head = e->buffer + e->length;
	memcpy(head, "\xF7RTW", 4);
	head[4] = 1;
	head[5] = (unsigned char)type;
	put_u16(head + 6, lane);
	return head + FRAME_HEADER;
}

int emit_commit(struct emit *e, size_t length)
{
	unsigned char *head = e->buffer + e->open_at;

	put_u32(head + 8, e->seq++);
	put_u32(head + 12, (uint32_t)length);
	put_u32(head + 16, crc32_update(0, head, 16));
	put_u32(head + 20, crc32_update(0, head + FRAME_HEADER, length));
	e->length = e->open_at + FRAME_HEADER + length;
	return e->error ? -1 : 0;
}

int emit_frame(struct emit *e, enum frame_type type, uint16_t lane, const void *payload, size_t length)
{
	memcpy(emit_begin(e, type, lane, length), payload, length);
	return emit_commit(e, length);
}

int emit_json(struct emit *e, enum frame_type type, uint16_t lane, struct json *j)
{
	int rc;

	if (j->failed) {
		fprintf(stderr, "rtprobe: no memory for a JSON frame\n");
		abort();
	}
	rc = emit_frame(e, type, lane, j->text, j->length);
	json_close(j);
	return rc;
}
