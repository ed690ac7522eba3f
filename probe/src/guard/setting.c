#include "guard/setting.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "os/cpus.h"
#include "os/files.h"

/* The word in brackets takes the place of the line. */
static void take_chosen(char *text)
{
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	size_t length;

	if (!close || strchr(text, '\n'))
		return;
	length = (size_t)(close - open - 1);
	memmove(text, open + 1, length);
	text[length] = 0;
}

int setting_read(const char *path, char *out, size_t size)
{
	if (read_small(path, out, size) < 0)
		return errno;
	take_chosen(out);
	return 0;
}

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

static bool is_mask(const char *path)
{
	return ends_with(path, "mask") || ends_with(path, "affinity") || ends_with(path, "_cpus");
}

static bool is_list(const char *path)
{
	return ends_with(path, "_list") || ends_with(path, "cpuset.cpus") || ends_with(path, "cpuset.mems") ||
	       ends_with(path, "cpuset.cpus.exclusive");
}

static const char *past_zeros(const char *mask)
{
	while (*mask == '0' || *mask == ',')
		mask++;
	return mask;
}

/* Hexadecimal digits without leading zeros; commas only part them. */
static bool same_mask(const char *one, const char *other)
{
	one = past_zeros(one);
	other = past_zeros(other);
	for (;; one++, other++) {
		one += *one == ',';
		other += *other == ',';
		if (tolower((unsigned char)*one) != tolower((unsigned char)*other))
			return false;
		if (!*one)
			return true;
	}
}

static bool same_list(const char *one, const char *other)
{
	struct cpus first = { { 0 } }, second = { { 0 } };
	const char *why;

	if (!*one || !*other)
		return !*one && !*other;
	return !parse_cpus(one, &first, &why) && !parse_cpus(other, &second, &why) && !memcmp(&first, &second, sizeof first);
}

static bool same_words(const char *one, const char *other)
{
	for (;;) {
		while (isspace((unsigned char)*one))
			one++;
		while (isspace((unsigned char)*other))
			other++;
		while (*one && *one == *other && !isspace((unsigned char)*one)) {
			one++;
			other++;
		}
		if (!*one && !*other)
			return true;
		if ((*one && !isspace((unsigned char)*one)) || (*other && !isspace((unsigned char)*other)))
			return false;
	}
}

bool setting_same(const char *path, const char *one, const char *other)
{
	if (same_words(one, other))
		return true;
	return is_mask(path) ? same_mask(one, other) : is_list(path) && same_list(one, other);
}

int setting_write(const char *path, const char *value)
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
