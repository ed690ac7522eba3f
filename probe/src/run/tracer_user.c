#include "run/tracer_user.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/rt.h"
#include "run/tracer_feed.h"

enum { STARTING, READING, OVER };
enum { STACK_BYTES = 128 * 1024, END_TICKS = 200 };

static void name_file(char *out, size_t size, const char *root, int cpu)
{
	snprintf(out, size, "%s/osnoise/per_cpu/cpu%d/timerlat_fd", root, cpu);
}

bool tracer_user_is_there(const char *root, int cpu)
{
	char path[TRACER_PATH + 64];

	name_file(path, sizeof path, root, cpu);
	return !access(path, F_OK);
}

static int prepare_thread(const struct tracer_user *u)
{
	struct cpus only = { 0 };
	sigset_t wake;

	prctl(PR_SET_NAME, "rtprobe-user");
	sigemptyset(&wake);
	sigaddset(&wake, u->wake_signal);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	cpus_add(&only, u->cpu);
	return rt_pin(0, &only);
}

/* Each reading sleeps until the timer of the next activation. */
static void *read_on(void *argument)
{
	struct tracer_user *u = argument;
	char none[64];
	int fd = -1;

	u->error = prepare_thread(u);
	if (!u->error)
		fd = open(u->path, O_RDONLY | O_CLOEXEC);
	if (!u->error && fd < 0)
		u->error = errno;
	u->tid = rt_tid();
	atomic_store_explicit(&u->state, u->error ? OVER : READING, memory_order_release);
	while (fd >= 0 && !atomic_load_explicit(&u->stop, memory_order_acquire) && (!read(fd, none, sizeof none) || errno == EINTR))
		;
	if (fd >= 0)
		close(fd);
	atomic_store_explicit(&u->state, OVER, memory_order_release);
	return NULL;
}

int tracer_user_start(struct tracer_user *u, const char *root, int cpu, int wake_signal)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	name_file(u->path, sizeof u->path, root, cpu);
	u->cpu = cpu;
	u->wake_signal = wake_signal;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, read_on, u);
	pthread_attr_destroy(&attributes);
	if (error) {
		atomic_store(&u->state, OVER);
		return error;
	}
	while (atomic_load_explicit(&u->state, memory_order_acquire) == STARTING)
		tracer_sleep_a_tick();
	return u->error;
}

bool tracer_user_stop(struct tracer_user *u)
{
	if (!u->tid)
		return true;
	atomic_store_explicit(&u->stop, 1, memory_order_release);
	for (int ticks = 0; atomic_load_explicit(&u->state, memory_order_acquire) != OVER && ticks < END_TICKS; ticks++) {
		syscall(SYS_tgkill, getpid(), u->tid, u->wake_signal);
		tracer_sleep_a_tick();
	}
	return atomic_load_explicit(&u->state, memory_order_acquire) == OVER;
}
