/* Room 1: a command of rtprobe is one file that ends in one struct, plus one line in kinds.def.
 * Options are data: parsing, ranges, --help and `rtprobe describe` all come from the same table.
 */
#ifndef RTPROBE_KIND_H
#define RTPROBE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "../plan.h"

enum option_type {
	OPT_FLAG,     /* no value; 1 when given */
	OPT_DURATION, /* 200us, 1.5ms, 1h30m: nanoseconds; the unit is required */
	OPT_INTEGER,
	OPT_CPUS,     /* 0-3,5 (plan_cpus) */
	OPT_CHOICE,   /* one of `words`; the value is its index */
	OPT_TEXT,     /* any text, a path for example (plan_text) */
};

struct option_spec {
	const char *name;         /* without the dashes */
	char letter;              /* short form, or 0 */
	enum option_type type;
	const char *unit;         /* for people: "ns", "us", "samples"; NULL for none */
	const char *const *words; /* OPT_CHOICE: the choices. Other types: words accepted beside a value; word i reads as -1-i. NULL-terminated */
	int64_t min, max;         /* inclusive; durations in ns; both 0 for no range */
	const char *standard;     /* default as one would type it, parsed like a given value; NULL: not set */
	bool required;
	const char *help;         /* one line, no full stop */
};

struct kind {
	const char *name;
	const char *summary;
	const char *arguments;            /* usage text of the positional arguments, "PATH..." or NULL for none */
	int min_arguments, max_arguments; /* without those after `--` */
	bool takes_rest;                  /* `-- CMD...` is allowed and required */
	const struct option_spec *options; /* ends with .name = NULL */
	bool measures;                    /* a way to measure (in `describe`), not a helper */
	int (*run)(const struct plan *plan); /* returns the exit code (say.h) */
};

#define KIND(name) extern const struct kind kind_##name;
#include "kinds.def"
#undef KIND

/* All commands in the order of kinds.def; ends with NULL. */
extern const struct kind *const kinds[];

#endif
