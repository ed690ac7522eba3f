/* Systems with POSIX threads: Linux (to try it), NuttX, RTEMS, QNX, VxWorks. What of them is proven: docs/guides/rtos.md. */
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#ifdef _POSIX_MEMLOCK
#include <sys/mman.h>
#endif

#include "rtlite.h"

#ifdef __NuttX__
#include <nuttx/config.h>
#include <nuttx/irq.h>
#include <nuttx/version.h>
#define RTL_OS "nuttx/" CONFIG_VERSION_STRING
#ifndef RTL_BOARD
#define RTL_BOARD CONFIG_ARCH_BOARD
#endif
#ifdef CONFIG_SCHED_TICKLESS
#define RTL_SLEEP "timer"
#define RTL_TICK_HZ 0
#else
#define RTL_SLEEP "tick"
#define RTL_TICK_HZ (1000000 / CONFIG_USEC_PER_TICK)
#endif
#endif

#ifndef RTL_OS
#ifdef __linux__
#define RTL_OS "linux"
#else
#define RTL_OS "posix"
#endif
#endif
#ifndef RTL_BOARD
#define RTL_BOARD "unknown"
#endif
#ifndef RTL_SLEEP
#define RTL_SLEEP "timer"
#endif
#ifndef RTL_TICK_HZ
#define RTL_TICK_HZ 0
#endif

enum { THREADS = 2 * RTL_LANES }; /* lanes, and a load beside each */

static int typed(void)
{
	struct pollfd console = { .fd = STDIN_FILENO, .events = POLLIN };
	char c;

	return poll(&console, 1, 0) == 1 && read(STDIN_FILENO, &c, 1) == 1 ? c : -1;
}

#if defined(__NuttX__) && defined(CONFIG_BUILD_FLAT)
static void critical(int on)
{
	static irqstate_t before;

	if (on)
		before = enter_critical_section();
	else
		leave_critical_section(before);
}
#define CRITICAL critical
#else
#define CRITICAL NULL /* a program cannot turn interrupts off */
#endif

const struct rtl_port rtl_port = {
	.os = RTL_OS,
	.board = RTL_BOARD,
	.clock = "CLOCK_MONOTONIC",
	.policy = "SCHED_FIFO",
	.sleep = RTL_SLEEP,
	.tick_hz = RTL_TICK_HZ,
	.critical = CRITICAL,
	.typed = typed,
};

static struct started {
	void (*run)(void *);
	void *argument;
	int cpu;
} threads[THREADS];
static int n_threads, n_returned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int64_t rtl_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int rtl_sleep_until_ns(int64_t due_ns)
{
	const struct timespec due = { .tv_sec = (time_t)(due_ns / 1000000000), .tv_nsec = (long)(due_ns % 1000000000) };

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static void *thread(void *argument)
{
	const struct started *mine = argument;
#if defined(__linux__) || (defined(__NuttX__) && defined(CONFIG_SMP))
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(mine->cpu, &only);
	sched_setaffinity(0, sizeof only, &only);
#endif
	mine->run(mine->argument);
	pthread_mutex_lock(&lock);
	n_returned++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int create(struct started *one, const struct sched_param *param)
{
	pthread_attr_t attributes;
	pthread_t id;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (param) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
		pthread_attr_setschedparam(&attributes, param);
	}
	error = pthread_create(&id, &attributes, thread, one);
	pthread_attr_destroy(&attributes);
	return error;
}

int rtl_thread(void (*run)(void *), void *argument, int priority, int cpu, int *own)
{
	const int least = sched_get_priority_min(SCHED_FIFO), most = sched_get_priority_max(SCHED_FIFO);
	const struct sched_param param = { .sched_priority = least + priority * (most - least) / 99 };
	struct started *one = &threads[n_threads % THREADS];

	*one = (struct started){ run, argument, cpu };
	n_threads++;
#ifdef __linux__
	*own = priority > 0; /* a thread without a fixed priority is below every other */
#else
	*own = 1;
#endif
	if (*own && !create(one, &param))
		return param.sched_priority;
	*own = 0;
	if (!create(one, NULL))
		return 0;
	n_threads--;
	return -1;
}

int rtl_join(uint32_t ms)
{
	const int64_t until_ns = rtl_now_ns() + (int64_t)ms * 1000000;

	for (;;) {
		int all;

		pthread_mutex_lock(&lock);
		all = n_returned == n_threads;
		pthread_mutex_unlock(&lock);
		if (all || rtl_now_ns() >= until_ns)
			return all;
		rtl_sleep_until_ns(rtl_now_ns() + 5000000);
	}
}

void rtl_put(char c)
{
	putchar(c);
	if (c == '\n')
		fflush(stdout);
}

int rtl_get(void)
{
	char c;

	return read(STDIN_FILENO, &c, 1) == 1 ? c : -1;
}

int main(void)
{
#ifdef _POSIX_MEMLOCK
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fputs("rtlite: memory is not locked: pages may fault\n", stderr);
#endif
	rtl_main();
	return 0;
}
