/* rtprobe describe: what this binary can do, as JSON, from the same tables that parse the command line. */
#include <stdio.h>
#include <stdlib.h>

#include "commands/command.h"
#include "methods/method.h"
#include "os/say.h"
#include "os/version.h"
#include "sources/source.h"

static void json_words(struct json *j, const char *const *words)
{
	json_array(j, "words");
	for (int i = 0; words && words[i]; i++)
		json_string(j, NULL, words[i]);
	json_end_array(j);
}

static void json_option(struct json *j, const struct option_spec *o)
{
	static const char *const types[] = {
		[OPT_FLAG] = "flag", [OPT_DURATION] = "duration", [OPT_INTEGER] = "integer",
		[OPT_CPUS] = "cpus", [OPT_CHOICE] = "choice", [OPT_TEXT] = "text",
	};
	char letter[2] = {o->letter, 0};

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
	json_string(j, "default", o->standard);
	json_bool(j, "required", o->required);
	json_string(j, "help", o->help);
	json_end_object(j);
}

static void json_command(struct json *j, const struct command *command, bool measures)
{
	json_object(j, NULL);
	json_string(j, "name", command->name);
	json_string(j, "summary", command->summary);
	json_bool(j, "measures", measures);
	json_string(j, "arguments", command->arguments);
	json_int(j, "min_arguments", command->min_arguments);
	json_int(j, "max_arguments", command->max_arguments);
	json_bool(j, "takes_command", command->takes_rest);
	json_array(j, "options");
	for (const struct option_spec *o = command->options; o && o->name; o++)
		json_option(j, o);
	json_end_array(j);
	json_end_object(j);
}

static void json_sources(struct json *j)
{
	json_array(j, "sources");
	for (int i = 0; source_kinds[i]; i++) {
		json_object(j, NULL);
		json_string(j, "name", source_kinds[i]->name);
		json_string(j, "argument", source_kinds[i]->argument);
		json_string(j, "summary", source_kinds[i]->summary);
		json_end_object(j);
	}
	json_end_array(j);
}

static int describe_run(const struct plan *plan)
{
	struct json j;
	bool failed;

	(void)plan;
	json_open(&j);
	json_object(&j, NULL);
	json_string(&j, "schema", "rtprobe/describe/1");
	json_string(&j, "version", RTPROBE_VERSION);
	json_int(&j, "stream", 1);
	json_array(&j, "kinds");
	for (int i = 0; methods[i]; i++)
		json_command(&j, methods[i], true);
	for (int i = 0; commands[i]; i++)
		json_command(&j, commands[i], false);
	json_end_array(&j);
	json_sources(&j);
	json_end_object(&j);
	failed = j.failed || fwrite(j.text, 1, j.length, stdout) != j.length || putchar('\n') == EOF || fflush(stdout);
	json_close(&j);
	return failed ? say_fail(EXIT_BOARD, "cannot write the description to stdout") : EXIT_DONE;
}

static const struct option_spec describe_options[] = {{0}};

const struct command command_describe = {
	.name = "describe",
	.summary = "the commands, their options, units, ranges and defaults, and the sources of watch, as JSON",
	.options = describe_options,
	.run = describe_run,
};
