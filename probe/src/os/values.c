#include "os/values.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

char *format_time(int64_t ns, char out[24])
{
	static const struct {
		const char *unit;
		double factor, below;
	} scale[] = { { "us", 1e3, 1e6 }, { "ms", 1e6, 1e9 }, { "s", 1e9, 600e9 }, { "min", 60e9, 3600e9 }, { "h", 3600e9, 1e30 } };
	double size = ns < 0 ? -(double)ns : (double)ns;
	int i = 0;

	if (size < 1e3) {
		snprintf(out, 24, "%" PRId64 "ns", ns);
		return out;
	}
	while (size >= scale[i].below)
		i++;
	snprintf(out, 24, "%.6g%s", (double)ns / scale[i].factor, scale[i].unit);
	return out;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int parse_unit(const char **at, int64_t *factor)
{
	/* Longer names come first, because "m" is also the start of "ms" and "min". */
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {
		{ "min", INT64_C(60000000000) },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "\xc2\xb5s", 1000 },
		{ "ms", 1000000 },
		{ "s", INT64_C(1000000000) },
		{ "m", INT64_C(60000000000) },
		{ "h", INT64_C(3600000000000) },
		{ "d", INT64_C(86400000000000) },
	};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t length = strlen(units[i].name);

		if (!strncmp(*at, units[i].name, length)) {
			*at += length;
			*factor = units[i].ns;
			return 0;
		}
	}
	return -1;
}

/* One part such as 1.5ms. Exact: the fraction must come to whole nanoseconds. */
static int parse_part(const char **at, int64_t *ns, const char **why)
{
	const int64_t most = INT64_C(1) << 62;
	uint64_t whole = 0, fraction = 0, scale = 1;
	int64_t factor;
	bool any = false;

	for (; is_digit(**at); (*at)++, any = true) {
		whole = whole * 10 + (uint64_t)(**at - '0');
		if (whole > (uint64_t)most)
			return *why = "is too long", -1;
	}
	if (**at == '.') {
		for ((*at)++; is_digit(**at); (*at)++, any = true) {
			if (scale >= UINT64_C(100000000000000)) { /* no unit has so many digits: only zeros are exact here */
				if (**at != '0')
					return *why = "is finer than a nanosecond", -1;
				continue;
			}
			fraction = fraction * 10 + (uint64_t)(**at - '0');
			scale *= 10;
		}
	}
	if (!any)
		return *why = "is not a duration", -1;
	if (!**at)
		return *why = "has no unit", -1;
	if (parse_unit(at, &factor))
		return *why = "is not a duration", -1;
	if (whole > (uint64_t)(most / factor))
		return *why = "is too long", -1;
	/* factor / scale * fraction must be whole. scale is a power of ten, so cancel its factors 2 and 5. */
	uint64_t unit = (uint64_t)factor;

	for (uint64_t prime = 2; prime <= 5; prime += 3)
		while (scale % prime == 0 && (unit % prime == 0 || fraction % prime == 0)) {
			*(unit % prime ? &fraction : &unit) /= prime;
			scale /= prime;
		}
	if (scale != 1 && fraction)
		return *why = "is finer than a nanosecond", -1;
	*ns = (int64_t)(whole * (uint64_t)factor + fraction * unit);
	return *ns > most ? (*why = "is too long", -1) : 0;
}

int parse_duration(const char *text, int64_t *ns, const char **why)
{
	int64_t total = 0, part;

	if (!*text)
		return *why = "is not a duration", -1;
	while (*text) {
		if (parse_part(&text, &part, why))
			return -1;
		if (part > (INT64_C(1) << 62) - total)
			return *why = "is too long", -1;
		total += part;
	}
	*ns = total;
	return 0;
}

int parse_integer(const char *text, int64_t *number, const char **why)
{
	bool negative = *text == '-';
	uint64_t value = 0;

	text += negative;
	if (!is_digit(*text))
		return *why = "is not a whole number", -1;
	for (; is_digit(*text); text++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > (uint64_t)1 << 62)
			return *why = "is too large", -1;
	}
	if (*text)
		return *why = "is not a whole number", -1;
	*number = negative ? -(int64_t)value : (int64_t)value;
	return 0;
}
