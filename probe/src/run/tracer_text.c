#include "run/tracer_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HARDWARE_TO_THREAD = 5 }; /* counts of hardware, NMI, interrupt, softirq and thread noise */

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
	else if (take_word(&text, "user-ret"))
		sample->context = TIMERLAT_USER;
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

/* A number of microseconds behind spaces, in ns. */
static bool take_us(const char **text, int64_t *ns)
{
	uint64_t us;

	*text += strspn(*text, " ");
	if (!take_number(text, &us))
		return false;
	*ns = (int64_t)us * 1000;
	return true;
}

/* `    497.214862: 1000000     748719  25.12810   68408    122      0    126 ...`: runtime, noise, percent, longest, counts of causes */
bool osnoise_parse(const char *line, struct osnoise_sample *sample)
{
	const char *mark = strstr(line, ": "), *text;
	uint64_t none;
	int counts = 0;

	while (mark && !read_stamp(line, mark, &sample->at_ns))
		mark = strstr(mark + 1, ": ");
	if (!mark)
		return false;
	text = mark + strlen(": ");
	if (!take_us(&text, &sample->runtime_ns) || !take_us(&text, &sample->noise_ns))
		return false;
	text += strspn(text, " ");
	if (!take_number(&text, &none) || *text++ != '.' || !take_number(&text, &none))
		return false;
	if (!take_us(&text, &sample->longest_ns))
		return false;
	for (int64_t ns; take_us(&text, &ns);)
		counts++;
	return counts >= HARDWARE_TO_THREAD && !*(text + strspn(text, " "));
}

/* `   504.120206: #2     inner/outer(us): 8771/12108 ts:1795413535.373227280 count:120` */
bool hwlat_parse(const char *line, struct hwlat_sample *sample)
{
	const char *mark = strstr(line, ": #"), *text;
	int64_t outer_ns;
	uint64_t number;

	if (!mark || !read_stamp(line, mark, &sample->at_ns))
		return false;
	text = mark + strlen(": #");
	if (!take_number(&text, &number) || !take_word(&text, "inner/outer(us):") || !take_us(&text, &sample->longest_ns) ||
	    *text++ != '/' || !take_us(&text, &outer_ns) || !take_word(&text, "ts:"))
		return false;
	if (outer_ns > sample->longest_ns)
		sample->longest_ns = outer_ns;
	return true;
}
