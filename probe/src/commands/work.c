/*
 * rtprobe work: fixed amounts of work, for boards without hackbench and stress-ng. Each kind does the same number of operations every time,
 * and its time is told: what a kernel makes of system calls, switches, new processes and new pages, beside plain arithmetic and copying that
 * no kernel should slow down. One process (two for switch and socket), of the default policy, on the CPUs it was started on.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/command.h"
#include "os/clock.h"
#include "os/rt.h"
#include "os/say.h"

enum { PAGE_BYTES = 4096, COPIED = 8 << 20, MESSAGE = 100 };

struct fixed {
	const char *name, *unit;
	long operations; /* at 100 percent: some 50 ms of a PC of 2020 */
	int (*run)(long operations); /* 0, or errno */
};

static volatile uint64_t sink;

static int work_cpu(long operations)
{
	uint64_t x = 88172645463325252u;

	for (long i = 0; i < operations; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		x = x / ((x & 1023) + 1) + x * UINT64_C(6364136223846793005) + 1;
	}
	sink = x;
	return 0;
}

static int work_memory(long operations)
{
	static unsigned char *from, *to;

	if (!from) {
		from = mmap(NULL, 2 * COPIED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (from == MAP_FAILED)
			return errno;
		to = from + COPIED;
		memset(from, 1, 2 * COPIED);
	}
	for (long i = 0; i < operations; i++) {
		const size_t at = (size_t)i * PAGE_BYTES % COPIED;

		memcpy(to + at, from + at, PAGE_BYTES);
	}
	sink = to[0];
	return 0;
}

static int work_syscall(long operations)
{
	for (long i = 0; i < operations; i++)
		syscall(SYS_getppid);
	return 0;
}

static int pass(int from, int to, size_t bytes)
{
	char message[MESSAGE] = { 0 };

	return read(from, message, bytes) == (ssize_t)bytes && write(to, message, bytes) == (ssize_t)bytes ? 0 : errno ? errno : EPIPE;
}

/* A message goes to another process and back, so many times: two switches each. */
static int to_and_fro(long operations, int here_in, int here_out, int there_in, int there_out, size_t bytes)
{
	char message[MESSAGE] = { 0 };
	const pid_t self = getpid(), other = fork();
	int error = 0, status = 0;

	if (other < 0)
		return errno;
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(1);
		for (long i = 0; i < operations; i++)
			if (pass(there_in, there_out, bytes))
				_exit(1);
		_exit(0);
	}
	for (long i = 0; i < operations && !error; i++)
		if (write(here_out, message, bytes) != (ssize_t)bytes || read(here_in, message, bytes) != (ssize_t)bytes)
			error = errno ? errno : EPIPE;
	if (error)
		kill(other, SIGKILL);
	while (waitpid(other, &status, 0) < 0 && errno == EINTR)
		;
	return error ? error : status ? EPIPE : 0;
}

static int work_switch(long operations)
{
	int there[2], back[2], error;

	if (pipe(there))
		return errno;
	if (pipe(back)) {
		error = errno;
	} else {
		error = to_and_fro(operations, back[0], there[1], there[0], back[1], 1);
		close(back[0]);
		close(back[1]);
	}
	close(there[0]);
	close(there[1]);
	return error;
}

static int work_socket(long operations)
{
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return errno;
	error = to_and_fro(operations, ends[0], ends[0], ends[1], ends[1], MESSAGE);
	close(ends[0]);
	close(ends[1]);
	return error;
}

static int work_fork(long operations)
{
	for (long i = 0; i < operations; i++) {
		const pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			return errno;
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return 0;
}

static int work_fault(long operations)
{
	enum { AT_ONCE = 256 };

	for (long done = 0; done < operations; done += AT_ONCE) {
		unsigned char *at = mmap(NULL, AT_ONCE * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return errno;
		madvise(at, AT_ONCE * PAGE_BYTES, MADV_NOHUGEPAGE);
		for (int i = 0; i < AT_ONCE; i++)
			at[(size_t)i * PAGE_BYTES] = 1;
		munmap(at, AT_ONCE * PAGE_BYTES);
	}
	return 0;
}

static const struct fixed kinds[] = {
	{ "cpu", "rounds of arithmetic", 6000000, work_cpu },
	{ "memory", "pages copied", 200000, work_memory },
	{ "syscall", "system calls", 400000, work_syscall },
	{ "switch", "messages through pipes and back", 2000, work_switch },
	{ "socket", "messages through sockets and back", 2000, work_socket },
	{ "fork", "processes", 150, work_fork },
	{ "fault", "pages mapped and touched", 51200, work_fault },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
#define KIND_NAMES "cpu, memory, syscall, switch, socket, fork, fault"

/* CPU time of this process and of those it has waited for. */
static int64_t used_ns(void)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	int64_t sum = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage used;

		getrusage(whose[i], &used);
		sum += (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000;
		sum += (int64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
	}
	return sum;
}

static int do_one(const struct fixed *kind, long percent)
{
	const long operations = kind->operations * percent / 100 > 0 ? kind->operations * percent / 100 : 1;
	const int64_t before_ns = used_ns(), begun_ns = mono_ns();
	const int error = kind->run(operations);
	const int64_t took_ns = mono_ns() - begun_ns;

	if (error)
		return say_fail(EXIT_BOARD, "the work '%s' failed: %s", kind->name, strerror(error));
	printf("%s: %ld %s in %lld ns, %lld ns of CPU time\n", kind->name, operations, kind->unit, (long long)took_ns,
	       (long long)(used_ns() - before_ns));
	return fflush(stdout) ? say_fail(EXIT_BOARD, "cannot write: %s", strerror(errno)) : EXIT_DONE;
}

/* The kind at the beginning of a list; NULL: there is none of that name. */
static const struct fixed *first_of(const char *list, size_t length)
{
	for (int i = 0; i < N_KINDS; i++)
		if (strlen(kinds[i].name) == length && !strncmp(kinds[i].name, list, length))
			return &kinds[i];
	return NULL;
}

static int work_run(const struct plan *plan)
{
	const long percent = (long)plan_number(plan, "percent");
	const char *list = plan->args[0];

	for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		if (!first_of(at, strcspn(at, ",")))
			return say_fail(EXIT_USAGE, "there is no work '%.*s'; known: " KIND_NAMES, (int)strcspn(at, ","), at);
	if (rt_set_policy(0, SCHED_OTHER, 0))
		return say_fail(EXIT_BOARD, "cannot leave the real-time policy this was started with");
	for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		const int code = do_one(first_of(at, strcspn(at, ",")), percent);

		if (code)
			return code;
	}
	return EXIT_DONE;
}

static const struct option_spec work_options[] = {
	{ .name = "percent",
	  .type = OPT_INTEGER,
	  .unit = "%",
	  .min = 1,
	  .max = 100000,
	  .standard = "100",
	  .help = "how much of the fixed amount; 100 is some 50 ms of a PC for each kind" },
	{ 0 },
};

const struct command command_work = {
	.name = "work",
	.summary = "does fixed amounts of work (" KIND_NAMES ") and tells how long each took",
	.arguments = "KIND,KIND...",
	.min_arguments = 1,
	.max_arguments = 1,
	.options = work_options,
	.run = work_run,
};
