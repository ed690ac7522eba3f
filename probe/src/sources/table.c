#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sources/source.h"

#define SOURCE(name) extern const struct source_kind source_##name;
#include "sources/sources.def"
#undef SOURCE

const struct source_kind *const source_kinds[] = {
#define SOURCE(name) &source_##name,
#include "sources/sources.def"
#undef SOURCE
	NULL,
};

const struct source_kind *source_find(const char *name, const char **argument)
{
	size_t length = strcspn(name, ":");

	for (int i = 0; source_kinds[i]; i++) {
		const struct source_kind *kind = source_kinds[i];

		if (strlen(kind->name) != length || strncmp(kind->name, name, length))
			continue;
		/* A source has an argument if and only if it wants one. */
		if (kind->argument ? !name[length] || !name[length + 1] : name[length] != 0)
			return NULL;
		*argument = kind->argument ? name + length + 1 : "";
		return kind;
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
