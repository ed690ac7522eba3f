/* The option parser, driven by a table that has every type. */
#include <stdlib.h>
#include <string.h>

#include "os/plan.h"
#include "os/values.h"
#include "tap.h"

static const char *const colours[] = { "red", "green", NULL };
static const char *const all[] = { "all", NULL };
static const char *const off[] = { "off", NULL };

static const struct option_spec options[] = {
	{ "interval", 'i', OPT_DURATION, "ns", NULL, 10000, 1000000000, "1ms", false, "an interval" },
	{ "count", 'n', OPT_INTEGER, "samples", NULL, 1, 100, NULL, false, "a count" },
	{ "level", 0, OPT_INTEGER, NULL, off, 0, 50, "7", false, "a level or off" },
	{ "any", 0, OPT_INTEGER, NULL, NULL, 0, 0, NULL, false, "no range" },
	{ "cpus", 0, OPT_CPUS, NULL, all, 0, 0, NULL, false, "cpus" },
	{ "colour", 'c', OPT_CHOICE, NULL, colours, 0, 0, "green", false, "a colour" },
	{ "quiet", 'q', OPT_FLAG, NULL, NULL, 0, 0, NULL, false, "a flag" },
	{ "file", 'o', OPT_TEXT, "FILE", NULL, 0, 0, NULL, false, "a file" },
	{ 0 },
};
static const struct option_spec needy[] = { { "max", 0, OPT_DURATION, "ns", NULL, 1, INT64_MAX, NULL, true, "a limit" }, { 0 } };

static const struct command plain = { .name = "plain", .options = options };
static const struct command words = { .name = "words", .options = options, .arguments = "PATH...", .min_arguments = 1, .max_arguments = 3 };
static const struct command guard = { .name = "guard", .options = needy, .takes_rest = true };

static struct plan plan;

static int parse(const struct command *command, const char *line)
{
	static char copy[512], *argv[64];
	int argc = 0;

	plan_free(&plan);
	snprintf(copy, sizeof copy, "rtprobe %s %s", command->name, line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return plan_parse(&plan, command, argc, argv);
}

static void fails(const struct command *command, const char *line, const char *expected)
{
	int rc = parse(command, line);

	OK(rc == -1 && strstr(plan.error, expected), "`%s %s` is refused: %s", command->name, line, rc ? plan.error : "no, accepted");
}

static void duration(const char *text, int64_t expected)
{
	const char *why = "";
	int64_t ns = -1;
	int rc = parse_duration(text, &ns, &why);

	OK(expected < 0 ? rc == -1 : rc == 0 && ns == expected, "duration '%s' is %lld (%s)", text, (long long)ns, why);
}

static void cpu_list(const char *text, const char *back)
{
	const char *why = "";
	struct cpus set;
	char out[100];
	int rc = parse_cpus(text, &set, &why);

	OK(back ? rc == 0 && !strcmp(format_cpus(&set, out, sizeof out), back) : rc == -1, "CPU list '%s' is %s", text, rc ? why : out);
}

static void test_values(void)
{
	duration("200us", 200000);
	duration("1.5ms", 1500000);
	duration("1h30m", INT64_C(5400000000000));
	duration("1m30s", INT64_C(90000000000));
	duration("2min", INT64_C(120000000000));
	duration("0.5ns", -1);
	duration("0.0005us", -1);
	duration("0.25h", INT64_C(900000000000));
	duration("0.001us", 1);
	duration("1.0000000000000000s", 1000000000);
	duration("1.00000000000000001s", -1);
	duration("997\xc2\xb5s", 997000);
	duration(".5s", 500000000);
	duration("5.s", INT64_C(5000000000));
	duration("0s", 0);
	duration("50000d", INT64_C(4320000000000000000));
	duration("60000d", -1);
	duration("", -1);
	duration("5", -1);
	duration("s", -1);
	duration("-5s", -1);
	duration("5 s", -1);
	duration("5sx", -1);
	duration("99999999999999999999s", -1);
	duration("40000d20000d", -1);
	cpu_list("0", "0");
	cpu_list("0-3,5", "0-3,5");
	cpu_list("0-6:2", "0,2,4,6");
	cpu_list("3,1,2", "1-3");
	cpu_list("4095", "4095");
	cpu_list("4096", NULL);
	cpu_list("3-1", NULL);
	cpu_list("0-6:0", NULL);
	cpu_list("", NULL);
	cpu_list("1,", NULL);
	cpu_list("1-", NULL);
	cpu_list("a", NULL);
	cpu_list("99999999999999", NULL);
}

static void test_good(void)
{
	OK(!parse(&plain, "") && plan_number(&plan, "interval") == 1000000 && !plan_given(&plan, "interval"), "defaults");
	OK(!plan_set(&plan, "count") && !plan_flag(&plan, "quiet") && !plan_cpus(&plan, "cpus") && !plan_text(&plan, "file"), "not set");
	OK(plan_number(&plan, "colour") == 1 && plan_number(&plan, "level") == 7, "a choice is its index");
	OK(!parse(&plain, "--interval 20us --count 5") && plan_number(&plan, "interval") == 20000 && plan_number(&plan, "count") == 5,
	   "--option value");
	OK(!parse(&plain, "--interval=20us --count=5 --colour=red") && plan_number(&plan, "interval") == 20000 &&
		   plan_number(&plan, "colour") == 0,
	   "--option=value");
	OK(!parse(&plain, "-i 30us -n7 -q -c red -ofile") && plan_number(&plan, "interval") == 30000 && plan_number(&plan, "count") == 7 &&
		   plan_flag(&plan, "quiet") && !strcmp(plan_text(&plan, "file"), "file"),
	   "letters, with and without a space");
	OK(!parse(&plain, "--level off") && plan_number(&plan, "level") == -1, "a word beside a number reads as -1");
	OK(!parse(&plain, "--any -5") && plan_number(&plan, "any") == -5, "a negative number is a value");
	OK(!parse(&plain, "--cpus 0-1") && cpus_count(plan_cpus(&plan, "cpus")) == 2, "a CPU list");
	OK(!parse(&plain, "--cpus 0-1 --cpus all") && !plan_cpus(&plan, "cpus") && plan_number(&plan, "cpus") == -1, "the last one counts");
	OK(!parse(&plain, "--interval 10us") && !parse(&plain, "--interval 1s") && !parse(&plain, "--count 1") &&
		   !parse(&plain, "--count 100"),
	   "both ends of a range belong to it");
	OK(!parse(&words, "a -q b") && plan.n_args == 2 && !strcmp(plan.args[1], "b") && !plan.args[2], "arguments among options");
	OK(!parse(&words, "a -- -q b") && plan.n_rest == 2 && !strcmp(plan.rest[0], "-q"), "after -- nothing is an option");
	OK(!parse(&guard, "--max 5s -- sleep 1 --max") && plan.n_rest == 3 && plan_number(&plan, "max") == INT64_C(5000000000),
	   "a command after --");
}

static void test_bad(void)
{
	fails(&plain, "--intervall 1ms", "did you mean --interval?");
	fails(&plain, "--interv 1ms", "did you mean --interval?");
	fails(&plain, "--zzz", "no option --zzz");
	fails(&plain, "-z", "no option --z");
	fails(&plain, "--interval", "needs a value");
	fails(&plain, "--interval 5", "has no unit");
	fails(&plain, "--interval 5us", "--interval 5us is out of range: 10us to 1s");
	fails(&plain, "--interval 2s", "--interval 2s is out of range");
	fails(&plain, "--interval=", "not a duration");
	fails(&plain, "--count 0", "--count 0 is out of range: 1 to 100 samples");
	fails(&plain, "--count 101", "out of range");
	fails(&plain, "--count five", "not a whole number");
	fails(&plain, "--count 5x", "not a whole number");
	fails(&plain, "--count 99999999999999999999", "too large");
	fails(&plain, "--level on", "write a number or off");
	fails(&plain, "--cpus 1-", "not a CPU list");
	fails(&plain, "--colour blue", "not one of: red, green");
	fails(&plain, "--quiet=1", "takes no value");
	fails(&plain, "--file=", "empty");
	fails(&plain, "more", "one argument too many");
	fails(&plain, "-- more", "takes nothing after `--`");
	fails(&words, "", "needs PATH...");
	fails(&words, "a b c d", "'d' is one argument too many");
	fails(&guard, "-- sleep 1", "needs --max");
	fails(&guard, "--max 5s", "needs a command");
}

int main(void)
{
	char out[24];

	test_values();
	test_good();
	test_bad();
	OK(!strcmp(format_time(997000, out), "997us") && !strcmp(format_time(812, out), "812ns") &&
		   !strcmp(format_time(INT64_C(90000000000), out), "90s") && !strcmp(format_time(INT64_C(3600000000000), out), "1h"),
	   "times for people");
	plan_free(&plan);
	return tap_end();
}
