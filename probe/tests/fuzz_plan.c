/* libFuzzer: command lines (words separated by newlines) against a table with every type of option, and the single parsers. */
#include <stdlib.h>
#include <string.h>

#include "os/plan.h"
#include "os/values.h"

static const char *const colours[] = { "red", "green", NULL };
static const char *const off[] = { "off", NULL };
static const struct option_spec options[] = {
	{ "interval", 'i', OPT_DURATION, "ns", NULL, 10000, 1000000000, "1ms", false, "an interval" },
	{ "count", 'n', OPT_INTEGER, "samples", off, 1, 100, NULL, false, "a count" },
	{ "cpus", 0, OPT_CPUS, NULL, off, 0, 0, NULL, false, "cpus" },
	{ "colour", 'c', OPT_CHOICE, NULL, colours, 0, 0, "green", false, "a colour" },
	{ "quiet", 'q', OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "a flag" },
	{ "file", 'o', OPT_TEXT, "FILE", NULL, 0, 0, NULL, false, "a file" },
	{ 0 },
};
static const struct command kind = { .name = "fuzz", .options = options, .arguments = "X...", .max_arguments = 5, .takes_rest = false };

static void check(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *argv[70] = { (char *)"rtprobe", (char *)"fuzz" };
	const char *why = NULL;
	struct cpus set, again;
	struct plan plan;
	int argc = 2;
	int64_t number;
	char list[64];

	memcpy(text, data, size);
	text[size] = 0;
	if (!parse_duration(text, &number, &why))
		check(number >= 0 && number <= INT64_C(1) << 62);
	else
		check(why != NULL);
	why = NULL;
	if (parse_integer(text, &number, &why))
		check(why != NULL);
	why = NULL;
	if (!parse_cpus(text, &set, &why)) {
		check(cpus_count(&set) > 0);
		format_cpus(&set, list, sizeof list);
		check(strlen(list) < sizeof list && !parse_cpus(list, &again, &why)); /* it may be cut, but it is a list */
	} else {
		check(why != NULL);
	}
	for (char *word = strtok(text, "\n"); word && argc < 69; word = strtok(NULL, "\n"))
		argv[argc++] = word;
	if (plan_parse(&plan, &kind, argc, argv)) {
		check(plan.error[0] && strlen(plan.error) < sizeof plan.error);
	} else {
		number = plan_number(&plan, "interval");
		check(number >= 10000 && number <= 1000000000);
		number = plan_number(&plan, "count");
		check(!plan_set(&plan, "count") || number == -1 || (number >= 1 && number <= 100));
		check(plan.n_args <= 5);
	}
	plan_free(&plan);
	free(text);
	return 0;
}
