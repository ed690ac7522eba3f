/* The kernel's trace around late wake-ups, as far as it needs no tracefs: hits, the choice of pages, addresses, leftover instances. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/procstat.h"
#include "os/tracefs.h"
#include "run/account.h"
#include "run/addresses.h"
#include "run/choice.h"
#include "run/keeper.h"
#include "run/pages.h"
#include "run/stacks.h"
#include "tap.h"

enum { MS = 1000000, PAGE = 4096 };

/* --- hits --- */

static struct hits hits;
static _Atomic int over;

static void *produce(void *unused)
{
	(void)unused;
	for (uint64_t k = 0; k < 300000; k++) {
		hits_put(&hits, &(struct hit){ .k = k, .due_ns = (int64_t)k * 7, .woke_ns = (int64_t)k * 9 });
		if (k % 200 == 0)
			sched_yield();
	}
	atomic_store(&over, 1);
	return NULL;
}

static void test_hits(void)
{
	uint64_t got = 0, bad = 0, next = 0;
	struct hit hit;
	pthread_t thread;
	bool last = false;

	OK(!hits_take(&hits, &hit), "no hit at first");
	for (int i = 0; i < HITS + 3; i++)
		hits_put(&hits, &(struct hit){ .k = (uint64_t)i });
	for (; hits_take(&hits, &hit); got++)
		bad += hit.k != got;
	OK(got == HITS && !bad && hits.refused == 3, "a full ring refuses hits and counts them");
	memset(&hits, 0, sizeof hits);
	pthread_create(&thread, NULL, produce, NULL);
	got = bad = 0;
	do {
		last = atomic_load(&over);
		for (; hits_take(&hits, &hit); got++, next = hit.k + 1)
			bad += hit.k < next || hit.due_ns != (int64_t)hit.k * 7 || hit.woke_ns != (int64_t)hit.k * 9;
	} while (!last);
	pthread_join(thread, NULL);
	OK(!bad && got + hits.refused == 300000, "between two threads each hit arrives whole, once and in order, or is counted");
}

static void test_account(void)
{
	static struct run run = { .interval_ns = 1000, .trace = true, .n_lanes = 1 };
	static struct lane lane = {
		.run = &run, .index = 2, .cpu = 3, .tid = 77, .limit = 100, .traced_k = 4, .first_due_ns = 5000, .state = LANE_RUNNING
	};
	struct account a;
	struct hit hit;

	if (ring_open(&lane.ring, 1024))
		abort();
	lane.hits.level_ns = HITS_OFF;
	lane.stats[0] = (struct lane_stats){ .min_ns = INT64_MAX, .max_ns = INT64_MIN };
	a = account_begin(&lane);
	account_add(&a, 10, 5010);
	account_add(&a, INT64_C(5000000000), 0); /* more than 32 bits of ns, and cut by the limit of 100 */
	OK(!hits_take(&lane.hits, &hit), "no hit while the events are off, however late");
	OK(lane.untraced.count == 0 && !lane.was_traced, "the untraced part goes on");

	lane.published = 0;
	lane.stats[0] = (struct lane_stats){ .min_ns = INT64_MAX, .max_ns = INT64_MIN };
	lane.clipped = lane.was_traced = 0;
	a = account_begin(&lane);
	account_add(&a, 10, 5010);
	account_add(&a, 3500, 9500); /* k = 1; misses 2, 3 and 4 */
	lane.hits.level_ns = 200;
	account_add(&a, 199, 10199); /* k = 5 */
	OK(lane.was_traced && lane.untraced.next_k == 5 && lane.untraced.count == 2 && lane.untraced.missed == 3 &&
		   lane.untraced.max_ns == 3500 && lane.untraced.sum_ns == 3510,
	   "what the last untraced sample missed belongs to the untraced part");
	account_add(&a, 200, 11200);
	OK(hits_take(&lane.hits, &hit) && hit.k == 6 && hit.due_ns == 11000 && hit.woke_ns == 11200 && hit.level_ns == 200 &&
		   hit.lane == 2 && hit.cpu == 3 && hit.tid == 77 && !hits_take(&lane.hits, &hit),
	   "a hit has its place, its times, its level and its thread");
	ring_close(&lane.ring);
}

/* --- pages --- */

static struct {
	int cpu;
	int64_t start_ns;
} kept[64];
static int n_kept;

static void keep(void *context, int cpu, const void *page, size_t size)
{
	(void)context;
	if (size != PAGE || n_kept == 64)
		abort();
	kept[n_kept].cpu = cpu;
	memcpy(&kept[n_kept++].start_ns, page, 8);
}

static void add_page(struct pages *p, int64_t start_ns, bool missed, const struct pick *pick)
{
	const uint64_t commit = 100 | (missed ? UINT64_C(1) << 31 : 0);

	memcpy(pages_next(p), &start_ns, 8);
	memcpy(pages_next(p) + 8, &commit, 8);
	pages_add(p, pick);
}

static struct pending pending_at(int cpu, int64_t due_ns, int64_t woke_ns)
{
	return (struct pending){ .hit = { .due_ns = due_ns, .woke_ns = woke_ns, .cpu = cpu } };
}

static void test_pages(void)
{
	struct pending hit = pending_at(3, 100 * MS, 105 * MS);
	struct pick pick = { .pending = &hit, .n = 1, .keep = keep };
	struct pages p;

	if (pages_open(&p, 3, PAGE, 4))
		abort();
	add_page(&p, 90 * MS, true, &pick);
	add_page(&p, 97 * MS, false, &pick);  /* ends at 99, inside the 2 ms before the due time */
	add_page(&p, 99 * MS, false, &pick);
	add_page(&p, 103 * MS, false, &pick);
	add_page(&p, 106 * MS, false, &pick); /* begins after the wake-up */
	pages_end(&p, 110 * MS, &pick);
	OK(n_kept == 3 && kept[0].start_ns == 97 * MS && kept[1].start_ns == 99 * MS && kept[2].start_ns == 103 * MS,
	   "the pages from 2 ms before the due time until the wake-up, no others");
	OK(pending_is_captured(&hit), "a hit is captured although events were lost long before it");

	hit = pending_at(3, 104 * MS, 112 * MS);
	n_kept = 0;
	pages_again(&p, &pick);
	OK(n_kept == 1 && kept[0].start_ns == 106 * MS, "a later hit gets what was read before, but no page twice");
	add_page(&p, 111 * MS, false, &pick);
	pages_end(&p, 120 * MS, &pick);
	OK(n_kept == 2 && kept[1].start_ns == 111 * MS && pending_is_captured(&hit), "and what is read now");

	hit = pending_at(3, 98 * MS, 112 * MS);
	pages_again(&p, &pick);
	OK(!pending_is_captured(&hit), "a hit whose time was read and forgotten is not captured");

	hit = pending_at(3, 121 * MS, 130 * MS);
	add_page(&p, 125 * MS, true, &pick);
	pages_end(&p, 140 * MS, &pick);
	OK(hit.own_pages && !pending_is_captured(&hit), "nor is one in whose time events were lost");

	hit = pending_at(2, 141 * MS, 150 * MS);
	n_kept = 0;
	add_page(&p, 145 * MS, true, &pick);
	pages_end(&p, 160 * MS, &pick);
	OK(n_kept == 1 && kept[0].cpu == 3 && !hit.lost, "pages of other CPUs are kept; what they lost does not matter");
	OK(!pending_is_captured(&hit), "without a page of its own CPU a hit is not captured");

	hit = pending_at(3, 200 * MS, 900 * MS);
	for (int i = 0; i <= PAGES_PER_HIT; i++) {
		n_kept = 0;
		add_page(&p, (200 + i) * MS, false, &pick);
	}
	OK(n_kept == 1 && pending_is_captured(&hit), "a long hit gets many pages");
	n_kept = 0;
	pages_end(&p, 900 * MS, &pick);
	OK(!pending_is_captured(&hit) && n_kept == 0, "one hit gets a limited number of pages of its CPU");
	pages_close(&p);
}

/* --- the limits of a second --- */

static struct choice choice;

/* A hit of this lane that is `us` long; true: it is chosen, and the last one. */
static bool offer(int lane, uint64_t k, int64_t us, int64_t now_ns)
{
	choice_offer(&choice, &(struct hit){ .k = k, .lane = lane, .woke_ns = us * 1000 }, now_ns);
	return choice.n && choice.pending[choice.n - 1].hit.lane == lane && choice.pending[choice.n - 1].hit.k == k;
}

static void test_choice(void)
{
	uint64_t chosen = 0;

	choice_begin(&choice);
	for (uint64_t k = 0; k < HITS_PER_SECOND + 5; k++)
		chosen += offer(0, k, 300, 1000 * (int64_t)MS);
	OK(chosen == HITS_PER_SECOND && choice.n == HITS_PER_SECOND, "a limited number of hits in a second");
	choice_begin(&choice);
	OK(choice_has_room(&choice) && !offer(0, 100, 200, 1100 * (int64_t)MS) && !offer(0, 101, 300, 1100 * (int64_t)MS) && !choice.n,
	   "none beyond it that is no longer than the worst of its lane so far");
	OK(offer(0, 102, 400, 1200 * (int64_t)MS) && choice.pending[0].beyond, "the worst so far is chosen beyond it");
	OK(offer(1, 7, 350, 1200 * (int64_t)MS) && choice.n == 2, "and that of another lane");
	OK(offer(0, 103, 900, 1200 * (int64_t)MS) && !offer(0, 104, 800, 1200 * (int64_t)MS) && choice.n == 2 &&
		   choice.pending[0].hit.lane == 1,
	   "of several of a lane at once only the worst, in their order");
	choice_begin(&choice);
	OK(!offer(0, 105, 900, 1300 * (int64_t)MS), "what was chosen before counts");
	OK(offer(0, 106, 200, 2000 * (int64_t)MS) && !choice.pending[0].beyond, "the next second has limits of its own");
	choice.second_bytes = BYTES_PER_SECOND;
	OK(!offer(0, 107, 900, 2001 * (int64_t)MS) && offer(0, 108, 901, 2001 * (int64_t)MS), "as many bytes are a limit as well");
	choice_begin(&choice);
	for (uint64_t k = 0; choice_has_room(&choice); k++)
		offer((int)k, k, 10000 + (int64_t)k, 2002 * (int64_t)MS);
	OK(choice.n == PENDING_MOST, "more lanes than there is room for have to wait");
}

/* --- addresses --- */

static char *resolve(struct addresses *a, const char *text)
{
	FILE *file = tmpfile();
	_Atomic uint32_t beats = 0;
	size_t length;
	char *found;

	if (!file)
		abort();
	fputs(text, file);
	fflush(file);
	lseek(fileno(file), 0, SEEK_SET);
	found = addresses_resolve(a, fileno(file), &beats, &length);
	fclose(file);
	if (found && strlen(found) != length)
		abort();
	return found;
}

static void test_addresses(void)
{
	static struct addresses a;
	unsigned char page[64] = { 0 };
	const uint64_t words[] = { UINT64_C(0xffffffff81155164), UINT64_C(0xffffffff81155160), UINT64_C(0xffffffffc0000010),
				   UINT64_C(0xffff888000000000) };
	const uint32_t narrow = 0xbf000010;
	char *found;

	a.wide = true;
	memcpy(page + 4, &words[0], 8); /* 4 bytes off, as behind a record's head */
	memcpy(page + 16, &words[1], 8);
	memcpy(page + 24, &words[2], 8);
	memcpy(page + 40, &words[3], 8);
	addresses_scan(&a, page, sizeof page);
	addresses_scan(&a, page, sizeof page);
	found = resolve(&a, "0000000000000000 A percpu\n"
			    "ffffffff81155100 T below\n"
			    "ffffffff81155160 t hrtimer_wakeup\n"
			    "ffffffff81155161 d data\n"
			    "ffffffff81155300 T above\n"
			    "ffffffffc0000000 t rtfault_timer\t[rtfault]\n"
			    "ffffffffc0000008 b no_code\t[rtfault]\n");
	OK(found && !strcmp(found, "ffffffff81155160 t hrtimer_wakeup\nffffffffc0000000 t rtfault_timer\t[rtfault]\n"),
	   "the text symbols nearest below, each once, those of modules with their module");
	free(found);

	memset(&a, 0, sizeof a);
	a.wide = true;
	addresses_scan(&a, page, sizeof page);
	found = resolve(&a, "0000000000000000 T hidden\n0000000000000000 t too\n");
	OK(!found, "nothing where the kernel hides its addresses");

	memset(&a, 0, sizeof a);
	memset(page, 0, sizeof page);
	memcpy(page + 12, &narrow, 4);
	addresses_scan(&a, page, sizeof page);
	found = resolve(&a, "80008000 T _text\nbf000000 t rtfault_timer\t[rtfault]\nbf000004 t $a\t[rtfault]\n");
	OK(a.used == 1 && found && !strcmp(found, "bf000000 t rtfault_timer\t[rtfault]\n"), "addresses of 32 bits");
	free(found);

	memset(&a, 0, sizeof a);
	a.wide = true;
	for (uint64_t i = 0; i < ADDRESSES_SLOTS; i++) {
		const uint64_t word = UINT64_C(0xffffffff81000000) + i * 16;

		memset(page, 0, sizeof page);
		memcpy(page, &word, 8);
		addresses_scan(&a, page, 8);
	}
	OK(a.used == ADDRESSES_MOST, "more addresses than there is room for are left out");
	found = resolve(&a, "ffffffff81000000 T _text\n");
	OK(found && !strcmp(found, "ffffffff81000000 T _text\n"), "and the others are found");
	free(found);
}

/* --- instances --- */

static char root[64];

static void make(const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/instances/%s", root, name);
	if (mkdir(path, 0700))
		abort();
}

static bool is_there(const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/instances/%s", root, name);
	return !access(path, F_OK);
}

static bool holds(const char *directory, const char *name, const char *value)
{
	size_t length;
	char *text = tracefs_text(directory, name, &length);
	const bool same = text && !strcmp(text, value);

	free(text);
	return same;
}

static void test_instances(void)
{
	const char *roots[] = { "/nowhere/at/all", root, NULL };
	const char *none[] = { "/nowhere/at/all", NULL };
	const char *why = NULL;
	char directory[200], live[100], reused[100];
	struct restore restore[2] = { { "", "1000" } };
	struct keeper keeper = { 0 };
	int status;
	pid_t child;

	strcpy(root, "/tmp/rtprobe-test-XXXXXX");
	if (!mkdtemp(root))
		abort();
	OK(!tracefs_find(none, &why) && strstr(why, "not mounted"), "without tracefs there is a reason");
	OK(!tracefs_find(roots, &why), "a directory without instances is no tracefs");
	snprintf(directory, sizeof directory, "%s/instances", root);
	mkdir(directory, 0700);
	OK(tracefs_find(roots, &why) == root, "the first place where instances can be made");

	snprintf(live, sizeof live, "rtassay-%d-%llu", (int)getpid(), (unsigned long long)process_start(getpid()));
	snprintf(reused, sizeof reused, "rtassay-%d-%llu", (int)getpid(), (unsigned long long)process_start(getpid()) - 1);
	tracefs_instance(root, getpid(), "", directory, sizeof directory);
	OK(!strcmp(directory + strlen(root) + strlen("/instances/"), live), "an instance is named by pid and start time");
	tracefs_instance(root, getpid(), "-threads", directory, sizeof directory);
	OK(!strncmp(directory + strlen(root) + strlen("/instances/"), live, strlen(live)) && strstr(directory, "-threads"),
	   "a second one of the same process has a name behind it");
	make(live);
	make(reused);
	make("rtassay-999999999-7");
	make("rtassay-999999999-7-threads");
	make("rtassay-7");
	make("somebody-else");
	tracefs_sweep(roots);
	OK(is_there(live) && !is_there(reused) && !is_there("rtassay-999999999-7") && !is_there("rtassay-999999999-7-threads"),
	   "instances of processes that are gone are removed, also where the pid is used again");
	OK(is_there("rtassay-7") && is_there("somebody-else"), "what is not ours is left alone");

	snprintf(restore[0].path, sizeof restore[0].path, "%s/period", root);
	close(open(restore[0].path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	child = fork();
	if (!child) { /* as rtprobe: it starts a keeper, makes the instance, and is killed */
		tracefs_instance(root, getpid(), "", directory, sizeof directory);
		if (tracefs_put(root, "period", "5000") || keeper_start(&keeper, directory, restore) || mkdir(directory, 0700))
			_exit(1);
		raise(SIGKILL);
	}
	tracefs_instance(root, child, "", directory, sizeof directory);
	waitpid(child, &status, 0);
	for (int i = 0; i < 6000 && !access(directory, F_OK); i++)
		usleep(10000);
	OK(WIFSIGNALED(status) && access(directory, F_OK), "the keeper removes the instance of a process that was killed");
	for (int i = 0; i < 6000 && !holds(root, "period", "1000"); i++)
		usleep(10000);
	OK(holds(root, "period", "1000"), "and then puts the setting back");

	tracefs_instance(root, getpid(), "", directory, sizeof directory);
	OK(!keeper_start(&keeper, directory, NULL) && !keeper_remove(&keeper) && !is_there(live), "or when it is asked to");
	OK(!keeper_remove(&keeper), "there is nothing to remove twice");
	make(live);
	strcat(directory, "/in the way");
	mkdir(directory, 0700);
	directory[strlen(directory) - strlen("/in the way")] = 0;
	OK(!keeper_start(&keeper, directory, NULL) && keeper_remove(&keeper) == ENOTEMPTY, "why it could not be removed is told");
	snprintf(directory, sizeof directory, "rm -r %s", root);
	if (system(directory))
		abort();
}

/* --- stacks --- */

static void read_back(const char *root, const char *event, char *out, size_t size)
{
	char path[200];
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "%s/events/%s/trigger", root, event);
	fd = open(path, O_RDONLY);
	got = fd < 0 ? 0 : read(fd, out, size - 1);
	out[got > 0 ? got : 0] = 0;
	if (fd >= 0)
		close(fd);
}

static void test_stacks(void)
{
	char root[] = "/tmp/rtprobe-stacks-XXXXXX", command[300], timer[100], change[100];
	struct stacks both = { 0 }, one = { 0 };

	if (!mkdtemp(root))
		abort();
	snprintf(command, sizeof command,
		 "cd %s && mkdir -p events/timer/hrtimer_expire_entry events/sched/sched_switch && "
		 "touch events/timer/hrtimer_expire_entry/trigger events/sched/sched_switch/trigger",
		 root);
	if (system(command))
		abort();
	stacks_on(&both, root, 90);
	read_back(root, stacks_events[0], timer, sizeof timer);
	read_back(root, stacks_events[1], change, sizeof change);
	OK(both.on[0] && both.on[1] && !both.error && !strcmp(timer, "stacktrace if common_pid != 0") &&
		   !strcmp(change, "stacktrace if next_prio == 9 && prev_pid != 0"),
	   "a stack follows a timer in a thread, and the switch from a thread to a lane");
	stacks_off(&both, root);
	read_back(root, stacks_events[0], timer, sizeof timer);
	OK(!strcmp(timer, "!stacktrace"), "and none any more");
	snprintf(command, sizeof command, "rm -r %s/events/timer", root);
	if (system(command))
		abort();
	stacks_on(&one, root, 0);
	read_back(root, stacks_events[1], change, sizeof change);
	OK(!one.on[0] && one.on[1] && one.error == ENOENT && !strcmp(change, "stacktrace if prev_pid != 0"),
	   "an event without triggers is told; without a real-time priority each switch from a thread counts");
	snprintf(command, sizeof command, "rm -r %s", root);
	if (system(command))
		abort();
}

int main(void)
{
	test_hits();
	test_account();
	test_pages();
	test_choice();
	test_addresses();
	test_instances();
	test_stacks();
	return tap_end();
}
