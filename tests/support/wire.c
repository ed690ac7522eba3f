/* A wire between two lines of gpio-sim, by hand, and a look at lines.
 *
 *	wire drive OUT IN ANSWER COUNT DELAY_US   OUT and ANSWER: the files `value` of two lines, IN: the file `pull` of one. Sets IN as OUT is, DELAY_US
 *	                                          after each change, waits 50 ms until ANSWER is the same, and prints the moments: before IN
 *	                                          was set, after it, and when ANSWER was there (CLOCK_MONOTONIC, ns), 0: it was not
 *	wire look CHIP                            prints of each line: number, in or out, who uses it
 *	wire hold CHIP LINE                       takes a line until it is killed
 */
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 50000000

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int opened(const char *path, int flags)
{
	const int fd = open(path, flags);

	if (fd < 0) {
		perror(path);
		exit(3);
	}
	return fd;
}

static char level_of(int fd)
{
	char level = 0;

	return pread(fd, &level, 1, 0) == 1 ? level : 0;
}

static int pull(int in, char level)
{
	const char *word = level == '1' ? "pull-up" : "pull-down";

	return pwrite(in, word, strlen(word), 0) < 0;
}

static int drive(char **argv)
{
	const int out = opened(argv[0], O_RDONLY), in = opened(argv[1], O_WRONLY), answer = opened(argv[2], O_RDONLY);
	const struct timespec delay = { 0, atol(argv[4]) * 1000 };
	char level = level_of(out);

	if (pull(in, level))
		return 3;
	for (int i = atoi(argv[3]); i > 0; i--) {
		long long before_ns, after_ns;

		while (level_of(out) == level)
			;
		level = level_of(out);
		nanosleep(&delay, NULL);
		before_ns = now_ns();
		if (pull(in, level))
			return 3;
		after_ns = now_ns();
		while (level_of(answer) != level && now_ns() < after_ns + PATIENCE_NS)
			;
		printf("%lld %lld %lld\n", before_ns, after_ns, level_of(answer) == level ? now_ns() : 0);
	}
	return 0;
}

static int look(char **argv)
{
	const int chip = opened(argv[0], O_RDWR);

	for (unsigned line = 0;; line++) {
		struct gpio_v2_line_info info = { .offset = line };

		if (ioctl(chip, GPIO_V2_GET_LINEINFO_IOCTL, &info))
			return line ? 0 : 3;
		printf("%u %s %s\n", line, info.flags & GPIO_V2_LINE_FLAG_OUTPUT ? "out" : "in", info.consumer);
	}
}

static int hold(char **argv)
{
	struct gpio_v2_line_request request = { .num_lines = 1, .consumer = "somebody" };

	request.offsets[0] = (unsigned)atoi(argv[1]);
	if (ioctl(opened(argv[0], O_RDWR), GPIO_V2_GET_LINE_IOCTL, &request))
		return 3;
	printf("held\n");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "drive"))
		return drive(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "look"))
		return look(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(argv + 2);
	return 2;
}
