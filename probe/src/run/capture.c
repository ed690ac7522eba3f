#include "run/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/rt.h"
#include "os/tracefs.h"

enum { BUFFER_KB = 1024, REMEMBERED_BYTES = 256 * 1024, REMEMBERED_LEAST = 8, TICK_MS = 20, READ_ROUNDS = 4 };
enum { WAITING_MOST = 32 << 20 }; /* bytes that may wait for the writer */
enum { MOST_URGENT = -20 };

const char *const capture_events[] = {
	"sched/sched_switch",
	"sched/sched_waking",
	"irq/irq_handler_entry",
	"irq/irq_handler_exit",
	"irq/softirq_entry",
	"irq/softirq_exit",
	"timer/hrtimer_expire_entry",
	"timer/hrtimer_expire_exit",
	"sched/sched_migrate_task",
	"power/cpu_idle",
	"nmi/nmi_handler",
	"irq_vectors/local_timer_entry",
	"irq_vectors/local_timer_exit",
	"irq_vectors/reschedule_entry",
	"irq_vectors/reschedule_exit",
	"irq_vectors/call_function_entry",
	"irq_vectors/call_function_exit",
	"irq_vectors/call_function_single_entry",
	"irq_vectors/call_function_single_exit",
	"irq_vectors/irq_work_entry",
	"irq_vectors/irq_work_exit",
	"ipi/ipi_raise",
	"ipi/ipi_entry",
	"ipi/ipi_exit",
	"exceptions/page_fault_user",
	"exceptions/page_fault_kernel",
	"osnoise/nmi_noise",
	"osnoise/irq_noise",
	"osnoise/softirq_noise",
	"osnoise/thread_noise",
	NULL,
};

static void fail(struct capture *c, const char *what, int error)
{
	if (!*c->error)
		snprintf(c->error, sizeof c->error, "%s: %s", what, strerror(error));
}

/* --- frames on their way to the writer --- */

static void send_parcel(struct capture *c, struct parcel *parcel)
{
	struct parcel *newest = atomic_load_explicit(&c->parcels, memory_order_relaxed);

	atomic_fetch_add_explicit(&c->waiting_bytes, parcel->length, memory_order_relaxed);
	do
		parcel->next = newest;
	while (!atomic_compare_exchange_weak_explicit(&c->parcels, &newest, parcel, memory_order_release, memory_order_relaxed));
}

static struct parcel *parcel_new(struct capture *c, enum frame_type type, uint16_t lane, size_t length)
{
	struct parcel *parcel;

	if (length > FRAME_MAX || atomic_load_explicit(&c->waiting_bytes, memory_order_relaxed) + length > WAITING_MOST)
		return NULL;
	parcel = malloc(sizeof *parcel + length);
	if (parcel)
		*parcel = (struct parcel){ .type = type, .lane = lane, .length = length };
	return parcel;
}

void capture_deliver(struct capture *c, struct emit *emit)
{
	struct parcel *parcel = atomic_exchange_explicit(&c->parcels, NULL, memory_order_acquire), *oldest = NULL;

	while (parcel) { /* the newest came first */
		struct parcel *next = parcel->next;

		parcel->next = oldest;
		oldest = parcel;
		parcel = next;
	}
	while (oldest) {
		struct parcel *next = oldest->next;

		emit_frame(emit, oldest->type, oldest->lane, oldest->payload, oldest->length);
		atomic_fetch_sub_explicit(&c->waiting_bytes, oldest->length, memory_order_relaxed);
		free(oldest);
		oldest = next;
	}
}

static void send_event(struct capture *c, struct json *j, uint16_t lane)
{
	struct parcel *parcel;

	json_end_object(j);
	parcel = j->failed ? NULL : parcel_new(c, FRAME_EVENT, lane, j->length);
	if (parcel) {
		memcpy(parcel->payload, j->text, j->length);
		send_parcel(c, parcel);
	} else {
		fail(c, "no memory for an event", ENOMEM);
	}
	json_close(j);
}

static void send_text(struct capture *c, const char *name, const char *text, size_t length)
{
	const size_t head = strlen(name), most = FRAME_MAX - 4 - head;
	const size_t sent = length < most ? length : most;
	struct parcel *parcel = parcel_new(c, FRAME_TRACE_TEXT, LANE_NONE, 4 + head + sent);

	if (!parcel) {
		fail(c, name, ENOMEM);
		return;
	}
	put_u32(parcel->payload, (uint32_t)head);
	memcpy(parcel->payload + 4, name, head);
	memcpy(parcel->payload + 4 + head, text, sent);
	send_parcel(c, parcel);
}

static void send_file(struct capture *c, const char *name, const char *path)
{
	size_t length;
	char *text = tracefs_text(c->directory, path, &length);

	if (!text) {
		fail(c, path, errno);
		return;
	}
	send_text(c, name, text, length);
	free(text);
}

static void send_page(void *context, int cpu, const void *page, size_t size)
{
	struct capture *c = context;
	struct parcel *parcel = parcel_new(c, FRAME_TRACE_PAGE, LANE_NONE, 8 + size);

	if (!parcel) {
		c->lost_pages++;
		return;
	}
	put_u32(parcel->payload, (uint32_t)cpu);
	put_u32(parcel->payload + 4, 0);
	memcpy(parcel->payload + 8, page, size);
	send_parcel(c, parcel);
	addresses_scan(&c->addresses, page, size);
	c->choice.second_bytes += size;
	c->sent_bytes += size;
	c->sent_pages++;
}

/* --- the instance --- */

/* Lanes of one CPU stand side by side; the first of them reads its ring. */
static bool reads_ring(const struct capture *c, int i)
{
	return !i || c->run->lanes[i].cpu != c->run->lanes[i - 1].cpu;
}

/* What the kernel's tracers say of interruptions: only while one of them measures. */
static bool is_wanted(const struct capture *c, const char *event)
{
	return c->run->tracer || strncmp(event, "osnoise/", strlen("osnoise/")) != 0;
}

static int open_cpu(struct capture *c, int i)
{
	const int cpu = c->run->lanes[i].cpu;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t room = REMEMBERED_BYTES / page < REMEMBERED_LEAST ? REMEMBERED_LEAST : REMEMBERED_BYTES / page;
	char path[CAPTURE_PATH + 64], size[16];
	int error;

	snprintf(path, sizeof path, "per_cpu/cpu%d/buffer_size_kb", cpu);
	snprintf(size, sizeof size, "%d", c->buffer_kb);
	error = tracefs_put(c->directory, path, size);
	snprintf(path, sizeof path, "%s/per_cpu/cpu%d/trace_pipe_raw", c->directory, cpu);
	c->raw[i] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (c->raw[i] < 0)
		error = errno;
	return pages_open(&c->pages[i], cpu, page, room) ? ENOMEM : error;
}

static int set_up(struct capture *c)
{
	char mask[MAX_CPUS / 32 * 9 + 1];
	int error;

	c->raw = calloc((size_t)c->run->n_lanes, sizeof *c->raw);
	c->pages = calloc((size_t)c->run->n_lanes, sizeof *c->pages);
	if (!c->raw || !c->pages)
		return ENOMEM;
	memset(c->raw, -1, (size_t)c->run->n_lanes * sizeof *c->raw);
	run_cpu_mask(c->run, mask, sizeof mask);
	if ((error = tracefs_put(c->directory, "tracing_on", "0")) || (error = tracefs_put(c->directory, "trace_clock", "mono")) ||
	    (error = tracefs_put(c->directory, "tracing_cpumask", mask)))
		return error;
	tracefs_put(c->directory, "options/record-cmd",
		    "0"); /* sched_switch has the names; where the option is not there, nothing is lost */
	/* The tracer that measures writes its own readings into our ring, too. It cannot be set any more once the ring is open. */
	if (c->run->tracer && (error = tracefs_put(c->directory, "current_tracer", c->run->tracer)))
		return error;
	for (int i = 0; i < c->run->n_lanes; i++)
		if (reads_ring(c, i) && (error = open_cpu(c, i)))
			return error;
	return 0;
}

void capture_prepare(struct capture *c, struct run *run, const char *const *roots)
{
	const char *why, *root;
	int error;

	c->run = run;
	c->buffer_kb = c->buffer_kb ? c->buffer_kb : BUFFER_KB;
	c->addresses.wide = addresses_are_wide();
	tracefs_sweep(roots);
	root = tracefs_find(roots, &why);
	if (!root) {
		snprintf(c->error, sizeof c->error, "%s", why);
		return;
	}
	tracefs_instance(root, getpid(), "", c->directory, sizeof c->directory);
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = c->wake_fd < 0 ? errno : keeper_start(&c->keeper, c->directory, NULL);
	if (error) {
		fail(c, "no process to remove the trace instance", error);
		return;
	}
	if (mkdir(c->directory, 0700) && errno != EEXIST)
		error = errno;
	if (error || (error = set_up(c))) {
		fail(c, "the trace instance cannot be set up", error);
		capture_remove(c);
		return;
	}
	c->ready = true;
}

void capture_remove(struct capture *c)
{
	int error;

	for (int i = 0; c->raw && i < c->run->n_lanes; i++)
		if (c->raw[i] >= 0) {
			close(c->raw[i]);
			c->raw[i] = -1;
		}
	error = keeper_remove(&c->keeper);
	if (error)
		fail(c, "the trace instance could not be removed", error);
}

/* --- events on and off --- */

/* The events that are followed by a stack; null: none was asked for. */
static void tell_stacks(const struct capture *c, struct json *j)
{
	if (!c->run->trace_stacks) {
		json_null(j, "stacks");
		json_null(j, "stacks_error");
		return;
	}
	json_array(j, "stacks");
	for (int i = 0; i < STACKS_EVENTS; i++)
		if (c->stacks.on[i])
			json_string(j, NULL, stacks_events[i]);
	json_end_array(j);
	json_string(j, "stacks_error", c->stacks.error ? strerror(c->stacks.error) : NULL);
}

static void tell_begin(struct capture *c)
{
	const struct run *run = c->run;
	struct json j;

	json_open(&j);
	json_object(&j, NULL);
	json_string(&j, "event", "trace_begin");
	json_int(&j, "mono_ns", c->begun_ns);
	if (run->trace_above_ns)
		json_int(&j, "above_ns", run->trace_above_ns);
	else
		json_null(&j, "above_ns");
	for (int part = 0; part < 2; part++) {
		json_array(&j, part ? "missing" : "events");
		for (int i = 0; capture_events[i]; i++)
			if (c->on[i] == !part && is_wanted(c, capture_events[i]))
				json_string(&j, NULL, capture_events[i]);
		json_end_array(&j);
	}
	tell_stacks(c, &j);
	json_int(&j, "buffer_kb", c->buffer_kb);
	json_int(&j, "untraced_until_ns", run->untraced_until_ns);
	send_event(c, &j, LANE_NONE);
}

/* A load has more page faults than there are other events: only those of the lanes count. */
static int only_of_lanes(struct capture *c, const char *event)
{
	char path[128];

	if (strncmp(event, "exceptions/", strlen("exceptions/")) != 0)
		return 0;
	snprintf(path, sizeof path, "events/%s/filter", event);
	return tracefs_put(c->directory, path, "comm == \"" LANE_NAME "\"");
}

static void switch_on(struct capture *c)
{
	char path[128], name[128];
	int on = 0, error = 0;

	for (int i = 0; capture_events[i] && !atomic_load(&c->finish); i++) {
		int refused;

		if (!is_wanted(c, capture_events[i]))
			continue;
		refused = only_of_lanes(c, capture_events[i]);
		snprintf(path, sizeof path, "events/%s/enable", capture_events[i]);
		refused = refused ? refused : tracefs_put(c->directory, path, "1");
		atomic_fetch_add(&c->beats, 1);
		if (refused) {
			error = refused;
			continue;
		}
		snprintf(path, sizeof path, "events/%s/format", capture_events[i]);
		snprintf(name, sizeof name, "format/%s", capture_events[i]);
		send_file(c, name, path);
		c->on[i] = true;
		on++;
	}
	if (atomic_load(&c->finish)) {
		snprintf(c->error, sizeof c->error, "the run ended while its events were being switched on: give it more time");
		return;
	}
	if (!on) {
		fail(c, "no event could be switched on", error);
		return;
	}
	if (c->run->trace_stacks) {
		stacks_on(&c->stacks, c->directory, c->run->policy == SCHED_OTHER ? 0 : c->run->priority);
		send_file(c, "format/ftrace/kernel_stack", "events/ftrace/kernel_stack/format");
	}
	if (c->run->tracer) {
		snprintf(path, sizeof path, "events/ftrace/%s/format", c->run->tracer);
		snprintf(name, sizeof name, "format/ftrace/%s", c->run->tracer);
		send_file(c, name, path);
	}
	send_file(c, "header_page", "events/header_page");
	error = tracefs_put(c->directory, "tracing_on", "1");
	if (error) {
		fail(c, "tracing could not be switched on", error);
		return;
	}
	c->begun_ns = mono_ns();
	tell_begin(c);
	c->begun = true;
	for (int i = 0; c->run->trace_above_ns && i < c->run->n_lanes; i++)
		if (!c->run->lanes[i].on_the_way)
			atomic_store_explicit(&c->run->lanes[i].hits.level_ns, (uint32_t)c->run->trace_above_ns, memory_order_relaxed);
	atomic_store_explicit(&c->run->tracing, 1, memory_order_release); /* else the writer sets the levels of the lanes */
}

static void send_symbols(struct capture *c)
{
	const int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t length;
	char *text;

	if (fd < 0)
		return; /* a kernel without it: the host shows addresses */
	text = addresses_resolve(&c->addresses, fd, &c->beats, &length);
	close(fd);
	if (text)
		send_text(c, "kallsyms", text, length);
	free(text);
}

static void switch_off(struct capture *c)
{
	tracefs_put(c->directory, "tracing_on", "0");
	stacks_off(&c->stacks, c->directory);
	atomic_fetch_add(&c->beats, 1);
	/* One by one: the kernel waits for all CPUs at each, and all together outlast patience where a thread hogs a CPU. */
	for (int i = 0; capture_events[i]; i++) {
		char path[128];

		if (!c->on[i])
			continue;
		snprintf(path, sizeof path, "events/%s/enable", capture_events[i]);
		tracefs_put(c->directory, path, "0");
		atomic_fetch_add(&c->beats, 1);
	}
	tracefs_put(c->directory, "events/enable", "0");
	atomic_fetch_add(&c->beats, 1);
	for (int i = 0; i < c->run->n_lanes; i++) {
		char path[64], name[64];

		if (!reads_ring(c, i))
			continue;
		snprintf(path, sizeof path, "per_cpu/cpu%d/stats", c->run->lanes[i].cpu);
		snprintf(name, sizeof name, "stats/cpu%d", c->run->lanes[i].cpu);
		send_file(c, name, path);
	}
	/* The pass over all symbols takes seconds on a slow board: longer than a real-time thread may run. The load goes on
	 * until we are done, so we come before it; but never before an ordinary thread that is followed. */
	rt_set_policy(0, SCHED_OTHER, 0);
	if (c->run->policy != SCHED_OTHER)
		setpriority(PRIO_PROCESS, 0, MOST_URGENT); /* of this thread alone */
	send_symbols(c);
}

/* --- hits --- */

static void take_hits(struct capture *c)
{
	struct hit hit;

	choice_begin(&c->choice);
	for (int i = 0; i < c->run->n_lanes; i++) {
		struct lane *lane = &c->run->lanes[i];

		while (choice_has_room(&c->choice) && hits_take(&lane->hits, &hit)) {
			if (hit.due_ns < c->begun_ns)
				continue; /* it began untraced */
			c->hits++;
			choice_offer(&c->choice, &hit, mono_ns());
		}
	}
}

/* Until the ring of this CPU is empty. It fills while it is read, so there is a limit: then the rest is for the next time. */
static void read_ring(struct capture *c, int i, const struct pick *pick)
{
	struct pages *p = &c->pages[i];
	const size_t most = READ_ROUNDS * (size_t)c->buffer_kb * 1024 / p->size;

	pages_again(p, pick);
	for (size_t n = 0; n < most; n++) {
		const ssize_t got = read(c->raw[i], pages_next(p), p->size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		if ((size_t)got < p->size)
			memset(pages_next(p) + got, 0, p->size - (size_t)got);
		pages_add(p, pick);
		atomic_fetch_add_explicit(&c->beats, 1, memory_order_relaxed);
	}
	pages_end(p, mono_ns(), pick);
}

static void tell_hit(struct capture *c, const struct pending *p)
{
	const bool captured = pending_is_captured(p);
	struct json j;

	c->captured += captured;
	c->beyond_limit += captured && p->beyond;
	json_open(&j);
	json_object(&j, NULL);
	json_string(&j, "event", "trace_hit");
	json_int(&j, "mono_ns", p->hit.woke_ns);
	json_int(&j, "lane", p->hit.lane);
	json_int(&j, "cpu", p->hit.cpu);
	json_uint(&j, "k", p->hit.k);
	json_int(&j, "due_ns", p->hit.due_ns);
	json_int(&j, "woke_ns", p->hit.woke_ns);
	json_int(&j, "tid", p->hit.tid);
	json_int(&j, "above_ns", p->hit.level_ns);
	json_bool(&j, "captured", captured);
	send_event(c, &j, (uint16_t)p->hit.lane);
}

static void keep_hits(struct capture *c)
{
	do {
		struct pick pick = { .pending = c->choice.pending, .keep = send_page, .context = c };

		take_hits(c);
		pick.n = c->choice.n;
		for (int i = 0; pick.n && i < c->run->n_lanes; i++)
			if (reads_ring(c, i))
				read_ring(c, i, &pick);
		for (int i = 0; i < pick.n; i++)
			tell_hit(c, &c->choice.pending[i]);
	} while (!choice_has_room(&c->choice));
}

/* --- the thread --- */

/* Waits until `ns`; false: the run is over. */
static bool wait_until(struct capture *c, int64_t ns)
{
	struct pollfd wake = { .fd = c->wake_fd, .events = POLLIN };

	for (;;) {
		const int64_t left_ns = ns - mono_ns();

		if (atomic_load_explicit(&c->finish, memory_order_acquire))
			return false;
		if (left_ns <= 0)
			return true;
		poll(&wake, 1, left_ns < 1000000000 ? (int)(left_ns / 1000000) + 1 : 1000);
	}
}

static void *capture_thread(void *argument)
{
	struct capture *c = argument;
	struct run *run = c->run;

	prctl(PR_SET_NAME, "rtprobe-trace");
	rt_pin(0, &c->where);
	/* Below the lanes and above most loads, which would keep the events from being switched on. */
	if (run->policy != SCHED_OTHER && run->priority > 1)
		rt_set_policy(0, SCHED_FIFO, run->priority - 1);
	while (!atomic_load_explicit(&run->started, memory_order_acquire) && wait_until(c, mono_ns() + TICK_MS * INT64_C(1000000)))
		;
	if (wait_until(c, run->untraced_until_ns))
		switch_on(c);
	else
		snprintf(c->error, sizeof c->error, "the run ended before its second half, which is the traced one");
	while (c->begun && wait_until(c, mono_ns() + TICK_MS * INT64_C(1000000)))
		keep_hits(c);
	if (c->begun)
		keep_hits(c);
	switch_off(c);
	c->cpu_ns = rt_cpu_ns(rt_tid());
	atomic_store_explicit(&c->done, 1, memory_order_release);
	for (;;)
		pause();
	return NULL;
}

void capture_start(struct capture *c, const struct cpus *where)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	if (!c->ready)
		return;
	c->where = *where;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, capture_thread, c);
	pthread_attr_destroy(&attributes);
	if (error) {
		fail(c, "no thread for the trace", error);
		c->ready = false;
	}
}

void capture_finish(struct capture *c)
{
	const uint64_t one = 1;

	atomic_store_explicit(&c->finish, 1, memory_order_release);
	if (c->ready && write(c->wake_fd, &one, sizeof one) < 0)
		return; /* it also looks by itself */
}
