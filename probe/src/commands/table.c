#include <stddef.h>

#include "commands/command.h"

#define COMMAND(name) extern const struct command command_##name;
#include "commands/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "commands/commands.def"
#undef COMMAND
	NULL,
};
