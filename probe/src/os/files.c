#include "os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

long read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -1;
	while (used + 1 < size && ((got = read(fd, out + used, size - 1 - used)) > 0 || (got < 0 && errno == EINTR)))
		used += got > 0 ? (size_t)got : 0;
	if (got < 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	close(fd);
	while (used && out[used - 1] == '\n')
		used--;
	out[used] = 0;
	return (long)used;
}
