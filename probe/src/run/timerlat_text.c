#include "run/timerlat_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number at `*text`, which is moved behind it. False: there is none, or it does not fit. */
static bool take_number(const char **text, uint64_t *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return !errno && *value <= INT64_MAX / 2000000000;
}

static bool take_word(const char **text, const char *word)
{
	const size_t length = strlen(word);

	*text += strspn(*text, " ");
	if (strncmp(*text, word, length) != 0)
		return false;
	*text += length;
	return true;
}

/* `54.029328` in front of `end`. */
static bool read_stamp(const char *line, const char *end, int64_t *at_ns)
{
	const char *text = end;
	uint64_t seconds, us;

	while (text > line && text[-1] != ' ')
		text--;
	if (!take_number(&text, &seconds) || *text++ != '.' || end - text != 6 || !take_number(&text, &us) || text != end)
		return false;
	*at_ns = (int64_t)seconds * 1000000000 + (int64_t)us * 1000;
	return true;
}

bool timerlat_parse(const char *line, struct timerlat_sample *sample)
{
	const char *mark = strstr(line, ": #"), *text;
	uint64_t latency_ns;

	if (!mark || !read_stamp(line, mark, &sample->at_ns))
		return false;
	text = mark + strlen(": #");
	if (!take_number(&text, &sample->number) || !take_word(&text, "context"))
		return false;
	if (take_word(&text, "irq"))
		sample->context = TIMERLAT_IRQ;
	else if (take_word(&text, "thread"))
		sample->context = TIMERLAT_THREAD;
	else
		return false;
	if (!take_word(&text, "timer_latency"))
		return false;
	text += strspn(text, " ");
	if (!take_number(&text, &latency_ns) || !take_word(&text, "ns"))
		return false;
	sample->latency_ns = (int64_t)latency_ns;
	return true;
}
