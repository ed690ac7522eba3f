/* libFuzzer: hostile records of the kernel's log, stat lines with hostile thread names, and words of a command line. */
#include <stdint.h>
#include <stdlib.h>

#include "hostile_kmsg.h"
#include "os/procstat.h"
#include "os/say.h"
#include "sources/targets.h"

enum { MAX_RECORDS = 64 };

static void check(int condition)
{
	if (!condition)
		abort();
}

/* Prints nothing: a fuzzer causes millions of errors. */
int say_fail(int code, const char *format, ...)
{
	(void)format;
	return code;
}

void say_note(const char *format, ...)
{
	(void)format;
}

void say(const char *what, const char *why, const char *hint)
{
	(void)what;
	(void)why;
	(void)hint;
}

/* First byte: bytes a frame. Then records that end with 0xff; one that begins with 0xfe is the error in its second byte. */
static void fuzz_kmsg(const uint8_t *data, size_t size)
{
	static const int errors[] = { EPIPE, EINTR, EIO, EPIPE };
	struct fake_record records[MAX_RECORDS];
	struct kmsg kmsg = { .fd = -1 };
	size_t n = 0, most, gaps = 0, told = 0, lines = 0, bytes = 0;
	bool more = true;

	if (!size)
		return;
	most = 1 + data[0];
	for (size_t at = 1; at < size && n < MAX_RECORDS; n++) {
		const uint8_t *end = memchr(data + at, 0xff, size - at);
		size_t length = end ? (size_t)(end - data) - at : size - at;

		records[n] = (struct fake_record){ .text = (const char *)data + at, .length = length };
		if (data[at] == 0xfe && length)
			records[n] = (struct fake_record){ .error = errors[length > 1 ? data[at + 1] % 4 : 0] };
		gaps += !records[n].text && records[n].error == EPIPE;
		at += length + 1;
	}
	fake_records = records;
	fake_left = n;
	for (int reading = 0; fake_left || more || kmsg.length; reading++) {
		char *frame = malloc(most + 1); /* of the exact size, so that the sanitizer sees one byte too many */
		ssize_t got;

		more = false;
		errno = 0;
		got = kmsg_read(&kmsg, frame, most + 1, &more);
		check(reading < 3 * MAX_RECORDS && got <= (ssize_t)most + 1);
		if (got > (ssize_t)most)
			check(memchr(frame, '\n', (size_t)got - 1) == NULL); /* cut: one record alone */
		else if (got > 0)
			check(frame[got - 1] == '\n');
		for (ssize_t i = 0; i < got; i++)
			lines += frame[i] == '\n';
		bytes += got > 0 ? (size_t)got : 0;
		told += got < 0 && errno == EPIPE;
		free(frame);
	}
	check(told == gaps && lines <= n && bytes <= size + n);
}

static void fuzz_words(char *text)
{
	struct targets t = { 0 };
	struct procstat stat;

	if (procstat_parse(text, &stat))
		check(stat.state && strlen(stat.name) < sizeof stat.name);
	for (char *word = strtok(text, "\n"); word && t.n < 50; word = strtok(NULL, "\n")) {
		size_t before = t.n;

		if (strpbrk(word, "*?["))
			continue; /* patterns would search this machine's disk */
		if (!targets_add(&t, word))
			check(t.n == before + 1 && t.list[before].period_ns >= 0 && strlen(t.list[before].name) <= strlen(word));
	}
	check(!targets_unique(&t));
	for (size_t i = 0; i < t.n; i++) {
		const struct target *target = &t.list[i];

		for (size_t j = 0; j < i; j++)
			check(strcmp(target->name, t.list[j].name));
		if (target->source)
			check(target->argument >= target->name || !*target->argument);
	}
	targets_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = 0;
	fuzz_kmsg(data, size);
	fuzz_words(text);
	free(text);
	return 0;
}
