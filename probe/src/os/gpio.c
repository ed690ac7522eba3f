#include "os/gpio.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/gpio.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { EVENTS = 1024 }; /* the most that the kernel keeps for us */

/* What of a line's flags can be asked for again. */
static const uint64_t kept_flags = GPIO_V2_LINE_FLAG_ACTIVE_LOW | GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_OUTPUT |
				   GPIO_V2_LINE_FLAG_OPEN_DRAIN | GPIO_V2_LINE_FLAG_OPEN_SOURCE | GPIO_V2_LINE_FLAG_BIAS_PULL_UP |
				   GPIO_V2_LINE_FLAG_BIAS_PULL_DOWN | GPIO_V2_LINE_FLAG_BIAS_DISABLED;

/* Names of the kernel need not end with a 0. */
static void copy_name(char out[GPIO_NAME], const char *text)
{
	snprintf(out, GPIO_NAME, "%.*s", GPIO_MAX_NAME_SIZE, text);
}

int gpio_open(const char *word, struct gpio_chip *chip)
{
	struct gpiochip_info info = { 0 };

	snprintf(chip->path, sizeof chip->path, "%s%s", strchr(word, '/') ? "" : "/dev/", word);
	chip->fd = open(chip->path, O_RDWR | O_CLOEXEC);
	if (chip->fd < 0)
		return errno;
	if (ioctl(chip->fd, GPIO_GET_CHIPINFO_IOCTL, &info)) {
		close(chip->fd);
		chip->fd = -1;
		return ENOTTY;
	}
	chip->n_lines = info.lines;
	copy_name(chip->label, info.label);
	return 0;
}

char *gpio_chips(char *out, size_t size)
{
	struct gpio_chip chip;
	size_t used = 0;
	glob_t found;

	*out = 0;
	if (glob("/dev/gpiochip*", 0, NULL, &found))
		return out;
	for (size_t i = 0; i < found.gl_pathc && used < size; i++) {
		const char *between = used ? ", " : "";

		if (gpio_open(found.gl_pathv[i], &chip)) {
			used += (size_t)snprintf(out + used, size - used, "%s%s", between, found.gl_pathv[i]);
			continue;
		}
		used += (size_t)snprintf(out + used, size - used, "%s%s (%s, %u lines)", between, chip.path, chip.label, chip.n_lines);
		close(chip.fd);
	}
	globfree(&found);
	return out;
}

static int look(const struct gpio_chip *chip, unsigned number, struct gpio_v2_line_info *info)
{
	*info = (struct gpio_v2_line_info){ .offset = number };
	return ioctl(chip->fd, GPIO_V2_GET_LINEINFO_IOCTL, info) ? errno : 0;
}

int gpio_find(const struct gpio_chip *chip, const char *word)
{
	struct gpio_v2_line_info info;
	char *end;
	const unsigned long number = strtoul(word, &end, 10);

	if (isdigit((unsigned char)*word) && !*end)
		return number < chip->n_lines ? (int)number : -1;
	for (unsigned i = 0; i < chip->n_lines; i++)
		if (!look(chip, i, &info) && *word && !strncmp(info.name, word, sizeof info.name))
			return (int)i;
	return -1;
}

static int take(const struct gpio_chip *chip, unsigned number, uint64_t flags, uint32_t events, struct gpio_line *line)
{
	struct gpio_v2_line_request request = { .num_lines = 1, .event_buffer_size = events };
	struct gpio_v2_line_info info;
	int error = look(chip, number, &info);

	*line = (struct gpio_line){ .fd = -1, .number = number };
	if (error)
		return error;
	line->flags_before = info.flags;
	request.offsets[0] = number;
	request.config.flags = flags;
	snprintf(request.consumer, sizeof request.consumer, "rtprobe");
	if (ioctl(chip->fd, GPIO_V2_GET_LINE_IOCTL, &request)) {
		error = errno;
		if (info.flags & GPIO_V2_LINE_FLAG_USED)
			copy_name(line->user, *info.consumer ? info.consumer : "the kernel");
		return error;
	}
	line->fd = request.fd;
	return 0;
}

/* A line with these flags, as an output of this level. */
static int configure(const struct gpio_line *line, uint64_t flags, bool level)
{
	struct gpio_v2_line_config config = { .flags = flags };

	if (flags & GPIO_V2_LINE_FLAG_OUTPUT) {
		config.num_attrs = 1;
		config.attrs[0].mask = 1;
		config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES;
		config.attrs[0].attr.values = level;
	}
	return ioctl(line->fd, GPIO_V2_LINE_SET_CONFIG_IOCTL, &config) ? errno : 0;
}

int gpio_take_output(const struct gpio_chip *chip, unsigned number, struct gpio_line *line)
{
	struct gpio_v2_line_values values = { .mask = 1 };
	int error = take(chip, number, 0, 0, line);

	if (error)
		return error;
	if (!ioctl(line->fd, GPIO_V2_LINE_GET_VALUES_IOCTL, &values))
		line->level_before = values.bits & 1;
	error = configure(line, GPIO_V2_LINE_FLAG_OUTPUT, line->level_before);
	if (error) {
		close(line->fd);
		line->fd = -1;
	}
	return error;
}

int gpio_take_input(const struct gpio_chip *chip, unsigned number, struct gpio_line *line)
{
	return take(chip, number, GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING, EVENTS, line);
}

int gpio_set(const struct gpio_line *line, bool level)
{
	struct gpio_v2_line_values values = { .bits = level, .mask = 1 };

	return ioctl(line->fd, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) ? errno : 0;
}

int gpio_next_edge(const struct gpio_line *line, struct gpio_edge *edge)
{
	struct gpio_v2_line_event event;
	const ssize_t got = read(line->fd, &event, sizeof event);

	if (got != (ssize_t)sizeof event)
		return got < 0 ? errno : EIO;
	*edge = (struct gpio_edge){ (int64_t)event.timestamp_ns, event.line_seqno, event.id == GPIO_V2_LINE_EVENT_RISING_EDGE };
	return 0;
}

int gpio_next_edge_within(const struct gpio_line *line, struct gpio_edge *edge, int ms)
{
	struct pollfd fd = { .fd = line->fd, .events = POLLIN };
	const int ready = poll(&fd, 1, ms);

	if (ready <= 0)
		return ready ? errno : ETIMEDOUT;
	return gpio_next_edge(line, edge);
}

int gpio_put_back(const struct gpio_line *line)
{
	const uint64_t flags = line->flags_before & kept_flags;

	if (line->fd < 0)
		return 0;
	return configure(line, flags, line->level_before);
}
