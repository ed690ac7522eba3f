/* Trace instances of our own in tracefs. The name of one holds the pid and start time of its process, so that everybody can tell which are
 * left over: `rtassay-PID-STARTTIME`, and `rtassay-PID-STARTTIME-NAME` for a further one. */
#ifndef RTPROBE_TRACEFS_H
#define RTPROBE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where tracefs may be mounted; ends with NULL. */
extern const char *const tracefs_roots[];

/* The first of `roots` where instances can be made. NULL with a reason (a static string) in *why. */
const char *tracefs_find(const char *const *roots, const char **why);
/* The directory of an instance of a process, at most `size` bytes; returns out. `part`: "", or "-NAME" for a further one. */
char *tracefs_instance(const char *root, pid_t pid, const char *part, char *out, size_t size);
/* Writes `value` to DIRECTORY/NAME. 0 or errno. */
int tracefs_put(const char *directory, const char *name, const char *value);
/* The whole file DIRECTORY/NAME, NUL-terminated, to be freed; NULL and errno. */
char *tracefs_text(const char *directory, const char *name, size_t *length);
/* Removes an instance: its events and its ring go with it. It tries again while the instance is open somewhere, at most `patience_ns`.
 * 0 (also if there is none) or errno. */
int tracefs_remove(const char *directory, int64_t patience_ns);
/* Removes the instances of processes that are gone. It leaves alone what somebody still has open. */
void tracefs_sweep(const char *const *roots);

#endif
