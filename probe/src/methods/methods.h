/* The ways to measure. */
#ifndef RTPROBE_METHODS_H
#define RTPROBE_METHODS_H

#include "run/method.h"

/* In the order of methods.def; ends with NULL. */
extern const struct method *const methods[];

#endif
