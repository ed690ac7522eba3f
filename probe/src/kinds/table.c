#include <stddef.h>

#include "kind.h"

const struct kind *const kinds[] = {
#define KIND(name) &kind_##name,
#include "kinds.def"
#undef KIND
	NULL,
};
