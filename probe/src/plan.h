/* From argv to checked values, driven by a kind's table of options. */
#ifndef RTPROBE_PLAN_H
#define RTPROBE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kind;
struct option_spec;

enum { MAX_CPUS = 4096, MAX_OPTIONS = 40, ERROR_TEXT = 400 };

struct cpus {
	uint64_t bits[MAX_CPUS / 64];
};

static inline bool cpus_has(const struct cpus *set, int cpu)
{
	return cpu >= 0 && cpu < MAX_CPUS && (set->bits[cpu / 64] >> (cpu % 64) & 1);
}
static inline void cpus_add(struct cpus *set, int cpu)
{
	set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}
int cpus_count(const struct cpus *set);
int cpus_next(const struct cpus *set, int after); /* first member > after, -1 at the end; start with -1 */

struct option_value {
	bool set;   /* given or by default */
	bool given; /* on the command line */
	int64_t number;
	const char *text; /* as typed */
	struct cpus *cpus; /* OPT_CPUS only, owned by the plan */
};

struct plan {
	const struct kind *kind;
	int argc; /* all of the command line, for FACTS.argv */
	char **argv;
	struct option_value value[MAX_OPTIONS]; /* as in kind->options */
	char **args; /* positional, NULL-terminated */
	int n_args;
	char **rest; /* after `--`, NULL-terminated, NULL without `--` */
	int n_rest;
	char error[ERROR_TEXT]; /* why plan_parse failed */
};

/* Parses argv[2..] for `kind` (argv[0] the program, argv[1] the command). 0, or -1 with plan->error.
 * Prints nothing. Free with plan_free either way. */
int plan_parse(struct plan *plan, const struct kind *kind, int argc, char **argv);
void plan_free(struct plan *plan);

/* By name; a name that is not in the table is a bug and aborts. */
bool plan_set(const struct plan *plan, const char *name);
bool plan_given(const struct plan *plan, const char *name);
bool plan_flag(const struct plan *plan, const char *name);
int64_t plan_number(const struct plan *plan, const char *name); /* duration ns, integer, choice index, or -1-i for word i; 0 if not set */
const char *plan_text(const struct plan *plan, const char *name); /* as typed, NULL if not set */
const struct cpus *plan_cpus(const struct plan *plan, const char *name); /* NULL if not set or a word */

/* The parsers by themselves. 0, or -1 with a reason (a static string) in *why. */
int parse_duration(const char *text, int64_t *ns, const char **why);
int parse_integer(const char *text, int64_t *number, const char **why);
int parse_cpus(const char *text, struct cpus *set, const char **why);

/* The shortest list parse_cpus reads back, at most `size` bytes with the NUL; returns out. */
char *format_cpus(const struct cpus *set, char *out, size_t size);
/* 812ns, 97.3us, 1.25ms, 12.5s: for people; at most 24 bytes. */
char *format_time(int64_t ns, char out[24]);

#endif
