/* rtprobe: the part of rtassay that runs on the board. main finds the command, parses its options and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "commands/measure.h"
#include "methods/methods.h"
#include "os/plan.h"
#include "os/say.h"
#include "os/version.h"

#ifndef SOURCES_DIGEST
#define SOURCES_DIGEST "unknown"
#endif

/* rtassay finds the mark in the file, so that it can tell a stale binary that it cannot run. */
static const char sources[] = "rtprobe-sources=" SOURCES_DIGEST;

static void print_words(const struct option_spec *o)
{
	for (int i = 0; o->words && o->words[i]; i++)
		printf("%s%s", i ? "|" : "", o->words[i]);
}

static void print_option(const struct option_spec *o)
{
	static const char *const value_name[] = {
		[OPT_DURATION] = "TIME",
		[OPT_INTEGER] = "N",
		[OPT_CPUS] = "LIST",
		[OPT_TEXT] = "TEXT",
	};
	char left[40];

	if (o->letter)
		snprintf(left, sizeof left, "-%c, --%s", o->letter, o->name);
	else
		snprintf(left, sizeof left, "    --%s", o->name);
	printf("  %-22s ", left);
	if (o->type == OPT_CHOICE) {
		print_words(o);
		printf("  ");
	} else if (o->type != OPT_FLAG) {
		printf("%s", o->type == OPT_TEXT && o->unit ? o->unit : value_name[o->type]);
		if (o->words) {
			printf("|");
			print_words(o);
		}
		printf("  ");
	}
	printf("%s", o->help);
	if (o->required)
		printf(" (required)");
	else if (o->standard)
		printf(" (default %s)", o->standard);
	printf("\n");
}

static void print_help(const struct command *command)
{
	printf("rtprobe %s: %s\n\nusage: rtprobe %s [OPTIONS]%s%s%s\n\n", command->name, command->summary, command->name,
	       command->arguments ? " " : "", command->arguments ? command->arguments : "", command->takes_rest ? " -- CMD..." : "");
	for (const struct option_spec *o = command->options; o && o->name; o++)
		print_option(o);
}

static void print_usage(void)
{
	printf("rtprobe " RTPROBE_VERSION ": measures latency on this board\n\nusage: rtprobe COMMAND [OPTIONS]\n\n");
	for (int i = 0; methods[i]; i++)
		printf("  %-9s %s\n", methods[i]->name, methods[i]->summary);
	for (int i = 0; commands[i]; i++)
		printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
	printf("\nrtprobe COMMAND --help lists the options of a command.\n");
}

/* EXIT_DONE, unless what was printed did not arrive. */
static int printed(void)
{
	return fflush(stdout) || ferror(stdout) ? say_fail(EXIT_BOARD, "cannot write to stdout: %s", strerror(errno)) : EXIT_DONE;
}

static const struct command *find_command(const char *name)
{
	for (int i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return measure_command(name);
}

/* --help anywhere before `--` asks for help. */
static bool asks_help(int argc, char **argv)
{
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct command *command;
	struct plan plan;
	int code;

	if (getuid() != geteuid() || getgid() != getegid()) /* it would write any file that -o names */
		return say_fail(EXIT_BOARD,
				"rtprobe refuses to run setuid or setgid; use capabilities: setcap cap_sys_nice,cap_ipc_lock+ep");
	if (argc < 2) {
		print_usage();
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_usage();
		return printed();
	}
	if (!strcmp(argv[1], "--version")) {
		printf("rtprobe " RTPROBE_VERSION "\n%s\n", sources);
		return printed();
	}
	command = find_command(argv[1]);
	if (!command)
		return say_fail(EXIT_USAGE, "there is no command '%s'; `rtprobe --help` lists them", argv[1]);
	if (asks_help(argc, argv)) {
		print_help(command);
		return printed();
	}
	if (plan_parse(&plan, command, argc, argv))
		code = say_fail(EXIT_USAGE, "%s", plan.error);
	else
		code = command->run(&plan);
	plan_free(&plan);
	return code;
}
