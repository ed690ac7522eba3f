#include "guard/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "guard/lines.h"
#include "guard/setting.h"
#include "guard/undo.h"
#include "os/files.h"
#include "os/say.h"

enum { MOST_PASSES = 8 };
static const long pause_ns = 50000000;

struct entry {
	char *line; /* as it stands in the journal */
	struct fields fields;
	bool bad; /* in the last pass */
};

const char *boot_id(void)
{
	static char id[64];

	if (!id[0] && read_small("/proc/sys/kernel/random/boot_id", id, sizeof id) < 0)
		id[0] = 0;
	return id;
}

int journal_open(struct journal *j, const char *path)
{
	size_t length;

	memset(j, 0, sizeof *j);
	j->path = path;
	if (!path)
		return 0;
	j->text = read_whole(path, &length);
	if (!j->text)
		return say_fail(EXIT_USAGE, "cannot read the journal %s: %s; nothing was started", path, strerror(errno));
	return 0;
}

/* A copy of each line, and its fields. NULL: none, or no memory. */
static struct entry *entries_of(char *text, size_t *n)
{
	struct entry *entries = NULL;
	size_t room = 0;

	*n = 0;
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!*line)
			continue;
		if (*n == room) {
			struct entry *more = realloc(entries, (room + 64) * sizeof *more);

			if (!more)
				break;
			entries = more;
			room += 64;
		}
		entries[*n].line = strdup(line);
		entries[*n].bad = false;
		fields_split(&entries[*n].fields, line);
		++*n;
	}
	return entries;
}

static bool has_earlier(const struct entry *entries, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (undo_same_thing(&entries[i].fields, &entries[at].fields))
			return true;
	return false;
}

static bool of_another_boot(const struct entry *entries, size_t n)
{
	return n && fields_are(&entries[0].fields, "boot", 2) && strcmp(entries[0].fields.text[1], boot_id()) != 0;
}

static const char *what_of(const struct entry *e)
{
	return fields_are(&e->fields, "value", 3) || fields_are(&e->fields, "irq", 4) ? e->fields.text[1] : e->line ? e->line : "?";
}

/* Writes what failed without looking in between: a look at one of the watchdogs' files while another is off switches it off for good. */
static void write_unseen(const struct entry *entries, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (entries[i].bad && fields_are(&entries[i].fields, "value", 3))
			setting_write(entries[i].fields.text[1], entries[i].fields.text[2]);
}

/* One pass, last line first. Returns whether something changed; `bad` counts what failed. */
static bool pass(struct entry *entries, size_t n, size_t *bad, journal_failure *failed, void *context)
{
	bool changed = false;

	*bad = 0;
	for (size_t i = n; i-- > 0;) {
		char why[UNDO_WHY] = "";
		enum undone what;

		if (fields_are(&entries[i].fields, "boot", 2) || has_earlier(entries, i))
			continue;
		what = undo(&entries[i].fields, why);
		changed = changed || what == UNDO_CHANGED;
		entries[i].bad = what == UNDO_FAILED;
		*bad += what == UNDO_FAILED;
		if (what == UNDO_FAILED && failed)
			failed(context, what_of(&entries[i]), why);
	}
	return changed;
}

static size_t put_back(char *text, journal_failure *failed, void *context)
{
	size_t n, bad = 0;
	struct entry *entries = entries_of(text, &n);

	if (!of_another_boot(entries, n)) {
		for (int i = 0; pass(entries, n, &bad, NULL, NULL) || (bad && i < 2); i++) {
			if (i >= MOST_PASSES)
				break;
			if (i)
				nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
		}
		if (bad) {
			write_unseen(entries, n);
			pass(entries, n, &bad, failed, context);
		}
	}
	for (size_t i = 0; i < n; i++)
		free(entries[i].line);
	free(entries);
	return bad;
}

size_t journal_restore(struct journal *j, journal_failure *failed, void *context)
{
	size_t length, bad;
	int lock = j->path ? open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	char *newer;

	if (lock >= 0)
		flock(lock, LOCK_EX); /* somebody else may be putting it back as well */
	newer = j->path ? read_whole(j->path, &length) : NULL;
	if (newer) {
		free(j->text);
		j->text = newer;
	}
	bad = j->text ? put_back(j->text, failed, context) : 0;
	if (!bad && newer)
		unlink(j->path);
	free(j->text);
	j->text = NULL;
	if (lock >= 0)
		close(lock);
	return bad;
}

void journal_close(struct journal *j)
{
	free(j->text);
	memset(j, 0, sizeof *j);
}
