/* For tests: the Nth write, fsync, rename or close of a file below a directory fails. Loaded with LD_PRELOAD; nothing fails until failing_arm. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, WRITE, FSYNC, RENAME, CLOSE };

static enum kind armed;
static char below[4096], failed[4096];
static int wanted_errno;
static atomic_long left;

void failing_arm(int kind, long nth, int number, const char *directory)
{
	snprintf(below, sizeof below, "%s/", directory);
	failed[0] = 0;
	wanted_errno = number;
	atomic_store(&left, nth);
	armed = kind;
}

/* The file whose call failed; empty if none has. */
const char *failing_disarm(void)
{
	armed = NONE;
	return failed;
}

static int fails_at(enum kind kind, const char *path)
{
	if (armed != kind || strncmp(path, below, strlen(below)) || atomic_fetch_sub(&left, 1) != 1)
		return 0;
	snprintf(failed, sizeof failed, "%s", path);
	errno = wanted_errno;
	return 1;
}

static int fails(enum kind kind, int fd)
{
	char link[64], path[4096];
	ssize_t n;
	int before = errno;

	if (armed != kind)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	errno = before;
	if (n < 0)
		return 0;
	path[n] = 0;
	return fails_at(kind, path);
}

static int is_written(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size)
{
	return fails(WRITE, fd) ? -1 : REAL(write)(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return fails(WRITE, fd) ? -1 : REAL(writev)(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
	return fails(WRITE, fd) ? -1 : REAL(pwrite64)(fd, data, size, at);
}

int fsync(int fd)
{
	return fails(FSYNC, fd) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return fails(FSYNC, fd) ? -1 : REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
	return fails_at(RENAME, to) ? -1 : REAL(rename)(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fails_at(RENAME, to) ? -1 : REAL(renameat)(from_dir, from, to_dir, to);
}

/* As the kernel: the descriptor is closed all the same. */
int close(int fd)
{
	int failing = armed == CLOSE && is_written(fd) && fails(CLOSE, fd), number = errno;
	int code = REAL(close)(fd);

	if (!failing)
		return code;
	errno = number;
	return -1;
}
