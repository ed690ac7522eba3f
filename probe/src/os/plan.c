#include "os/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/values.h"

static int fail(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct plan *plan, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(plan->error, sizeof plan->error, format, arguments);
	va_end(arguments);
	return -1;
}

/* The edit distance of two short names (insert, delete, replace), for a suggestion. */
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
	for (const struct option_spec *o = plan->command->options; o && o->name; o++) {
		size_t edits = strncmp(o->name, name, strlen(name)) || strlen(name) < 2 ? distance(o->name, name) : 1;

		if (edits < best && edits < strlen(o->name)) {
			best = edits;
			nearest = o->name;
		}
	}
	if (nearest)
		return fail(plan, "%s has no option --%s; did you mean --%s?", plan->command->name, name, nearest);
	return fail(plan, "%s has no option --%s; `rtprobe %s --help` lists them", plan->command->name, name, plan->command->name);
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
		return fail(plan, "--%s %s is out of range: %s to %s", o->name, text, format_time(o->min, low), format_time(o->max, high));
	return fail(plan, "--%s %s is out of range: %" PRId64 " to %" PRId64 "%s%s", o->name, text, o->min, o->max, o->unit ? " " : "",
		    o->unit ? o->unit : "");
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
			free(v->cpus); /* the word replaces an earlier list */
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
			    o->type == OPT_DURATION ? "200us, 10ms, 60s or 1h"
			    : o->type == OPT_CPUS   ? "1, 0-3 or 0,2-3"
						    : "a number",
			    o->words ? " or " : "", words);
	return o->type == OPT_CPUS ? 0 : check_range(plan, o, text, v->number);
}

/* argv[*i] is an option: find it, take its value from `=` or the next argument. */
static int parse_option(struct plan *plan, int *i)
{
	const char *typed = plan->argv[*i], *equals = NULL, *name = typed + 1;
	size_t length = 1;
	const struct option_spec *o = plan->command->options;
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
	const struct command *command = plan->command;
	const struct option_value *v = plan->value;

	for (const struct option_spec *o = command->options; o && o->name; o++, v++)
		if (o->required && !v->set)
			return fail(plan, "%s needs --%s: %s", command->name, o->name, o->help);
	if (plan->n_args < command->min_arguments)
		return fail(plan, "%s needs %s", command->name, command->arguments ? command->arguments : "an argument");
	if (plan->n_args > command->max_arguments)
		return fail(plan, "'%s' is one argument too many; `rtprobe %s --help`", plan->args[command->max_arguments], command->name);
	if (command->takes_rest && !plan->n_rest)
		return fail(plan, "%s needs a command after `--`", command->name);
	if (!command->takes_rest && plan->rest && command->max_arguments == 0)
		return fail(plan, "%s takes nothing after `--`", command->name);
	return 0;
}

int plan_parse(struct plan *plan, const struct command *command, int argc, char **argv)
{
	struct option_value *v = plan->value;

	memset(plan, 0, sizeof *plan);
	plan->command = command;
	plan->argc = argc;
	plan->argv = argv;
	plan->args = calloc((size_t)argc + 1, sizeof *plan->args);
	if (!plan->args)
		return fail(plan, "no memory");
	for (const struct option_spec *o = command->options; o && o->name; o++, v++)
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

	for (const struct option_spec *o = plan->command->options; o && o->name; o++, v++)
		if (!strcmp(o->name, name))
			return v;
	fprintf(stderr, "rtprobe: bug: %s has no option %s\n", plan->command->name, name);
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
