/* A command of rtprobe is one file here that ends in one struct command, plus one line in commands.def.
 * Options are data: parsing, ranges, --help and `rtprobe describe` all come from the same table.
 */
#ifndef RTPROBE_COMMAND_H
#define RTPROBE_COMMAND_H

#include "os/plan.h"

/* In the order of commands.def; ends with NULL. */
extern const struct command *const commands[];

#endif
