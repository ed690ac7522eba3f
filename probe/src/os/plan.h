/* From argv to checked values, driven by the table of options of a command. */
#ifndef RTPROBE_PLAN_H
#define RTPROBE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/cpus.h"

struct plan;

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
	/* OPT_CHOICE: the choices. Other types: words accepted instead of a value; word i reads as -1-i. NULL-terminated */
	const char *const *words;
	int64_t min, max;         /* inclusive; durations in ns; both 0 for no range */
	const char *standard;     /* default as one would type it, parsed like a given value; NULL: not set */
	bool required;
	const char *help;         /* one line, no full stop */
};

struct command {
	const char *name;
	const char *summary;
	const char *arguments;            /* usage text of the positional arguments, "PATH..." or NULL for none */
	int min_arguments, max_arguments; /* without those after `--` */
	bool takes_rest;                  /* `-- CMD...` is allowed and required */
	const struct option_spec *options; /* ends with .name = NULL */
	int (*run)(const struct plan *plan); /* returns the exit code (say.h) */
};

enum { MAX_OPTIONS = 40, ERROR_TEXT = 400 };

struct option_value {
	bool set;   /* given or by default */
	bool given; /* on the command line */
	int64_t number;
	const char *text; /* as typed */
	struct cpus *cpus; /* OPT_CPUS only, owned by the plan */
};

struct plan {
	const struct command *command;
	int argc; /* all of the command line, for FACTS.argv */
	char **argv;
	struct option_value value[MAX_OPTIONS]; /* as in command->options */
	char **args; /* positional, NULL-terminated */
	int n_args;
	char **rest; /* after `--`, NULL-terminated, NULL without `--` */
	int n_rest;
	char error[ERROR_TEXT]; /* why plan_parse failed */
};

/* Parses argv[2..] for `command` (argv[0] the program, argv[1] the command). 0, or -1 with plan->error.
 * Prints nothing. Free with plan_free either way. */
int plan_parse(struct plan *plan, const struct command *command, int argc, char **argv);
void plan_free(struct plan *plan);

/* By name; a name that is not in the table is a bug and aborts. */
bool plan_set(const struct plan *plan, const char *name);
bool plan_given(const struct plan *plan, const char *name);
bool plan_flag(const struct plan *plan, const char *name);
int64_t plan_number(const struct plan *plan, const char *name); /* duration ns, integer, choice index, or -1-i for word i; 0 if not set */
const char *plan_text(const struct plan *plan, const char *name); /* as typed, NULL if not set */
const struct cpus *plan_cpus(const struct plan *plan, const char *name); /* NULL if not set or a word */

#endif
