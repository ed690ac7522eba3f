#include "guard/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard/family.h"
#include "guard/reaper.h"
#include "guard/usage.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/rt.h"
#include "os/say.h"
#include "os/signals.h"
#include "os/tracefs.h"

enum { GUARD_PRIORITY = 99, REAP_MS = 1000 };
static const int64_t second_ns = 1000000000;
static const int64_t beyond_max_s = 35;              /* the inner one needs at most 32 s after --max, plus the time for the journal */
static const int64_t kill_patience_ns = 10000000000; /* then only processes stuck in the kernel can be left */

/* ---- place among the processes ---- */

void become_unstarvable(void)
{
	struct rlimit limit;

	if (rt_set_policy(0, SCHED_FIFO | RESET_ON_FORK, GUARD_PRIORITY) && !getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur > 0 &&
	    limit.rlim_cur < GUARD_PRIORITY)
		rt_set_policy(0, SCHED_FIFO | RESET_ON_FORK, (int)limit.rlim_cur);
}

static void write_own(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* not allowed: then it stays as it is */
	close(fd);
}

/* A memory load must not take the guard with it. */
static void become_unkillable_by_oom(struct before *b)
{
	if (read_small("/proc/self/oom_score_adj", b->oom, sizeof b->oom) > 0)
		write_own("/proc/self/oom_score_adj", "-900");
	else
		b->oom[0] = 0;
}

static void take_place(struct before *b)
{
	struct obtained now = rt_look(0);

	b->policy = now.policy;
	b->priority = now.priority;
	b->nice = getpriority(PRIO_PROCESS, 0);
	become_unstarvable();
	become_unkillable_by_oom(b);
}

void place_restore(const struct before *b)
{
	/* The reset on fork made us OTHER with nice 0. SCHED_DEADLINE has parameters of its own, and is not given back. */
	if (b->policy == SCHED_FIFO || b->policy == SCHED_RR || b->policy == SCHED_BATCH || b->policy == SCHED_IDLE)
		rt_set_policy(0, b->policy, b->priority);
	if (b->nice)
		setpriority(PRIO_PROCESS, 0, b->nice);
	if (b->oom[0])
		write_own("/proc/self/oom_score_adj", b->oom);
}

/* ---- the outer one ---- */

struct outer {
	struct standby *standby;
	struct reaper *reaper;
	pid_t inner, helper; /* helper: usage; -1 without */
	int signals, timer;  /* -1: none */
	sigset_t old_mask;
};

/* A blocked signal reaches our signalfd even where it is ignored. So SIGHUP is not blocked where nohup ignores it. */
static int take_signals(struct outer *o)
{
	struct sigaction hangup, plain = { .sa_handler = SIG_DFL };
	sigset_t set, blocked;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaction(SIGCHLD, &plain, NULL); /* with an inherited SIG_IGN the kernel would reap for us */
	blocked = set;
	signals_hold(&blocked);
	if (sigprocmask(SIG_BLOCK, &blocked, &o->old_mask))
		return -1;
	o->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return o->signals < 0 ? -1 : 0;
}

static int start_timer(struct outer *o)
{
	struct itimerspec at = { .it_value = { (time_t)(o->standby->max_ns / second_ns + beyond_max_s), 0 } };

	o->timer = -1;
	if (!o->standby->max_ns)
		return 0;
	o->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (o->timer < 0)
		o->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return o->timer < 0 || timerfd_settime(o->timer, 0, &at, NULL) ? -1 : 0;
}

static void pass_on_signals(const struct outer *o)
{
	struct signalfd_siginfo info;

	while (read(o->signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD)
			kill(o->inner, (int)info.ssi_signo);
}

/* Waits for the inner one's end; its status as of waitpid. */
static int wait_for_guard(const struct outer *o)
{
	struct pollfd fds[2] = { { .fd = o->signals, .events = POLLIN }, { .fd = o->timer, .events = POLLIN } };
	struct ended end;

	while (!reaper_look(o->inner, &end)) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			pass_on_signals(o);
		if (fds[1].revents) {
			kill(o->inner, SIGKILL);
			fds[1].fd = -1;
		}
	}
	return end.status;
}

static void restore_failed(void *context, const char *path, const char *why)
{
	(void)context;
	say("cannot put back", path, why);
}

/* The descendants of the inner one are our children now. SIGKILL at once: there may be little time left. */
static int inherit(struct outer *o, int signal_number)
{
	int64_t until_ns = mono_ns() + kill_patience_ns;
	struct family family = { .child = atomic_load(o->standby->child) };

	do {
		group_kill(o->standby->group);
		family_kill(&family);
	} while (!reaper_wait(o->reaper, 2) && mono_ns() < until_ns);
	journal_restore(o->standby->journal, restore_failed, NULL);
	tracefs_sweep(tracefs_roots);
	say_fail(EXIT_BOARD, "the guard was killed by signal %d; what it guarded was ended, %zu processes by SIGKILL%s", signal_number,
		 family.n_killed, reaper_wait(o->reaper, 0) ? "" : ", and some hang in the kernel even so");
	family_free(&family);
	return EXIT_BOARD;
}

static int be_outer(struct outer *o)
{
	int status, code;

	signal(SIGPIPE, SIG_IGN); /* stderr may have no reader: the journal is put back all the same */
	status = wait_for_guard(o);
	if (o->helper > 0)
		kill(o->helper, SIGKILL);
	reaper_begin(o->reaper, 0);
	if (WIFEXITED(status)) {
		code = WEXITSTATUS(status);
		reaper_wait(o->reaper, REAP_MS);
	} else {
		code = inherit(o, WTERMSIG(status));
	}
	reaper_raise_priority(o->reaper);
	return code;
}

/* ---- becoming two ---- */

/* In the inner one: a session of its own, so that a kill of the process group of the outer one does not reach both. */
static void be_inner(struct outer *o, pid_t outer)
{
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != outer)
		_exit(EXIT_BOARD); /* the outer one was killed before PDEATHSIG was set; nothing was started */
	close(o->signals);
	close(o->reaper->fd);
	if (o->timer >= 0)
		close(o->timer);
	sigprocmask(SIG_SETMASK, &o->old_mask, NULL);
	become_unstarvable();
}

static pid_t start_helper(const struct outer *o, int fd, pid_t outer)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != outer)
		_exit(EXIT_BOARD);
	if (o->standby->before.oom[0])
		write_own("/proc/self/oom_score_adj", o->standby->before.oom);
	usage_watch(fd, o->inner, o->standby->child, o->standby->gpu);
}

static int prepare(struct outer *o, int pipe_ends[2])
{
	struct standby *t = o->standby;

	t->usage_fd = pipe_ends[0] = pipe_ends[1] = -1;
	t->child = mmap(NULL, sizeof *t->child, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->child == MAP_FAILED || take_signals(o) || start_timer(o) || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return -1;
	errno = reaper_prepare(o->reaper);
	if (errno)
		return -1;
	if (t->usage && (pipe2(pipe_ends, O_CLOEXEC) || fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK)))
		return -1;
	atomic_store(t->child, 0);
	take_place(&t->before);
	return 0;
}

bool standby_start(struct standby *t, int *code)
{
	static struct reaper reaper; /* not on a stack: its thread may outlive this function */
	struct outer o = { .standby = t, .reaper = &reaper, .helper = -1, .signals = -1, .timer = -1 };
	pid_t self = getpid();
	int ends[2];

	if (prepare(&o, ends) || (o.inner = fork()) < 0) {
		*code = say_fail(EXIT_BOARD, "cannot guard anything here: %s", strerror(errno));
		return false;
	}
	if (o.inner == 0) {
		be_inner(&o, self);
		if (ends[1] >= 0)
			close(ends[1]);
		t->usage_fd = ends[0];
		return true;
	}
	if (ends[1] >= 0) {
		o.helper = start_helper(&o, ends[1], self);
		close(ends[0]);
		close(ends[1]);
	}
	*code = be_outer(&o);
	return false;
}
