#include "run/kernel_tracer.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/say.h"
#include "os/tracefs.h"

enum { BUFFER_KB = 1024 };

/* The tracers that share settings. */
static const char *const relatives[] = { "timerlat", "osnoise", "hwlat", NULL };

/* The content of a small file without its newline, of a list of choices the chosen one ("none [per-cpu]"); false: it cannot be read, or
 * does not fit. */
static bool read_value(const char *directory, const char *name, char *out, size_t size)
{
	size_t length;
	char *text = tracefs_text(directory, name, &length);
	const bool fits = text && length < size;

	if (fits) {
		memcpy(out, text, length + 1);
		out[strcspn(out, "\n")] = 0;
		if (strchr(out, '[') && strchr(out, ']')) {
			const char *chosen = strchr(out, '[') + 1;

			*strchr(out, ']') = 0;
			memmove(out, chosen, strlen(chosen) + 1);
		}
	}
	free(text);
	return fits;
}

static bool has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		const size_t here = strcspn(text, " \n");

		if (here == length && !strncmp(text, word, length))
			return true;
		text += here;
	}
	return false;
}

static bool is_available(const char *root, const char *name)
{
	size_t length;
	char *text = tracefs_text(root, "available_tracers", &length);
	const bool there = text && has_word(text, name);

	free(text);
	return there;
}

/* Does `directory`/current_tracer name a tracer that shares the settings? */
static bool uses_settings(const char *directory)
{
	char tracer[64];

	if (!read_value(directory, "current_tracer", tracer, sizeof tracer))
		return false;
	for (int i = 0; relatives[i]; i++)
		if (!strcmp(tracer, relatives[i]))
			return true;
	return false;
}

/* The name of an instance (or "the top level") in which such a tracer runs; false: none does. */
static bool find_user(const char *root, char *out, size_t size)
{
	char path[TRACER_PATH + 300];
	struct dirent *entry;
	bool found = false;
	DIR *directory;

	if (uses_settings(root)) {
		snprintf(out, size, "the top level");
		return true;
	}
	snprintf(path, sizeof path, "%s/instances", root);
	directory = opendir(path);
	while (directory && !found && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/instances/%s", root, entry->d_name);
		found = uses_settings(path);
		snprintf(out, size, "the instance %s", entry->d_name);
	}
	if (directory)
		closedir(directory);
	return found;
}

/* The word of an option as it stands in the file: `word`, or what says the opposite (NO_...). */
static bool read_option(const char *path, const char *word, char *out, size_t size)
{
	const bool negative = !strncmp(word, "NO_", 3);
	size_t length;
	char *text = tracefs_text("", path, &length);
	const bool there = text != NULL, same = there && has_word(text, word);
	const char *prefix = same || negative ? "" : "NO_";

	snprintf(out, size, "%s%.*s", prefix, (int)(size - sizeof "NO_"), same || !negative ? word : word + 3);
	free(text);
	return there;
}

/* A setting as it is now. */
static bool read_setting(const char *path, const struct tracer_setting *setting, char *out, size_t size)
{
	const char *name = strrchr(path, '/');

	if (name && !strcmp(name, "/options"))
		return read_option(path, setting->value, out, size);
	return read_value("", path, out, size);
}

/* Notes the present values of the settings that are to change. 0 or an exit code. */
static int note_settings(struct kernel_tracer *t, const char *root, const struct tracer_setting *settings)
{
	int n = 0;

	for (; settings->name; settings++) {
		struct restore *r = &t->restore[n];

		snprintf(r->path, sizeof r->path, "%s/%s", root, settings->name);
		if (!read_setting(r->path, settings, r->value, sizeof r->value))
			return say_fail(EXIT_BOARD, "%s cannot be read; nothing was changed", r->path);
		if (strcmp(r->value, settings->value) != 0)
			n++;
		else
			*r->path = 0;
	}
	return EXIT_DONE;
}

static int set_and_look(const char *root, const struct tracer_setting *setting)
{
	char path[TRACER_PATH], got[RESTORE_VALUE] = "";
	int error;

	snprintf(path, sizeof path, "%s/%s", root, setting->name);
	if (read_setting(path, setting, got, sizeof got) && !strcmp(got, setting->value))
		return EXIT_DONE;
	error = tracefs_put("", path, setting->value);
	if (error)
		return say_fail(EXIT_BOARD, "%s does not take %s: %s", path, setting->value, strerror(error));
	if (!read_setting(path, setting, got, sizeof got) || strcmp(got, setting->value) != 0)
		return say_fail(EXIT_BOARD, "%s was set to %s and now says '%s'", path, setting->value, got);
	return EXIT_DONE;
}

static int set_instance(const struct kernel_tracer *t, const char *name, const char *mask)
{
	char kb[16];
	int error;

	snprintf(kb, sizeof kb, "%d", BUFFER_KB);
	if ((mkdir(t->directory, 0700) && (error = errno)) || (error = tracefs_put(t->directory, "trace_clock", "mono")) ||
	    (error = tracefs_put(t->directory, "buffer_size_kb", kb)) ||
	    (mask && (error = tracefs_put(t->directory, "tracing_cpumask", mask))) ||
	    (error = tracefs_put(t->directory, "current_tracer", name)))
		return say_fail(EXIT_BOARD, "the kernel's tracer %s does not start in an instance of its own: %s", name, strerror(error));
	return EXIT_DONE;
}

static int set_all(const char *root, const struct tracer_setting *settings)
{
	int code;

	/* Two settings may bound each other (a window and what is looked at of it): first all that is taken now. */
	for (const struct tracer_setting *s = settings; s->name; s++)
		tracefs_put(root, s->name, s->value);
	for (; settings->name; settings++)
		if ((code = set_and_look(root, settings)))
			return code;
	return EXIT_DONE;
}

int tracer_start(struct kernel_tracer *t, const char *name, const char *mask, const struct tracer_setting *settings,
		 const char *const *roots)
{
	char user[300];
	const char *why;
	const char *root;
	int code, error;

	tracefs_sweep(roots);
	root = tracefs_find(roots, &why);
	if (!root)
		return say_fail(EXIT_BOARD, "%s", why);
	if (!is_available(root, name))
		return say_fail(
			EXIT_USAGE,
			"this kernel has no tracer %s (%s/available_tracers); Debian's -rt kernels have it, the stock ones have not; "
			"`cyclic` measures on every kernel",
			name, root);
	if (find_user(root, user, sizeof user))
		return say_fail(EXIT_BOARD,
				"%s of tracefs already runs timerlat, osnoise or hwlat, which have one set of settings; end that first",
				user);
	t->root = root;
	code = note_settings(t, root, settings);
	if (code)
		return code;
	tracefs_instance(root, getpid(), "-tracer", t->directory, sizeof t->directory);
	error = keeper_start(&t->keeper, t->directory, t->restore);
	if (error)
		return say_fail(EXIT_BOARD, "no process to put the tracer's settings back: %s", strerror(error));
	code = set_all(root, settings);
	if (!code)
		code = set_instance(t, name, mask);
	if (code)
		tracer_stop(t);
	return code;
}

void tracer_stop(struct kernel_tracer *t)
{
	const int error = keeper_remove(&t->keeper);

	if (error)
		say_note("the tracer's instance could not be removed: %s", strerror(error));
}
