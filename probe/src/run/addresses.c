#include "run/addresses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { LINE = 600, BLOCK = 65536 };
/* No function is longer; what lies further behind a symbol is no address of code. */
static const uint64_t function_most = 1 << 20;

bool addresses_are_wide(void)
{
	struct utsname name;

	return sizeof(long) == 8 || (!uname(&name) && strstr(name.machine, "64"));
}

/* Kernel space is the upper end on every architecture. 32-bit ARM may have its modules from 0x7f000000 on. */
static bool may_be_code(const struct addresses *a, uint64_t word)
{
	return a->wide ? word >> 48 == 0xffff : word >= 0x7f000000;
}

static void add(struct addresses *a, uint64_t word)
{
	size_t at = (size_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 50);

	while (a->slot[at] && a->slot[at] != word)
		at = (at + 1) % ADDRESSES_SLOTS;
	if (a->slot[at] || a->used == ADDRESSES_MOST)
		return;
	a->slot[at] = word;
	a->used++;
}

void addresses_scan(struct addresses *a, const void *page, size_t length)
{
	const unsigned char *at = page;
	const size_t size = a->wide ? 8 : 4;

	/* Records are aligned to 4 bytes, so 8-byte fields may be, too. */
	for (size_t i = 0; i + size <= length; i += 4) {
		uint64_t word = 0;
		uint32_t narrow;

		if (a->wide) {
			memcpy(&word, at + i, 8);
		} else {
			memcpy(&narrow, at + i, 4);
			word = narrow;
		}
		if (may_be_code(a, word))
			add(a, word);
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts the addresses to the front. */
static void sort(struct addresses *a)
{
	size_t n = 0;

	for (size_t i = 0; i < ADDRESSES_SLOTS; i++)
		if (a->slot[i])
			a->slot[n++] = a->slot[i];
	qsort(a->slot, n, sizeof a->slot[0], by_value);
}

struct nearest {
	uint64_t symbol; /* the highest one seen that is not above the address; 0: none */
	char *line;
};

/* Only the lowest address not below the symbol is told; the others learn it from their neighbour at the end. */
static void offer(const struct addresses *a, struct nearest *best, const char *line)
{
	char *end;
	const uint64_t symbol = strtoull(line, &end, 16);
	size_t low = 0, high = a->used;

	/* ARM marks kinds of code with symbols such as $a. */
	if (!symbol || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ' || end[3] == '$')
		return;
	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (a->slot[middle] < symbol)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == a->used || best[low].symbol >= symbol)
		return;
	free(best[low].line);
	best[low].line = strdup(line);
	best[low].symbol = best[low].line ? symbol : 0;
}

static void offer_lines(const struct addresses *a, struct nearest *best, int fd, _Atomic uint32_t *beats)
{
	static char block[BLOCK + 1];
	size_t used = 0;
	ssize_t got;

	while ((got = read(fd, block + used, BLOCK - used)) > 0) {
		char *line = block, *end;

		used += (size_t)got;
		block[used] = 0;
		for (; (end = memchr(line, '\n', used - (size_t)(line - block))); line = end + 1) {
			*end = 0;
			if (end - line < LINE)
				offer(a, best, line);
		}
		used -= (size_t)(line - block);
		memmove(block, line, used);
		if (used == BLOCK)
			used = 0; /* no line of this file is so long */
		atomic_fetch_add_explicit(beats, 1, memory_order_relaxed);
	}
}

char *addresses_resolve(struct addresses *a, int fd, _Atomic uint32_t *beats, size_t *length)
{
	struct nearest *best = calloc(a->used + 1, sizeof *best);
	const struct nearest *below = NULL;
	uint64_t told = 0;
	char *text = NULL;
	FILE *out = NULL;

	sort(a);
	if (best && a->used) {
		offer_lines(a, best, fd, beats);
		out = open_memstream(&text, length);
	}
	for (size_t i = 0; out && i < a->used; i++) {
		if (best[i].symbol)
			below = &best[i];
		if (!below || a->slot[i] - below->symbol > function_most || below->symbol == told)
			continue;
		fprintf(out, "%s\n", below->line);
		told = below->symbol;
	}
	for (size_t i = 0; best && i < a->used; i++)
		free(best[i].line);
	free(best);
	if (out && fclose(out)) {
		free(text);
		return NULL;
	}
	if (out && !*length) {
		free(text);
		return NULL;
	}
	return text;
}
