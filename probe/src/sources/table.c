#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sources/source.h"

#define SOURCE(name) extern const struct source source_##name;
#include "sources/sources.def"
#undef SOURCE

const struct source *const sources[] = {
#define SOURCE(name) &source_##name,
#include "sources/sources.def"
#undef SOURCE
	NULL,
};

const struct source *source_find(const char *name, const char **argument)
{
	size_t length = strcspn(name, ":");

	for (int i = 0; sources[i]; i++) {
		const struct source *source = sources[i];

		if (strlen(source->name) != length || strncmp(source->name, name, length))
			continue;
		/* A source has an argument if and only if it wants one. */
		if (source->argument ? !name[length] || !name[length + 1] : name[length] != 0)
			return NULL;
		*argument = source->argument ? name + length + 1 : "";
		return source;
	}
	return NULL;
}

void lines_add(struct lines *l, const char *format, ...)
{
	size_t room = l->size - l->used;
	va_list list;
	char text[512];
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof text, format, list);
	va_end(list);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof text)
		n = sizeof text - 1;
	if ((size_t)n > room)
		n = (int)room;
	memcpy(l->at + l->used, text, (size_t)n);
	l->used += (size_t)n;
}
