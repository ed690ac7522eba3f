/* sources/kmsg.c with a fake device: each read gives the next of a list of records or errors. */
#ifndef HOSTILE_KMSG_H
#define HOSTILE_KMSG_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

struct fake_record {
	const char *text; /* NULL: the error */
	size_t length;
	int error;
};
static const struct fake_record *fake_records;
static size_t fake_left;

static ssize_t fake_read(int fd, void *to, size_t size)
{
	const struct fake_record *r = fake_records;

	(void)fd;
	if (!fake_left) {
		errno = EAGAIN;
		return -1;
	}
	fake_left--;
	fake_records++;
	errno = r->text ? (r->length > size ? EINVAL : 0) : r->error;
	if (errno)
		return -1;
	memcpy(to, r->text, r->length);
	return (ssize_t)r->length;
}

#define read fake_read
#define source_kmsg hostile_kmsg
#include "sources/kmsg.c"
#undef source_kmsg
#undef read

#endif
