#include "os/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/procstat.h"

enum { PATH_TEXT = 512, TEXT_MOST = 1 << 20 };
static const int64_t quiet_after_ns = 1000000000, again_ns = 20000000;
static const char prefix[] = "rtassay-";

const char *const tracefs_roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing", NULL };

/* Mounted there; a kernel that is locked down mounts it and puts nothing into it. */
static bool is_tracefs(const char *root)
{
	struct statfs found;

	return !statfs(root, &found) && (unsigned long)found.f_type == TRACEFS_MAGIC;
}

const char *tracefs_find(const char *const *roots, const char **why)
{
	*why = "tracefs is not there: this kernel has no tracing, or it is not mounted (mount -t tracefs nodev /sys/kernel/tracing)";
	for (; *roots; roots++) {
		char path[PATH_TEXT];

		snprintf(path, sizeof path, "%s/instances", *roots);
		if (!access(path, W_OK))
			return *roots;
		if (errno == ENOENT && is_tracefs(*roots))
			*why = "tracefs is empty: the kernel is locked down (lockdown=confidentiality)";
		else if (errno == EACCES || errno == EPERM)
			*why = "tracefs cannot be written: that needs root, and a kernel that is not locked down";
		else if (errno == EROFS)
			*why = "tracefs is mounted read-only here, as in a container";
	}
	return NULL;
}

char *tracefs_instance(const char *root, pid_t pid, const char *part, char *out, size_t size)
{
	snprintf(out, size, "%s/instances/%s%d-%" PRIu64 "%s", root, prefix, (int)pid, process_start(pid), part);
	return out;
}

int tracefs_put(const char *directory, const char *name, const char *value)
{
	char path[PATH_TEXT];
	const size_t length = strlen(value);
	int fd, error;
	ssize_t wrote;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return errno;
	wrote = write(fd, value, length);
	error = wrote < 0 ? errno : (size_t)wrote < length ? EIO : 0;
	close(fd);
	return error;
}

char *tracefs_text(const char *directory, const char *name, size_t *length)
{
	char path[PATH_TEXT], *text = NULL;
	size_t used = 0, room = 0;
	ssize_t got = 0;
	int fd, error = 0;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		used += (size_t)got;
		if (used + 1 >= room) {
			char *more = room < TEXT_MOST ? realloc(text, room += 16384) : NULL;

			if (!more) {
				error = EFBIG;
				break;
			}
			text = more;
		}
		got = read(fd, text + used, room - 1 - used);
	} while (got > 0);
	if (got < 0)
		error = errno;
	close(fd);
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[used] = 0;
	*length = used;
	return text;
}

int tracefs_remove(const char *directory, int64_t patience_ns)
{
	const struct timespec again = { 0, again_ns };
	const int64_t began_ns = mono_ns();
	bool quiet = false;

	while (rmdir(directory)) {
		const int error = errno;
		const int64_t waited_ns = mono_ns() - began_ns;

		if (error == ENOENT)
			return 0;
		if ((error != EBUSY && error != EINTR) || waited_ns >= patience_ns)
			return error;
		if (!quiet && waited_ns >= quiet_after_ns) { /* somebody reads it: at least it records nothing more */
			tracefs_put(directory, "tracing_on", "0");
			tracefs_put(directory, "events/enable", "0");
			quiet = true;
		}
		nanosleep(&again, NULL);
	}
	return 0;
}

/* Is this the name of an instance of ours, whose process is gone? */
static bool is_left_over(const char *name)
{
	char *end;
	long pid;
	unsigned long long start;

	if (strncmp(name, prefix, sizeof prefix - 1))
		return false;
	name += sizeof prefix - 1;
	pid = strtol(name, &end, 10);
	if (end == name || *end != '-' || pid <= 0)
		return false;
	name = end + 1;
	start = strtoull(name, &end, 10);
	return end != name && (!*end || *end == '-') && process_start((pid_t)pid) != start;
}

void tracefs_sweep(const char *const *roots)
{
	for (; *roots; roots++) {
		char path[PATH_TEXT];
		struct dirent *entry;
		DIR *directory;

		snprintf(path, sizeof path, "%s/instances", *roots);
		directory = opendir(path);
		while (directory && (entry = readdir(directory))) {
			char left[PATH_TEXT + 256];

			if (!is_left_over(entry->d_name))
				continue;
			snprintf(left, sizeof left, "%s/%s", path, entry->d_name);
			tracefs_remove(left, 0);
		}
		if (directory)
			closedir(directory);
	}
}
