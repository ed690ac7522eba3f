#include <stddef.h>

#include "methods/methods.h"

#define METHOD(name) extern const struct method method_##name;
#include "methods/methods.def"
#undef METHOD

const struct method *const methods[] = {
#define METHOD(name) &method_##name,
#include "methods/methods.def"
#undef METHOD
	NULL,
};
