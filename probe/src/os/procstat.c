#include "os/procstat.h"

#include <stdlib.h>
#include <string.h>

const char *stat_after_name(const char *text)
{
	const char *end = strrchr(text, ')');

	return end ? end + 1 : NULL;
}

unsigned long long stat_field(const char *after_name, int number)
{
	for (int at = 2; at < number; at++) {
		after_name += strcspn(after_name, " ");
		after_name += strspn(after_name, " ");
	}
	return strtoull(after_name, NULL, 10);
}
