#include "os/procstat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/files.h"

enum { LAST_FIELD = 41, PF_NO_SETAFFINITY = 0x04000000 };

/* Fields 4 to LAST_FIELD by their number in proc(5); `at` is behind field 3. Negative fields wrap. */
static void read_numbers(const char *at, unsigned long long field[LAST_FIELD + 1])
{
	for (int number = 4; number <= LAST_FIELD && *at == ' '; number++) {
		char *end;

		field[number] = strtoull(at, &end, 10);
		at = end;
	}
}

bool procstat_parse(const char *text, struct procstat *s)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')');
	unsigned long long field[LAST_FIELD + 1] = { 0 };

	if (!begin || !end || end < begin || end[1] != ' ' || !end[2])
		return false;
	read_numbers(end + 3, field);
	memset(s, 0, sizeof *s);
	snprintf(s->name, sizeof s->name, "%.*s", (int)(end - begin - 1), begin + 1);
	s->state = end[2];
	s->ppid = (pid_t)field[4];
	s->pgrp = (pid_t)field[5];
	s->kept = (field[9] & PF_NO_SETAFFINITY) != 0;
	s->minor_faults = field[10];
	s->major_faults = field[12];
	s->user_ticks = field[14];
	s->system_ticks = field[15];
	s->waited_ticks = field[16] + field[17];
	s->threads = field[20];
	s->start_ticks = field[22];
	s->cpu = (int)field[39];
	s->priority = (int)field[40];
	s->policy = (int)field[41];
	return true;
}

bool procstat_read(const char *path, struct procstat *s)
{
	char text[1024];

	return read_small(path, text, sizeof text) > 0 && procstat_parse(text, s);
}

bool procstat_of(pid_t pid, struct procstat *s)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return procstat_read(path, s);
}

uint64_t process_start(pid_t pid)
{
	struct procstat s;

	return procstat_of(pid, &s) ? s.start_ticks : 0;
}
