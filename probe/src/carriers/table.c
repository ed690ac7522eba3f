#include <stddef.h>

#include "carriers/carrier.h"

#define CARRIER(id, name) extern const struct carrier carrier_##id;
#include "carriers/carriers.def"
#undef CARRIER

const struct carrier *const carriers[] = {
#define CARRIER(id, name) &carrier_##id,
#include "carriers/carriers.def"
#undef CARRIER
};

const char *const carrier_names[] = {
#define CARRIER(id, name) name,
#include "carriers/carriers.def"
#undef CARRIER
	NULL,
};
