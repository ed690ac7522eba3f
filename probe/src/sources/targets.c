#include "sources/targets.h"

#include <stdlib.h>
#include <string.h>

#include "os/say.h"
#include "os/values.h"

/* Cuts "5s:" off the front of a word. The period, 0 without one. */
static int64_t take_period(const char **word)
{
	size_t length = strcspn(*word, ":/@");
	int64_t period_ns = 0;
	const char *why;
	char text[32];

	if ((*word)[length] != ':' || !(*word)[length + 1] || length >= sizeof text)
		return 0;
	memcpy(text, *word, length);
	text[length] = 0;
	if (parse_duration(text, &period_ns, &why))
		return 0; /* a name with a colon in it */
	*word += length + 1;
	return period_ns;
}

static int no_memory(void)
{
	return say_fail(EXIT_BOARD, "no memory for the list of paths");
}

static int append(struct targets *t, const char *name, int64_t period_ns)
{
	struct target *to;

	if (t->n == t->capacity) {
		size_t capacity = t->capacity ? 2 * t->capacity : 64;
		struct target *bigger = realloc(t->list, capacity * sizeof *bigger);

		if (!bigger)
			return no_memory();
		t->list = bigger;
		t->capacity = capacity;
	}
	to = &t->list[t->n];
	*to = (struct target){ .name = strdup(name), .period_ns = period_ns };
	if (!to->name)
		return no_memory();
	t->n++;
	return 0;
}

static int add_source(struct targets *t, const char *name, int64_t period_ns)
{
	int code = append(t, name, period_ns);
	struct target *added = code ? NULL : &t->list[t->n - 1];

	if (!added)
		return code;
	added->source = source_find(added->name, &added->argument);
	if (!added->source)
		return say_fail(EXIT_USAGE, "there is no source '%s'; `rtprobe describe` lists them, and a file of this name is ./%s", name,
				name);
	return 0;
}

int targets_add(struct targets *t, const char *word)
{
	int64_t period_ns = take_period(&word);
	struct names found = { 0 };
	int code = 0;

	if (*word == '@')
		return add_source(t, word, period_ns);
	expand(&found, word);
	for (size_t i = 0; i < found.n && !code; i++)
		code = append(t, found.list[i], period_ns);
	if (!found.n)
		names_add(&t->unmatched, word);
	if (!code && (found.failed || t->unmatched.failed))
		code = no_memory();
	names_free(&found);
	return code;
}

static int by_name_then_place(const void *a, const void *b)
{
	const struct target *x = *(struct target *const *)a, *y = *(struct target *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x > y) - (x < y);
}

int targets_unique(struct targets *t)
{
	struct target **order = malloc((t->n + 1) * sizeof *order);
	size_t kept = 0;

	if (!order)
		return no_memory();
	for (size_t i = 0; i < t->n; i++)
		order[i] = &t->list[i];
	qsort(order, t->n, sizeof *order, by_name_then_place);
	for (size_t i = 1, first = 0; i < t->n; i++) {
		if (strcmp(order[i]->name, order[first]->name)) {
			first = i;
			continue;
		}
		if (order[i]->period_ns < order[first]->period_ns)
			order[first]->period_ns = order[i]->period_ns;
		free(order[i]->name);
		order[i]->name = NULL;
	}
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].name)
			t->list[kept++] = t->list[i];
	t->n = kept;
	free(order);
	return 0;
}

void targets_free(struct targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->list[i].name);
	free(t->list);
	names_free(&t->unmatched);
	memset(t, 0, sizeof *t);
}
