/* A setting that is a small file of /proc or /sys: what it holds, whether that is what is wanted, and writing it. */
#ifndef RTPROBE_SETTING_H
#define RTPROBE_SETTING_H

#include <stdbool.h>
#include <stddef.h>

enum { SETTING_TEXT = 4096 };

/* What to write to get the present state again: the contents, or of `always [madvise] never` the word in brackets. 0 or errno. */
int setting_read(const char *path, char *out, size_t size);
/* Whether two values of this file mean the same: masks and lists of CPUs by their CPUs, everything else by its words. */
bool setting_same(const char *path, const char *one, const char *other);
/* Never creates a file, and never waits for the other end of a FIFO. 0 or errno. */
int setting_write(const char *path, const char *value);

#endif
