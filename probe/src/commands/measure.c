#include "commands/measure.h"

#include <stdlib.h>
#include <string.h>

#include "methods/methods.h"

static const struct method *chosen;
static struct option_spec settings[MAX_OPTIONS + 1];

static int add_settings(int n, const struct option_spec *more)
{
	for (; more && more->name; more++) {
		if (n == MAX_OPTIONS)
			abort(); /* a bug: the method has too many settings */
		settings[n++] = *more;
	}
	return n;
}

static int measure_run(const struct plan *plan)
{
	measure(chosen, plan);
}

const struct command *measure_command(const char *name)
{
	static struct command command;

	for (int i = 0; methods[i]; i++) {
		if (strcmp(methods[i]->name, name))
			continue;
		chosen = methods[i];
		add_settings(add_settings(0, chosen->settings), shared_settings);
		command = (struct command){ .name = chosen->name, .summary = chosen->summary, .options = settings, .run = measure_run };
		return &command;
	}
	return NULL;
}
