#include "guard/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHOLE_MAX = 4 << 20 };

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1]) {
			text++;
			*to++ = *text == 't' ? '\t' : *text == 'n' ? '\n' : *text;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

void fields_split(struct fields *f, char *line)
{
	f->n = 0;
	for (char *tab; line && f->n < MOST_FIELDS; line = tab ? tab + 1 : NULL) {
		tab = strchr(line, '\t');
		if (tab)
			*tab = 0;
		unescape(line);
		f->text[f->n++] = line;
	}
}

bool fields_are(const struct fields *f, const char *kind, int n)
{
	return f->n >= n && !strcmp(f->text[0], kind);
}

static size_t escape(char *out, const char *text)
{
	size_t n = 0;

	for (; *text; text++) {
		if (*text == '\t' || *text == '\n' || *text == '\\')
			out[n++] = '\\';
		out[n++] = *text == '\t' ? 't' : *text == '\n' ? 'n' : *text;
	}
	return n;
}

int line_append(int fd, const char *const *fields, int n)
{
	size_t size = 1, used = 0;
	char *line;
	ssize_t written;
	int error;

	for (int i = 0; i < n; i++)
		size += 2 * strlen(fields[i]) + 1;
	line = malloc(size);
	if (!line)
		return ENOMEM;
	for (int i = 0; i < n; i++) {
		if (i)
			line[used++] = '\t';
		used += escape(line + used, fields[i]);
	}
	line[used++] = '\n';
	written = write(fd, line, used);
	error = written < 0 ? errno : (size_t)written < used ? ENOSPC : fdatasync(fd) && errno != EINVAL && errno != EROFS ? errno : 0;
	free(line);
	return error;
}

static char *grow(char *text, size_t *capacity)
{
	char *bigger = *capacity < WHOLE_MAX ? realloc(text, 2 * *capacity + 1) : NULL;

	if (!bigger) {
		free(text);
		errno = EFBIG;
		return NULL;
	}
	*capacity *= 2;
	return bigger;
}

char *read_whole(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	size_t capacity = 4096, n = 0;
	char *text = fd < 0 ? NULL : malloc(capacity + 1);
	ssize_t got = -1;

	while (text && ((got = read(fd, text + n, capacity - n)) > 0 || (got < 0 && errno == EINTR))) {
		n += got > 0 ? (size_t)got : 0;
		if (n == capacity)
			text = grow(text, &capacity);
	}
	error = errno;
	if (text && got < 0) {
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	errno = error;
	*length = text ? n : 0;
	if (text)
		text[n] = 0;
	return text;
}
