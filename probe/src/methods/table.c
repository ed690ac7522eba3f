#include <stddef.h>

#include "methods/method.h"

#define METHOD(name) extern const struct command method_##name;
#include "methods/methods.def"
#undef METHOD

const struct command *const methods[] = {
#define METHOD(name) &method_##name,
#include "methods/methods.def"
#undef METHOD
	NULL,
};
