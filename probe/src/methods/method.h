/* A way to measure is one file here, plus one line in methods.def. */
#ifndef RTPROBE_METHOD_H
#define RTPROBE_METHOD_H

#include "os/plan.h"

/* In the order of methods.def; ends with NULL. */
extern const struct command *const methods[];

#endif
