/* Hostile content for the sources of watch: records, gaps, names, words. */
#include <stdlib.h>

#include <unistd.h>

#include "hostile_kmsg.h"
#include "os/procstat.h"
#include "tap.h"
#include "sources/targets.h"

#define R(text) { text, sizeof text - 1, 0 }
#define E(error) { NULL, 0, error }

static struct kmsg kmsg = { .fd = -1 };
static char frame[64];
static bool more;

/* One frame of at most `size` bytes. Like the watch, it gives room for one more byte, to see a cut. */
static ssize_t next(size_t size)
{
	memset(frame, 0, sizeof frame);
	more = false;
	errno = 0;
	return kmsg_read(&kmsg, frame, size + 1, &more);
}

static void begin(const struct fake_record *records, size_t n)
{
	fake_records = records;
	fake_left = n;
	kmsg = (struct kmsg){ .fd = -1 };
}

static void test_kmsg(void)
{
	static const struct fake_record plain[] = { R("6,1,5,-;one\n SUBSYSTEM=x\n"), E(EINTR), R("6,2,6,-;two\n"), R("6,3,7,-;three") };
	static const struct fake_record gap[] = { R("a;1\n"), E(EPIPE), R("b;2\n"), E(EPIPE), E(EPIPE), E(EIO), R("c;3\n") };
	static const struct fake_record longer[] = { R("0123456789\n"), R("x\n") };

	begin(plain, 4);
	OK(next(40) == 38 && !strcmp(frame, "6,1,5,-;one\n6,2,6,-;two\n6,3,7,-;three\n") && !more, "lines of the records, nothing else");
	OK(next(40) == 0 && !more, "then nothing new");
	begin(plain, 4);
	OK(next(24) == 24 && more, "as many whole lines as a frame holds");
	OK(next(24) == 14 && !more && !strcmp(frame, "6,3,7,-;three\n"), "and the rest in the next one");
	begin(plain, 4);
	OK(next(23) == 12 && more && next(23) == 12 && more && next(23) == 14 && !more, "never a part of a line");
	begin(gap, 7);
	OK(next(40) == 4 && more && !strcmp(frame, "a;1\n"), "what came before a gap comes first");
	OK(next(40) == -1 && errno == EPIPE && more, "then the gap");
	OK(next(40) == 4 && more && !strcmp(frame, "b;2\n"), "then what is behind it");
	OK(next(40) == -1 && errno == EPIPE && more && next(40) == -1 && errno == EPIPE && more, "two gaps are two");
	OK(next(40) == -1 && errno == EIO && !more, "another error ends the reading");
	OK(next(40) == 4 && !more, "and the next reading goes on");
	begin(longer, 2);
	OK(next(5) == 6 && more && !memcmp(frame, "012345", 6), "a record too long for any frame is cut, which the watch sees");
	OK(next(5) == 2 && !more, "and costs nothing but itself");
}

static void test_kmsg_of_many(void)
{
	static struct fake_record many[10000];
	unsigned frames = 0, lines = 0, readings = 0;

	for (size_t i = 0; i < 10000; i++)
		many[i] = (struct fake_record)R("x\n");
	begin(many, 10000);
	do {
		frames++;
		lines += (unsigned)next(60) / 2;
	} while (more);
	OK(lines == 10000 && frames > 100 && !fake_left, "the first reading has all that the log holds, for it may be the only one");
	begin(many, 10000);
	kmsg.begun = true;
	for (lines = 0; fake_left || more; readings += !more)
		lines += (unsigned)next(60) / 2;
	OK(lines == 10000 && readings == 3, "a flood later on is dealt out over the readings");
}

static void test_stat(void)
{
	static const char line[] =
		"7 (a) S (b) R 1 22 333 -1 -1 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 "
		"36 37 38 39";
	static const char *const bad[] = { "", "no brackets", "1 )(", "1 (a)", "1 (a) ", ") (a" };
	struct procstat s;

	OK(procstat_parse(line, &s) && !strcmp(s.name, "a) S (b") && s.state == 'R', "a name with brackets ends at the last one");
	OK(s.ppid == 1 && s.pgrp == 22 && s.minor_faults == 6 && s.major_faults == 8 && s.user_ticks == 10 && s.system_ticks == 11 &&
		   s.waited_ticks == 12 + 13 && s.threads == 16 && s.start_ticks == 18,
	   "fields are those of proc(5)");
	OK(s.cpu == 35 && s.priority == 36 && s.policy == 37, "and the last ones, too");
	OK(procstat_parse("7 (x) S 3 -1", &s) && s.ppid == 3 && s.pgrp == -1 && s.start_ticks == 0 && s.policy == 0,
	   "what is not there is 0");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		OK(!procstat_parse(bad[i], &s), "`%s` is no stat line", bad[i]);
	OK(procstat_read("/proc/self/stat", &s) && s.ppid == getppid() && s.start_ticks == process_start(getpid()), "this process");
	OK(!s.kept && procstat_parse("7 (x) S 2 0 0 0 -1 69238880", &s) && s.kept,
	   "a worker of the kernel is kept on its CPUs, we are not");
	OK(!process_start(-1), "no process has no start");
}

static void test_targets(void)
{
	struct targets t = { 0 };

	OK(!targets_add(&t, "2s:/a") && !targets_add(&t, "/b") && !targets_add(&t, "1s:/a") && !targets_add(&t, "9s:/b") &&
		   !targets_add(&t, "3s:@msr:0x34") && !targets_add(&t, "@run:a b:c") && !targets_unique(&t),
	   "words are taken");
	OK(t.n == 4 && !strcmp(t.list[0].name, "/a") && t.list[0].period_ns == 1000000000, "the shortest period of two");
	OK(!strcmp(t.list[1].name, "/b") && t.list[1].period_ns == 0, "each reading beats any period");
	OK(!strcmp(t.list[2].name, "@msr:0x34") && t.list[2].source && !strcmp(t.list[2].argument, "0x34"), "a source with its argument");
	OK(!strcmp(t.list[3].name, "@run:a b:c") && !strcmp(t.list[3].argument, "a b:c"), "colons in an argument stay");
	targets_free(&t);
}

int main(void)
{
	test_kmsg();
	test_kmsg_of_many();
	test_stat();
	test_targets();
	return tap_end();
}
