#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/kind.h"

/* --- CPU sets --- */

int cpus_count(const struct cpus *set)
{
	int count = 0;

	for (int i = 0; i < MAX_CPUS / 64; i++)
		count += __builtin_popcountll(set->bits[i]);
	return count;
}

int cpus_next(const struct cpus *set, int after)
{
	for (int cpu = after + 1; cpu < MAX_CPUS; cpu++)
		if (cpus_has(set, cpu))
			return cpu;
	return -1;
}

char *format_cpus(const struct cpus *set, char *out, size_t size)
{
	size_t used = 0;

	if (size)
		out[0] = 0;
	for (int first = cpus_next(set, -1), last; first >= 0; first = cpus_next(set, last)) {
		char part[24];
		int length;

		for (last = first; cpus_has(set, last + 1); last++)
			;
		length = first == last ? snprintf(part, sizeof part, "%s%d", used ? "," : "", first)
				       : snprintf(part, sizeof part, "%s%d-%d", used ? "," : "", first, last);
		if (used + (size_t)length >= size)
			break;
		memcpy(out + used, part, (size_t)length + 1);
		used += (size_t)length;
	}
	return out;
}

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

/* --- parsers of single values --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int parse_unit(const char **at, int64_t *factor)
{
	/* Longer names first: "m" would take the start of "ms" and "min". */
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {
		{ "min", INT64_C(60000000000) }, { "ns", 1 }, { "us", 1000 }, { "\xc2\xb5s", 1000 }, { "ms", 1000000 },
		{ "s", INT64_C(1000000000) }, { "m", INT64_C(60000000000) }, { "h", INT64_C(3600000000000) },
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
			if (scale >= UINT64_C(100000000000000)) { /* beyond a day's nanoseconds only zeros are exact */
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
	/* factor / scale * fraction must be whole; scale is a power of ten, so cancelling 2s and 5s decides it. */
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

static int parse_cpu(const char **at, int *cpu)
{
	int value = 0;

	if (!is_digit(**at))
		return -1;
	for (; is_digit(**at); (*at)++)
		if ((value = value * 10 + (**at - '0')) > 1000000)
			return -1;
	*cpu = value;
	return 0;
}

int parse_cpus(const char *text, struct cpus *set, const char **why)
{
	memset(set, 0, sizeof *set);
	for (;;) {
		int first, last, step = 1;

		if (parse_cpu(&text, &first))
			return *why = "is not a CPU list", -1;
		last = first;
		if (*text == '-') {
			text++;
			if (parse_cpu(&text, &last))
				return *why = "is not a CPU list", -1;
			if (*text == ':') {
				text++;
				if (parse_cpu(&text, &step))
					return *why = "is not a CPU list", -1;
			}
		}
		if (last < first || step == 0)
			return *why = "runs backwards", -1;
		if (last >= MAX_CPUS)
			return *why = "names a CPU beyond 4095", -1;
		for (int cpu = first; cpu <= last; cpu += step)
			cpus_add(set, cpu);
		if (!*text)
			return 0;
		if (*text++ != ',')
			return *why = "is not a CPU list", -1;
	}
}

/* --- the command line --- */

static int fail(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct plan *plan, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(plan->error, sizeof plan->error, format, arguments);
	va_end(arguments);
	return -1;
}

/* Edits (insert, delete, replace) between two short names, for a suggestion. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64], la = strlen(a), lb = strlen(b);

	if (la > 60 || lb > 60)
		return 60;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

static int fail_unknown(struct plan *plan, const char *typed, size_t length)
{
	const char *nearest = NULL;
	char name[61];
	size_t best = 4;

	snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), typed);
	for (const struct option_spec *o = plan->kind->options; o && o->name; o++) {
		size_t edits = strncmp(o->name, name, strlen(name)) || strlen(name) < 2 ? distance(o->name, name) : 1;

		if (edits < best && edits < strlen(o->name)) {
			best = edits;
			nearest = o->name;
		}
	}
	if (nearest)
		return fail(plan, "%s has no option --%s; did you mean --%s?", plan->kind->name, name, nearest);
	return fail(plan, "%s has no option --%s; `rtprobe %s --help` lists them", plan->kind->name, name, plan->kind->name);
}

static void join_words(const struct option_spec *o, char *out, size_t size)
{
	size_t used = 0;

	out[0] = 0;
	for (int i = 0; o->words && o->words[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", o->words[i]);
}

static int check_range(struct plan *plan, const struct option_spec *o, const char *text, int64_t number)
{
	char low[24], high[24];

	if ((o->min == 0 && o->max == 0) || (number >= o->min && number <= o->max))
		return 0;
	if (o->type == OPT_DURATION)
		return fail(plan, "--%s %s is out of range: %s to %s", o->name, text, format_time(o->min, low),
			    format_time(o->max, high));
	return fail(plan, "--%s %s is out of range: %" PRId64 " to %" PRId64 "%s%s", o->name, text, o->min, o->max,
		    o->unit ? " " : "", o->unit ? o->unit : "");
}

static int set_value(struct plan *plan, const struct option_spec *o, struct option_value *v, const char *text)
{
	const char *why = "";
	char words[200];
	int bad = 0;

	v->set = true;
	v->text = text;
	for (int i = 0; o->words && o->words[i]; i++)
		if (!strcmp(text, o->words[i])) {
			v->number = o->type == OPT_CHOICE ? i : -1 - i;
			free(v->cpus); /* an earlier list is overruled */
			v->cpus = NULL;
			return 0;
		}
	join_words(o, words, sizeof words);
	switch (o->type) {
	case OPT_FLAG:
		v->number = 1;
		return 0;
	case OPT_CHOICE:
		return fail(plan, "--%s %s is not one of: %s", o->name, text, words);
	case OPT_TEXT:
		return *text ? 0 : fail(plan, "--%s is empty", o->name);
	case OPT_DURATION:
		bad = parse_duration(text, &v->number, &why);
		break;
	case OPT_INTEGER:
		bad = parse_integer(text, &v->number, &why);
		break;
	case OPT_CPUS:
		if (!v->cpus && !(v->cpus = malloc(sizeof *v->cpus)))
			return fail(plan, "no memory");
		bad = parse_cpus(text, v->cpus, &why);
		break;
	}
	if (bad)
		return fail(plan, "--%s: '%s' %s; write %s%s%s", o->name, text, why,
			    o->type == OPT_DURATION ? "200us, 10ms, 60s or 1h" : o->type == OPT_CPUS ? "1, 0-3 or 0,2-3" : "a number",
			    o->words ? " or " : "", words);
	return o->type == OPT_CPUS ? 0 : check_range(plan, o, text, v->number);
}

/* argv[*i] is an option: find it, take its value from `=` or the next argument. */
static int parse_option(struct plan *plan, int *i)
{
	const char *typed = plan->argv[*i], *equals = NULL, *name = typed + 1;
	size_t length = 1;
	const struct option_spec *o = plan->kind->options;
	struct option_value *v = plan->value;

	if (typed[1] == '-') {
		name = typed + 2;
		equals = strchr(name, '=');
		length = equals ? (size_t)(equals - name) : strlen(name);
	}
	for (; o && o->name; o++, v++) {
		const char *value;

		if (typed[1] == '-' ? strlen(o->name) != length || strncmp(o->name, name, length) : !o->letter || o->letter != *name)
			continue;
		v->given = true;
		if (o->type == OPT_FLAG) {
			if (equals || (typed[1] != '-' && name[1]))
				return fail(plan, "--%s takes no value", o->name);
			return set_value(plan, o, v, "");
		}
		if (equals)
			value = equals + 1;
		else if (typed[1] != '-' && name[1])
			value = name + 1;
		else if (*i + 1 < plan->argc)
			value = plan->argv[++*i];
		else
			return fail(plan, "--%s needs a value", o->name);
		return set_value(plan, o, v, value);
	}
	return fail_unknown(plan, name, typed[1] == '-' ? length : strlen(name));
}

static int check_whole(struct plan *plan)
{
	const struct kind *kind = plan->kind;
	const struct option_value *v = plan->value;

	for (const struct option_spec *o = kind->options; o && o->name; o++, v++)
		if (o->required && !v->set)
			return fail(plan, "%s needs --%s: %s", kind->name, o->name, o->help);
	if (plan->n_args < kind->min_arguments)
		return fail(plan, "%s needs %s", kind->name, kind->arguments ? kind->arguments : "an argument");
	if (plan->n_args > kind->max_arguments)
		return fail(plan, "'%s' is one argument too many; `rtprobe %s --help`", plan->args[kind->max_arguments], kind->name);
	if (kind->takes_rest && !plan->n_rest)
		return fail(plan, "%s needs a command after `--`", kind->name);
	if (!kind->takes_rest && plan->rest && kind->max_arguments == 0)
		return fail(plan, "%s takes nothing after `--`", kind->name);
	return 0;
}

int plan_parse(struct plan *plan, const struct kind *kind, int argc, char **argv)
{
	struct option_value *v = plan->value;

	memset(plan, 0, sizeof *plan);
	plan->kind = kind;
	plan->argc = argc;
	plan->argv = argv;
	plan->args = calloc((size_t)argc + 1, sizeof *plan->args);
	if (!plan->args)
		return fail(plan, "no memory");
	for (const struct option_spec *o = kind->options; o && o->name; o++, v++)
		if (o->standard && set_value(plan, o, v, o->standard))
			return -1;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			plan->rest = argv + i + 1;
			plan->n_rest = argc - i - 1;
			break;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			if (parse_option(plan, &i))
				return -1;
		} else {
			plan->args[plan->n_args++] = argv[i];
		}
	}
	return check_whole(plan);
}

void plan_free(struct plan *plan)
{
	for (int i = 0; i < MAX_OPTIONS; i++)
		free(plan->value[i].cpus);
	free(plan->args);
	memset(plan->value, 0, sizeof plan->value);
	plan->args = NULL;
}

static const struct option_value *find_value(const struct plan *plan, const char *name)
{
	const struct option_value *v = plan->value;

	for (const struct option_spec *o = plan->kind->options; o && o->name; o++, v++)
		if (!strcmp(o->name, name))
			return v;
	fprintf(stderr, "rtprobe: bug: %s has no option %s\n", plan->kind->name, name);
	abort();
}

bool plan_set(const struct plan *plan, const char *name)
{
	return find_value(plan, name)->set;
}

bool plan_given(const struct plan *plan, const char *name)
{
	return find_value(plan, name)->given;
}

bool plan_flag(const struct plan *plan, const char *name)
{
	return find_value(plan, name)->set;
}

int64_t plan_number(const struct plan *plan, const char *name)
{
	return find_value(plan, name)->number;
}

const char *plan_text(const struct plan *plan, const char *name)
{
	return find_value(plan, name)->text;
}

const struct cpus *plan_cpus(const struct plan *plan, const char *name)
{
	return find_value(plan, name)->cpus;
}
