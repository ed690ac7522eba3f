/* rtprobe describe: what this binary can do, as JSON (wire/DESCRIBE.md), from the same tables that parse the command line. */
#include <stdio.h>
#include <string.h>

#include "commands/command.h"
#include "methods/methods.h"
#include "os/say.h"
#include "os/values.h"
#include "os/version.h"
#include "sources/source.h"
#include "stream/json.h"

static void json_words(struct json *j, const char *const *words)
{
	json_array(j, "words");
	for (int i = 0; words && words[i]; i++)
		json_string(j, NULL, words[i]);
	json_end_array(j);
}

/* Durations in ns and whole numbers as numbers, as min and max are; anything else as it is typed. */
static void json_default(struct json *j, const struct option_spec *o)
{
	const char *why;
	int64_t number;

	if (o->standard && o->type == OPT_DURATION && !parse_duration(o->standard, &number, &why))
		json_int(j, "default", number);
	else if (o->standard && o->type == OPT_INTEGER && !parse_integer(o->standard, &number, &why))
		json_int(j, "default", number);
	else
		json_string(j, "default", o->standard);
}

static void json_setting(struct json *j, const struct option_spec *o)
{
	static const char *const types[] = {
		[OPT_FLAG] = "flag", [OPT_DURATION] = "duration", [OPT_INTEGER] = "integer",
		[OPT_CPUS] = "cpus", [OPT_CHOICE] = "choice",     [OPT_TEXT] = "text",
	};
	char letter[2] = { o->letter, 0 };

	json_object(j, NULL);
	json_string(j, "name", o->name);
	json_string(j, "letter", o->letter ? letter : NULL);
	json_string(j, "type", types[o->type]);
	json_string(j, "unit", o->unit);
	json_words(j, o->words);
	if (o->min || o->max) {
		json_int(j, "min", o->min);
		json_int(j, "max", o->max);
	} else {
		json_null(j, "min");
		json_null(j, "max");
	}
	json_default(j, o);
	json_bool(j, "required", o->required);
	json_string(j, "help", o->help);
	json_end_object(j);
}

static void json_settings(struct json *j, const struct option_spec *o)
{
	for (; o && o->name; o++)
		json_setting(j, o);
}

static void json_method(struct json *j, const struct method *method)
{
	json_object(j, NULL);
	json_string(j, "name", method->name);
	json_string(j, "summary", method->summary);
	json_string(j, "measure", method->measure);
	json_array(j, "settings");
	json_settings(j, method->settings);
	json_settings(j, shared_settings);
	json_end_array(j);
	json_end_object(j);
}

static void json_command(struct json *j, const struct command *command)
{
	json_object(j, NULL);
	json_string(j, "name", command->name);
	json_string(j, "summary", command->summary);
	json_string(j, "arguments", command->arguments);
	json_int(j, "min_arguments", command->min_arguments);
	json_int(j, "max_arguments", command->max_arguments);
	json_bool(j, "takes_command", command->takes_rest);
	json_array(j, "settings");
	json_settings(j, command->options);
	json_end_array(j);
	json_end_object(j);
}

static void json_source(struct json *j, const struct source *source)
{
	json_object(j, NULL);
	json_string(j, "name", source->name);
	json_string(j, "argument", source->argument);
	json_string(j, "summary", source->summary);
	json_end_object(j);
}

static void json_description(struct json *j)
{
	json_object(j, NULL);
	json_string(j, "schema", "rtprobe/describe/2");
	json_string(j, "version", RTPROBE_VERSION);
	json_int(j, "stream", 1);
	json_array(j, "methods");
	for (int i = 0; methods[i]; i++)
		json_method(j, methods[i]);
	json_end_array(j);
	json_array(j, "commands");
	for (int i = 0; commands[i]; i++)
		json_command(j, commands[i]);
	json_end_array(j);
	json_array(j, "sources");
	for (int i = 0; sources[i]; i++)
		json_source(j, sources[i]);
	json_end_array(j);
	json_end_object(j);
}

static int describe_run(const struct plan *plan)
{
	struct json j;
	bool failed;

	(void)plan;
	json_open(&j);
	json_description(&j);
	failed = j.failed || fwrite(j.text, 1, j.length, stdout) != j.length || putchar('\n') == EOF || fflush(stdout);
	json_close(&j);
	return failed ? say_fail(EXIT_BOARD, "cannot write the description to stdout") : EXIT_DONE;
}

static const struct option_spec describe_options[] = { { 0 } };

const struct command command_describe = {
	.name = "describe",
	.summary = "the ways to measure, the commands, their settings, and the sources of watch, as JSON",
	.options = describe_options,
	.run = describe_run,
};
