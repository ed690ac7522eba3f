/* A tracer of the kernel that measures by itself (timerlat, osnoise, hwlat), in a trace instance of our own. Its settings are the same for
 * every instance: they are read first, set, read back, and put back by the keeper however the run ends. */
#ifndef RTPROBE_KERNEL_TRACER_H
#define RTPROBE_KERNEL_TRACER_H

#include <stddef.h>

#include "run/keeper.h"

enum { TRACER_PATH = 256, TRACER_SETTINGS_MOST = 8 };

struct tracer_setting {
	const char *name; /* below the root of tracefs: osnoise/cpus. Of a file of options, which has a word for each, `value` is a word */
	char value[RESTORE_VALUE];
};

struct kernel_tracer {
	const char *root; /* of tracefs */
	char directory[TRACER_PATH]; /* of the instance */
	struct keeper keeper;
	struct restore restore[TRACER_SETTINGS_MOST];
};

/* Before the first thread: makes the instance and starts the tracer `name`. 0, or an exit code after an error message (the kernel has no
 * such tracer, another one runs, a setting is refused); nothing stays changed then. `settings` ends with .name = NULL. `mask`: of the
 * instance's CPUs as tracefs takes them, NULL for all. */
int tracer_start(struct kernel_tracer *t, const char *name, const char *mask, const struct tracer_setting *settings,
		 const char *const *roots);
/* Ends the tracer, removes the instance, puts the settings back; says what could not be done. */
void tracer_stop(struct kernel_tracer *t);

#endif
