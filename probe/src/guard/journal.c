#include "guard/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/say.h"

enum { JOURNAL_MAX = 4 << 20 };

/* The whole file, NUL-terminated; NULL and errno. */
static char *read_all(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t capacity = 4096, n = 0;
	char *text = fd < 0 ? NULL : malloc(capacity + 1);
	ssize_t got = -1;

	while (text && (got = read(fd, text + n, capacity - n)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		n += (size_t)got;
		if (n == capacity) {
			char *bigger = capacity < JOURNAL_MAX ? realloc(text, 2 * capacity + 1) : NULL;

			if (!bigger) {
				errno = EFBIG;
				got = -1;
				break;
			}
			text = bigger;
			capacity *= 2;
		}
	}
	if (text && got < 0) {
		int error = errno;

		free(text);
		text = NULL;
		errno = error;
	}
	if (fd >= 0) {
		int error = errno;

		close(fd);
		errno = error;
	}
	if (text)
		text[n] = 0;
	*length = n;
	return text;
}

int journal_open(struct journal *j, const char *path)
{
	memset(j, 0, sizeof *j);
	j->path = path;
	if (!path)
		return 0;
	j->text = read_all(path, &j->length);
	if (!j->text)
		return say_fail(EXIT_USAGE, "cannot read the journal %s: %s; nothing was started", path, strerror(errno));
	return 0;
}

/* Never creates a file, and never waits for the other end of a FIFO. */
static int write_back(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t length = strlen(value);
	ssize_t n;
	int error;

	if (fd < 0)
		return errno;
	n = length ? write(fd, value, length) : write(fd, "\n", 1); /* an empty write does not reach the kernel's handler */
	error = n < 0 ? errno : (size_t)n < length ? EIO : 0;
	if (close(fd) && !error)
		error = errno;
	return error;
}

static void restore_line(char *line, journal_failure *failed, void *context)
{
	char *tab = strchr(line, '\t');
	int error;

	if (!*line)
		return;
	if (!tab) {
		failed(context, line, "the journal's line has no tab between path and value");
		return;
	}
	*tab = 0;
	error = write_back(line, tab + 1);
	if (error)
		failed(context, line, strerror(error));
}

void journal_restore(struct journal *j, journal_failure *failed, void *context)
{
	size_t length;
	char *newer = j->path ? read_all(j->path, &length) : NULL;

	if (newer) {
		free(j->text);
		j->text = newer;
		j->length = length;
	}
	while (j->text && j->length) {
		char *end = j->text + j->length, *line = end;

		if (end[-1] == '\n')
			*--end = 0;
		for (line = end; line > j->text && line[-1] != '\n'; line--)
			;
		j->length = (size_t)(line - j->text);
		restore_line(line, failed, context);
	}
}

void journal_close(struct journal *j)
{
	free(j->text);
	memset(j, 0, sizeof *j);
}
