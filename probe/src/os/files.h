/* Small files of /proc and /sys. */
#ifndef RTPROBE_FILES_H
#define RTPROBE_FILES_H

#include <stddef.h>

/* Reads a small file: bytes read (NUL-terminated, trailing newlines cut), or -1 and errno. */
long read_small(const char *path, char *out, size_t size);

#endif
