/* `rtprobe METHOD`: each way to measure as a command. */
#ifndef RTPROBE_MEASURE_H
#define RTPROBE_MEASURE_H

#include "os/plan.h"

/* The command of the method of this name, with its own settings and the shared ones; NULL: there is no such method. */
const struct command *measure_command(const char *name);

#endif
