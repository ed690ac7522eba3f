/*
 * rtprobe tune: applies a plan of settings, and holds what must be held until it is ended. `rtprobe guard --restore DIR/journal -- rtprobe
 * tune DIR` puts everything back at its end, whatever happens. DIR holds `plan`, and gets `journal` (what to put back, synced before each
 * change) and `result` (what became of each line; the last line is `done`).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/apply.h"
#include "guard/journal.h"
#include "guard/lines.h"
#include "os/plan.h"
#include "os/say.h"

enum { PATH_TEXT = 512 };

static char *plan_of(const char *path)
{
	size_t length;
	char *text = read_whole(path, &length);

	if (!text)
		say_fail(EXIT_USAGE, "cannot read the plan %s: %s", path, strerror(errno));
	return text;
}

static int look(const char *path)
{
	const struct applying told = { .journal = -1, .results = STDOUT_FILENO };
	char *text = plan_of(path);
	int code = text ? apply_plan(&told, text) : EXIT_USAGE;

	free(text);
	return code;
}

static int open_in(const char *directory, const char *name, int flags)
{
	char path[PATH_TEXT];
	int fd;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		say_fail(EXIT_BOARD, "cannot open %s: %s; nothing was changed", path, strerror(errno));
	return fd;
}

static int apply(const char *directory)
{
	char path[PATH_TEXT];
	struct applying a;
	char *text;
	int code;

	snprintf(path, sizeof path, "%s/plan", directory);
	text = plan_of(path);
	if (!text)
		return EXIT_USAGE;
	a.journal = open_in(directory, "journal", O_WRONLY | O_APPEND);
	a.results = a.journal < 0 ? -1 : open_in(directory, "result", O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
	code = a.results < 0 ? EXIT_BOARD : apply_plan(&a, text);
	if (!code && line_append(a.results, (const char *const[]){ "done" }, 1))
		code = say_fail(EXIT_BOARD, "cannot write the result: %s", strerror(errno));
	free(text);
	return code;
}

static void not_put_back(void *context, const char *what, const char *why)
{
	(void)context;
	printf("%s\t%s\n", what, why);
}

static int put_back(const char *directory)
{
	struct journal journal;
	char path[PATH_TEXT];
	size_t bad;
	int code;

	snprintf(path, sizeof path, "%s/journal", directory);
	if (access(path, F_OK) && errno == ENOENT)
		return EXIT_DONE; /* somebody has put it back */
	code = journal_open(&journal, path);
	if (code)
		return code;
	bad = journal_restore(&journal, not_put_back, NULL);
	journal_close(&journal);
	return bad ? say_fail(EXIT_BOARD, "%zu settings could not be put back", bad) : EXIT_DONE;
}

static int tune_run(const struct plan *plan)
{
	int code;

	if (plan_flag(plan, "look"))
		return look(plan->args[0]);
	if (plan_flag(plan, "revert"))
		return put_back(plan->args[0]);
	code = apply(plan->args[0]);
	while (!code && !plan_flag(plan, "once"))
		pause(); /* a signal of the guard ends it */
	return code;
}

static const struct option_spec tune_options[] = {
	{ .name = "look", .type = OPT_FLAG, .help = "PLAN instead of DIR: print what would be journaled, and change nothing" },
	{ .name = "once", .type = OPT_FLAG, .help = "end when all is applied; what must be held is not held any more then" },
	{ .name = "revert", .type = OPT_FLAG, .help = "put back what the journal in DIR lists; print what stays different" },
	{ 0 },
};

const struct command command_tune = {
	.name = "tune",
	.summary = "applies the settings in DIR/plan, each journaled before its change, and holds them until it is ended",
	.arguments = "DIR",
	.min_arguments = 1,
	.max_arguments = 1,
	.options = tune_options,
	.run = tune_run,
};
