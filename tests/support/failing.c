/* For tests: the Nth write, fsync, rename or close of a file below a directory fails. Loaded with LD_PRELOAD; nothing fails until failing_arm.
   Programs that are started fail as well, and count on together, once failing_share has named a file that all of them map. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, WRITE, FSYNC, RENAME, CLOSE };

struct plan {
	_Atomic int armed;
	int number;
	atomic_long left;
	char below[4096], failed[4096];
};

static struct plan alone, *plan = &alone;

/* What is armed in `file`, from now on, for this process and those that it starts. The file is as long as a plan. */
void failing_share(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	void *at = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof *plan))
		at = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		abort();
	close(fd);
	plan = at;
	setenv("FAILING_SHARED", file, 1);
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("FAILING_SHARED");

	if (file)
		failing_share(file);
}

void failing_arm(int kind, long nth, int number, const char *directory)
{
	snprintf(plan->below, sizeof plan->below, "%s/", directory);
	plan->failed[0] = 0;
	plan->number = number;
	atomic_store(&plan->left, nth);
	plan->armed = kind;
}

/* The file whose call failed; empty if none has. */
const char *failing_disarm(void)
{
	plan->armed = NONE;
	return plan->failed;
}

static int fails_at(enum kind kind, const char *path)
{
	if ((int)kind != plan->armed || strncmp(path, plan->below, strlen(plan->below)) || atomic_fetch_sub(&plan->left, 1) != 1)
		return 0;
	snprintf(plan->failed, sizeof plan->failed, "%s", path);
	errno = plan->number;
	return 1;
}

static int fails(enum kind kind, int fd)
{
	char link[64], path[4096];
	ssize_t n;
	int before = errno;

	if ((int)kind != plan->armed)
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

/* As mv calls it. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	return fails_at(RENAME, to) ? -1 : REAL(renameat2)(from_dir, from, to_dir, to, flags);
}

/* As the kernel: the descriptor is closed all the same. */
int close(int fd)
{
	int failing = plan->armed == CLOSE && is_written(fd) && fails(CLOSE, fd), number = errno;
	int code = REAL(close)(fd);

	if (!failing)
		return code;
	errno = number;
	return -1;
}
