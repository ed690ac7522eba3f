/* Lines of a GPIO chip, by version 2 of the ABI of /dev/gpiochipN (Linux 5.10). Functions return 0 or errno where nothing else is said. */
#ifndef RTPROBE_GPIO_H
#define RTPROBE_GPIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GPIO_PATH = 96, GPIO_NAME = 40 };

struct gpio_chip {
	int fd;
	unsigned n_lines;
	char path[GPIO_PATH], label[GPIO_NAME];
};

struct gpio_line {
	int fd;                 /* -1: not taken */
	unsigned number;        /* on its chip */
	uint64_t flags_before;  /* as the kernel names them (linux/gpio.h) */
	bool level_before;
	char user[GPIO_NAME];   /* who has it, where it could not be taken; else "" */
};

struct gpio_edge {
	int64_t at_ns; /* CLOCK_MONOTONIC, by the handler of the interrupt */
	uint32_t number; /* 1, 2, ... of this line; a step other than 1: edges were lost */
	bool level;
};

/* `word`: a path, or its name below /dev. ENOTTY: it is no GPIO chip, or the kernel has an older ABI. */
int gpio_open(const char *word, struct gpio_chip *chip);
/* Which chips there are, as text for people: "/dev/gpiochip0 (LABEL, 54 lines), ..."; "": none. */
char *gpio_chips(char *out, size_t size);
/* A line by its number, or by the name that the board gives it; -1: there is none. */
int gpio_find(const struct gpio_chip *chip, const char *word);

/* Takes a line as it is, notes how it is, and makes it an output of the same level. */
int gpio_take_output(const struct gpio_chip *chip, unsigned number, struct gpio_line *line);
/* Takes a line as an input that tells of each edge. */
int gpio_take_input(const struct gpio_chip *chip, unsigned number, struct gpio_line *line);
int gpio_set(const struct gpio_line *line, bool level);
/* Waits for an edge; EINTR: a signal came. */
int gpio_next_edge(const struct gpio_line *line, struct gpio_edge *edge);
/* The same for at most `ms`; ETIMEDOUT. */
int gpio_next_edge_within(const struct gpio_line *line, struct gpio_edge *edge, int ms);
/* Makes an output what it was before. The kernel leaves a line that is let go as it was last. */
int gpio_put_back(const struct gpio_line *line);

#endif
