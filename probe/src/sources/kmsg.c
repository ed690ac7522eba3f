/* @kmsg: the kernel's log, every record once. Each read(2) of /dev/kmsg gives one whole record. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sources/source.h"

/* The kernel limits a record to about 8 kB with escapes. The first reading takes the whole log, because it may be the only reading, and
 * the newest lines come last. */
enum { RECORD = 16384, RECORDS_A_READING = 4096, RECORDS_AT_FIRST = 1 << 18 };

struct kmsg {
	int fd;
	size_t length; /* of a record that did not fit the last frame */
	bool gap;      /* records were lost: reported after the records before them */
	bool begun;    /* the first reading has begun */
	unsigned left; /* records left for this reading, so that a flood of messages does not delay the other files */
	char record[RECORD];
};

static void *kmsg_open(const char *argument, const struct source_place *place)
{
	struct kmsg *k = malloc(sizeof *k);

	(void)argument;
	(void)place;
	if (!k)
		return NULL;
	k->length = 0;
	k->gap = k->begun = false;
	k->left = 0;
	k->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (k->fd < 0) {
		int error = errno;

		free(k);
		errno = error;
		return NULL;
	}
	return k;
}

/* Fills k->record with the line of the next record, without the " KEY=value" lines about devices that may follow it. */
static int next_record(struct kmsg *k)
{
	ssize_t n;
	char *end;

	do
		n = read(k->fd, k->record, sizeof k->record - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	if (n == 0) {
		errno = EAGAIN;
		return -1;
	}
	end = memchr(k->record, '\n', (size_t)n);
	k->length = end ? (size_t)(end - k->record) : (size_t)n;
	k->record[k->length++] = '\n';
	return 0;
}

static ssize_t kmsg_read(void *state, char *to, size_t size, bool *more)
{
	struct kmsg *k = state;
	bool begins = !k->left; /* else: it goes on after a full frame or a gap */
	size_t used = 0;

	if (begins)
		k->left = k->begun ? RECORDS_A_READING : RECORDS_AT_FIRST;
	k->begun = true;
	for (; k->left; k->left--) {
		if (!k->length && !k->gap && next_record(k)) {
			if (errno != EPIPE) {
				k->left = 0;
				return used || (begins && errno == EAGAIN) ? (ssize_t)used : -1;
			}
			k->gap = true;
		}
		/* `size` is one byte more than a frame holds, so that the watch sees a cut. Only a record that is larger than a frame is cut. */
		if (used && (k->gap || k->length >= size - used)) {
			*more = true;
			return (ssize_t)used;
		}
		if (k->gap) {
			k->gap = false;
			*more = true;
			errno = EPIPE;
			return -1;
		}
		if (k->length > size)
			k->length = size;
		memcpy(to + used, k->record, k->length);
		used += k->length;
		k->length = 0;
	}
	return (ssize_t)used;
}

static void kmsg_close(void *state)
{
	struct kmsg *k = state;

	close(k->fd);
	free(k);
}

const struct source source_kmsg = {
	.name = "@kmsg",
	.summary = "records of the kernel's log, each once",
	.open = kmsg_open,
	.read = kmsg_read,
	.close = kmsg_close,
};
