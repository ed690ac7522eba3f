#include "os/expand.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void names_add(struct names *found, const char *name)
{
	if (found->n == found->capacity) {
		size_t capacity = found->capacity ? 2 * found->capacity : 64;
		char **bigger = realloc(found->list, capacity * sizeof *bigger);

		if (!bigger) {
			found->failed = true;
			return;
		}
		found->list = bigger;
		found->capacity = capacity;
	}
	found->list[found->n] = strdup(name);
	if (found->list[found->n])
		found->n++;
	else
		found->failed = true;
}

bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

static void walk(struct names *found, const char *done, const char *rest);

/* Appends `name` to `done` and goes on with the next path component in `rest`. */
static void step(struct names *found, const char *done, const char *name, const char *rest)
{
	size_t size = strlen(done) + strlen(name) + strspn(rest, "/") + 1;
	char *path = malloc(size);
	struct stat st;

	if (!path) {
		found->failed = true;
		return;
	}
	snprintf(path, size, "%s%s%.*s", done, name, (int)strspn(rest, "/"), rest);
	rest += strspn(rest, "/");
	if (*rest)
		walk(found, path, rest);
	else if (!lstat(path, &st))
		names_add(found, path);
	free(path);
}

static void walk_directory(struct names *found, const char *done, const char *pattern, const char *rest)
{
	DIR *dir = opendir(*done ? done : ".");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (!fnmatch(pattern, entry->d_name, FNM_PERIOD | FNM_NOESCAPE))
			step(found, done, entry->d_name, rest);
	closedir(dir);
}

static void walk(struct names *found, const char *done, const char *rest)
{
	size_t length = strcspn(rest, "/");
	char *component = strndup(rest, length);

	if (!component)
		found->failed = true;
	else if (is_pattern(component))
		walk_directory(found, done, component, rest + length);
	else
		step(found, done, component, rest + length);
	free(component);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void expand(struct names *found, const char *pattern)
{
	size_t before = found->n;

	if (!is_pattern(pattern)) {
		names_add(found, pattern);
		return;
	}
	walk(found, "", pattern);
	if (found->n > before)
		qsort(found->list + before, found->n - before, sizeof *found->list, by_name);
}

void names_free(struct names *found)
{
	for (size_t i = 0; i < found->n; i++)
		free(found->list[i]);
	free(found->list);
	memset(found, 0, sizeof *found);
}
