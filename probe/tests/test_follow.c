/* The wake-ups of followed threads, as far as they need no tracefs: records of pages, the rule of a wake-up, the list of threads. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "follow/records.h"
#include "follow/roster.h"
#include "follow/wakeups.h"
#include "os/rt.h"
#include "stream/emit.h"
#include "tap.h"

enum { PAGE = 4096, WAKING = 310, SWITCH = 316 };

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
static const char of_switch[] = "name: sched_switch\nID: 316\nformat:\n"
				"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
				"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
				"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
				"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
				"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
				"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
static const char of_waking[] = "name: sched_waking\nID: 310\nformat:\n"
				"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
				"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

static struct records layout;

/* --- pages --- */

struct writing {
	unsigned char page[PAGE];
	size_t at;
};

static void record_word(struct writing *w, uint32_t type, uint32_t delta)
{
	put_u32(w->page + w->at, type | delta << 5);
	w->at += 4;
}

static void add_switch(struct writing *w, uint32_t delta, int out, uint64_t state, int into)
{
	record_word(w, 64 / 4, delta);
	put_u16(w->page + w->at, SWITCH);
	put_u32(w->page + w->at + 24, (uint32_t)out);
	put_u64(w->page + w->at + 32, state);
	put_u32(w->page + w->at + 56, (uint32_t)into);
	w->at += 64;
}

static void add_waking(struct writing *w, uint32_t delta, int pid)
{
	record_word(w, 32 / 4, delta);
	put_u16(w->page + w->at, WAKING);
	put_u32(w->page + w->at + 24, (uint32_t)pid);
	w->at += 32;
}

static struct writing begin_page(uint64_t ns)
{
	struct writing w = { .at = 16 };

	put_u64(w.page, ns);
	return w;
}

static size_t read_page(struct writing *w, uint64_t flags, struct moment *out)
{
	put_u64(w->page + 8, (w->at - 16) | flags);
	return records_read(&layout, w->page, PAGE, 3, out, PAGE / 8);
}

static void test_records(void)
{
	static struct moment m[PAGE / 8];
	struct writing w = begin_page(1000);
	char *broken;
	size_t n;

	OK(!records_layout(&layout, header_page, of_switch, of_waking) && layout.commit_at == 8 && layout.commit_size == 8 &&
		   layout.data_at == 16 && layout.switch_id == SWITCH && layout.waking_id == WAKING && layout.woken.offset == 24 &&
		   layout.out_state.size == 8,
	   "the places of the fields are read from the kernel's texts");
	broken = strdup(of_switch);
	memcpy(strstr(broken, "next_pid"), "next_did", 8);
	OK(records_layout(&layout, header_page, broken, of_waking) && records_layout(&layout, "", of_switch, of_waking) &&
		   records_layout(&layout, header_page, of_switch, "no format"),
	   "texts without a field are refused");
	free(broken);
	records_layout(&layout, header_page, of_switch, of_waking);

	add_waking(&w, 5, 77);
	record_word(&w, 30, 1); /* a time extend of 1 + 2 * 2^27 ns */
	put_u32(w.page + w.at, 2);
	w.at += 4;
	add_switch(&w, 10, 5, 1, 77);
	add_switch(&w, 10, 77, 0x100, 5); /* preempted, and still runnable */
	record_word(&w, 12 / 4, 1);       /* another event */
	put_u32(w.page + w.at, 999);
	w.at += 12;
	n = read_page(&w, 0, m);
	OK(n == 3 && m[0].kind == MOMENT_WAKING && m[0].ns == 1005 && m[0].tid == 77 && m[0].cpu == 3, "a waking");
	OK(m[1].kind == MOMENT_SWITCH && m[1].ns == 1016 + 2 * INT64_C(134217728) && m[1].out == 5 && !m[1].out_runnable && m[1].tid == 77,
	   "a switch after a long time, from a thread that sleeps");
	OK(m[2].out == 77 && m[2].out_runnable && m[2].tid == 5, "a switch from a thread that was preempted");
	n = read_page(&w, UINT64_C(1) << 31, m);
	OK(n == 4 && m[0].kind == MOMENT_LOSS && m[0].ns == 1000, "events that were lost before a page are told first");
	put_u64(w.page + 8, w.at - 16 - 4);
	n = records_read(&layout, w.page, PAGE, 3, m, PAGE / 8);
	OK(n == 4 && m[3].kind == MOMENT_LOSS, "a record that does not fit ends in a loss");
}

/* Any bytes: no read outside of the page, and no moment without a place. */
static void test_any_bytes(void)
{
	static struct moment m[PAGE / 8];
	uint32_t draw = 1;
	size_t most = 0;

	for (int round = 0; round < 20000; round++) {
		const size_t size = 16 + (draw >> 8) % 300;
		unsigned char *page = malloc(size); /* its own, so that a sanitizer sees what is outside */

		for (size_t i = 0; i < size; i++) {
			draw = draw * 1664525 + 1013904223;
			page[i] = (unsigned char)(draw >> 24);
		}
		if (round % 2)
			put_u64(page + 8, size - 16);
		{
			const size_t n = records_read(&layout, page, size, 0, m, size / 8);

			most = n > most ? n : most;
		}
		free(page);
	}
	OK(most <= 40, "pages of any bytes give no more moments than they have room for");
}

/* --- wake-ups --- */

static struct moment waking(int64_t ns, int tid)
{
	return (struct moment){ .ns = ns, .tid = tid, .kind = MOMENT_WAKING };
}

static struct moment change(int64_t ns, int out, bool runnable, int into)
{
	return (struct moment){ .ns = ns, .tid = into, .out = out, .out_runnable = runnable, .cpu = 1, .kind = MOMENT_SWITCH };
}

/* Feeds the moments; the number of wake-ups, the last of them in *found. */
static int feed(struct wakeups *w, struct wakeup *found, const struct moment *m, size_t n)
{
	int seen = 0;

	for (size_t i = 0; i < n; i++)
		seen += wakeups_take(w, &m[i], found);
	return seen;
}
#define FEED(w, found, ...)                                                                                                                \
	feed(w, found, (struct moment[]){ __VA_ARGS__ }, sizeof (struct moment[]){ __VA_ARGS__ } / sizeof(struct moment))

static void test_wakeups(void)
{
	static struct wakeups w;
	struct wakeup found = { 0 };

	w = (struct wakeups){ .tid = 7 };
	OK(FEED(&w, &found, waking(100, 7), waking(120, 8), change(150, 8, true, 7)) == 1 && found.woken_ns == 100 && found.ran_ns == 150 &&
		   found.cpu == 1,
	   "a wake-up lasts from the waking until the thread gets a CPU");
	OK(FEED(&w, &found, change(200, 7, true, 8), change(300, 8, true, 7)) == 0, "a thread that was preempted was not woken");
	OK(FEED(&w, &found, waking(310, 7), change(320, 7, true, 8), change(400, 8, false, 7)) == 0,
	   "a waking of a thread that runs on means nothing");
	OK(FEED(&w, &found, waking(410, 7), change(415, 7, false, 8), change(500, 8, false, 7)) == 1 && found.woken_ns == 410,
	   "one that comes while the thread goes to sleep counts");
	OK(FEED(&w, &found, waking(510, 7), change(515, 7, false, 8), waking(600, 7), change(650, 8, false, 7)) == 1 &&
		   found.woken_ns == 600,
	   "unless another one follows: then it meant the sleep before");
	OK(FEED(&w, &found, change(700, 7, false, 0), waking(710, 7), { .ns = 715, .kind = MOMENT_LOSS }, change(720, 0, true, 7)) == 0,
	   "where events were lost no wake-up is told");
	OK(w.n == 3 && w.min_ns == 50 && w.max_ns == 90 && w.sum_ns == 190, "their number and sum");
}

static void test_levels(void)
{
	static struct wakeups w;
	struct wakeup found;
	int64_t middle_ns;

	w = (struct wakeups){ .tid = 7 };
	OK(wakeups_level(&w) == WAKEUPS_NO_LEVEL && wakeups_quantile(&w, 1, 2) == 0, "without wake-ups there is no level");
	for (int64_t i = 1; i <= 20; i++)
		FEED(&w, &found, waking(i * 1000000, 7), change(i * 1000000 + 5000 + i, 0, true, 7),
		     change(i * 1000000 + 9000, 7, false, 0));
	middle_ns = wakeups_quantile(&w, 1, 2);
	OK(wakeups_level(&w) == 8 * middle_ns && middle_ns > 4840 && middle_ns <= 5010, "few wake-ups: 8 x the median, to within 3 %%");
	for (int64_t i = 21; i <= 2000; i++)
		FEED(&w, &found, waking(i * 1000000, 7), change(i * 1000000 + (i == 2000 ? INT64_C(5000000000) : 6000), 0, true, 7),
		     change(i * 1000000 + 9000, 7, false, 0));
	OK(wakeups_level(&w) == 4 * wakeups_quantile(&w, 999, 1000) && wakeups_quantile(&w, 999, 1000) <= 6000 &&
		   wakeups_quantile(&w, 999, 1000) > 5800 && w.max_ns == INT64_C(5000000000),
	   "many: 4 x the p99.9");
}

/* --- the list of threads --- */

static int go[2];

static void *nothing(void *tid)
{
	*(pid_t *)tid = (pid_t)syscall(SYS_gettid);
	return NULL;
}

static void *wait_for_go(void *unused)
{
	char none;

	prctl(PR_SET_NAME, "follow-test");
	return read(go[0], &none, 1) < 0 ? unused : NULL;
}

static void test_roster(void)
{
	static struct roster r, named, other;
	pthread_t thread;
	int tries = 0, own;
	pid_t child;

	/* With the first thread the thread sanitizer starts one of its own, which stays. */
	pthread_create(&thread, NULL, nothing, &child);
	pthread_join(thread, NULL);
	while (!syscall(SYS_tgkill, getpid(), child, 0)) /* it is still in /proc for a moment */
		usleep(1000);
	if (pipe(go) || roster_open(&r, getpid(), NULL))
		abort();
	r.self = 0;
	own = roster_scan(&r);
	OK(own >= 1 && r.n == own && r.list[0]->wakeups.tid == getpid() && roster_lane(&r, getpid()) == 0, "the threads of a process");
	OK(roster_lane(&r, 1) == -1 && roster_lane(&r, 0) == -1 && roster_lane(&r, 999999999) == -1, "others are not followed");
	pthread_create(&thread, NULL, wait_for_go, NULL);
	OK(roster_scan(&r) == own + 1 && r.n == own + 1, "a new thread is found");
	roster_open(&named, 0, "follow-test");
	named.self = 0;
	while (roster_scan(&named) == 0 && tries++ < 1000) /* until it has its name */
		usleep(1000);
	OK(named.n == 1 && named.list[0]->wakeups.tid == r.list[own]->wakeups.tid && named.list[0]->pid == getpid(),
	   "a single thread by its name");
	if (write(go[1], "x", 1) != 1)
		abort();
	pthread_join(thread, NULL);
	for (tries = 0; roster_scan(&r) > own && tries < 1000; tries++)
		usleep(1000);
	OK(!r.list[0]->gone && r.list[own]->gone && r.n == own + 1, "a thread that ended keeps its lane");
	roster_turns(&r);
	OK(r.list[0]->last.ran_ns >= r.list[0]->at_first.ran_ns, "the turns of /proc never go back");

	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	roster_open(&other, child, NULL);
	own = roster_scan(&other); /* the thread sanitizer may start one of its own in there too */
	OK(own >= 1 && other.n == own && other.list[0]->wakeups.tid == child, "another process");
	kill(child, SIGKILL);
	for (tries = 0; roster_scan(&other) && tries < 1000; tries++)
		usleep(1000);
	OK(roster_scan(&other) == 0, "a process that was killed has no threads, also before its parent has waited for it");
	waitpid(child, NULL, 0);
}

int main(void)
{
	test_records();
	test_any_bytes();
	test_wakeups();
	test_levels();
	test_roster();
	return tap_end();
}
