/* An application as a user has it: a real-time thread that wakes up on a grid, and an ordinary one beside it. It knows nothing of rtassay.
 * periodic NAME PRIORITY PERIOD_NS SPIN_NS SECONDS FILE: the thread NAME computes for SPIN_NS after each wake-up; the first due time goes to FILE.
 * It leaves out what it has missed, and so always sleeps: where a host has no CPU time for a virtual board, one that makes up for it all takes a CPU of the
 * board for itself, with the network's interrupt threads that wait there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static long long period_ns, spin_ns, first_ns, periods;
static const char *name;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *control(void *unused)
{
	prctl(PR_SET_NAME, name);
	for (long long i = 0; i < periods;) {
		const long long due_ns = first_ns + i * period_ns;
		const struct timespec due = { due_ns / 1000000000, due_ns % 1000000000 };
		long long now;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		for (const long long until_ns = now_ns() + spin_ns; spin_ns && now_ns() < until_ns;)
			;
		now = now_ns();
		i = now < first_ns ? i + 1 : (now - first_ns) / period_ns + 1;
	}
	return unused;
}

static void *logger(void *unused)
{
	prctl(PR_SET_NAME, "logger");
	for (;;)
		usleep(50000);
	return unused;
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = argc == 7 ? atoi(argv[2]) : 0 };
	pthread_attr_t attributes;
	pthread_t thread, other;
	FILE *file;

	if (argc != 7)
		return 2;
	mlockall(MCL_CURRENT | MCL_FUTURE);
	name = argv[1];
	period_ns = atoll(argv[3]);
	spin_ns = atoll(argv[4]);
	first_ns = (now_ns() / 1000000000 + 1) * 1000000000LL + 333333;
	periods = atoll(argv[5]) * 1000000000LL / period_ns;
	file = fopen(argv[6], "w");
	if (!file || fprintf(file, "%lld\n", first_ns) < 0 || fclose(file))
		return 3;
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &param);
	if (pthread_create(&other, NULL, logger, NULL) || pthread_create(&thread, &attributes, control, NULL))
		return 4;
	pthread_join(thread, NULL);
	return 0;
}
