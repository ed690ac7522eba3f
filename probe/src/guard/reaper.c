#include "guard/reaper.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/rt.h"

enum { STACK_BYTES = 128 * 1024, FIRST_AMONG_ORDINARY = -20 };

/* struct rusage as the kernel writes it, which on 32-bit boards is not that of the C library: two times, then 14 counters. */
struct kernel_usage {
	struct {
		long s, us;
	} user, system;
	long counters[14];
};

static int64_t in_ns(long s, long us)
{
	return (int64_t)s * 1000000000 + (int64_t)us * 1000;
}

bool reaper_look(pid_t pid, struct ended *end)
{
	struct kernel_usage used = { { 0, 0 }, { 0, 0 }, { 0 } };
	siginfo_t info = { 0 };

	/* The library's own waitid has no place for the usage. */
	if (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL, &used) || info.si_pid != pid)
		return false;
	end->status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
	end->user_ns = in_ns(used.user.s, used.user.us);
	end->system_ns = in_ns(used.system.s, used.system.us);
	return true;
}

static void tell(const struct reaper *r)
{
	const uint64_t one = 1;

	if (write(r->fd, &one, sizeof one) < 0)
		return; /* the guard also looks at `childless` */
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		;
}

static void *reaper_thread(void *argument)
{
	struct reaper *r = argument;

	rt_set_policy(0, SCHED_OTHER, 0);
	setpriority(PRIO_PROCESS, (id_t)rt_tid(), FIRST_AMONG_ORDINARY);
	wait_for(&r->begin);
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | __WALL)) {
			if (errno == EINTR)
				continue;
			break; /* ECHILD */
		}
		if (info.si_pid == r->kept)
			wait_for(&r->release);
		waitpid(info.si_pid, NULL, __WALL);
	}
	atomic_store(&r->childless, true);
	tell(r);
	return NULL;
}

int reaper_prepare(struct reaper *r)
{
	pthread_attr_t attributes;
	int error;

	*r = (struct reaper){ .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) };
	if (r->fd < 0 || sem_init(&r->begin, 0, 0) || sem_init(&r->release, 0, 0))
		return errno;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(&r->thread, &attributes, reaper_thread, r);
	pthread_attr_destroy(&attributes);
	return error;
}

void reaper_begin(struct reaper *r, pid_t kept)
{
	r->kept = kept;
	sem_post(&r->begin);
}

void reaper_release(struct reaper *r)
{
	sem_post(&r->release);
}

bool reaper_wait(const struct reaper *r, int ms)
{
	struct pollfd end = { .fd = r->fd, .events = POLLIN };

	if (!atomic_load(&r->childless))
		poll(&end, 1, ms);
	return atomic_load(&r->childless);
}

void reaper_raise_priority(const struct reaper *r)
{
	struct obtained own = rt_look(0);
	struct sched_param same = { .sched_priority = own.priority };

	if (own.policy == SCHED_FIFO)
		pthread_setschedparam(r->thread, SCHED_FIFO, &same);
}
