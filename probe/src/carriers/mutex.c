/* mutex and pi-mutex: the receiver wants a mutex that a thread of low priority holds.
 *
 * All three threads are on the receiver's CPU. A request wakes the receiver, a hog (one priority lower) that is busy for a time, and the
 * holder (two lower), which has the mutex and needs it for a time more. The receiver comes first and waits for the mutex. With priority
 * inheritance the holder then runs before the hog, without it only after the hog: the priority inversion. The request has arrived when
 * the receiver has the mutex. */
#include "carriers/mutex.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/rt.h"

enum { STACK_BYTES = 64 * 1024 };

struct helper {
	struct channel *channel;
	int below; /* its priority is so much lower than the receiver's */
	sem_t go, ready;
	int error;
};

struct lock {
	pthread_mutex_t mutex;
	sem_t request;
	struct helper hog, holder;
};

static void be_busy(int64_t ns)
{
	const int64_t until_ns = mono_ns() + ns;

	while (mono_ns() < until_ns)
		;
}

/* Takes all requests at once: after a stall the helpers do their part once. */
static void wait_go(struct helper *helper)
{
	while (sem_wait(&helper->go))
		;
	while (!sem_trywait(&helper->go))
		;
}

/* Takes its place and says whether it got it: what was given is read back. */
static bool take_place(struct helper *helper)
{
	const struct channel *c = helper->channel;
	const int priority = c->priority - helper->below;
	struct cpus only = { 0 };
	struct obtained got;

	cpus_add(&only, c->cpu);
	helper->error = rt_pin(0, &only);
	if (!helper->error)
		helper->error = rt_set_policy(0, c->policy, priority);
	got = rt_look(0);
	if (!helper->error && got.known && (got.policy != c->policy || got.priority != priority || !cpus_has(&got.affinity, c->cpu)))
		helper->error = EPERM;
	return !helper->error;
}

static void *hog_thread(void *argument)
{
	struct helper *helper = argument;

	if (!take_place(helper)) {
		sem_post(&helper->ready);
		return NULL;
	}
	sem_post(&helper->ready);
	for (;;) {
		wait_go(helper);
		be_busy(helper->channel->hog_ns);
	}
	return NULL;
}

static void *holder_thread(void *argument)
{
	struct helper *helper = argument;
	struct lock *lock = helper->channel->more;

	if (!take_place(helper)) {
		sem_post(&helper->ready);
		return NULL;
	}
	pthread_mutex_lock(&lock->mutex);
	sem_post(&helper->ready);
	for (;;) {
		wait_go(helper);
		be_busy(helper->channel->section_ns);
		pthread_mutex_unlock(&lock->mutex); /* the receiver runs before the next line */
		pthread_mutex_lock(&lock->mutex);
	}
	return NULL;
}

static int start_helper(struct helper *helper, struct channel *c, int below, void *(*body)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	helper->channel = c;
	helper->below = below;
	if (sem_init(&helper->go, 0, 0) || sem_init(&helper->ready, 0, 0))
		return errno;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, body, helper);
	pthread_attr_destroy(&attributes);
	if (error)
		return error;
	while (sem_wait(&helper->ready))
		;
	return helper->error;
}

int mutex_open(struct channel *c, int protocol)
{
	pthread_mutexattr_t attributes;
	struct lock *lock = calloc(1, sizeof *lock);
	int error;

	if (!lock || sem_init(&lock->request, 0, 0))
		return ENOMEM;
	c->more = lock;
	pthread_mutexattr_init(&attributes);
	error = pthread_mutexattr_setprotocol(&attributes, protocol);
	if (!error)
		error = pthread_mutex_init(&lock->mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	if (!error)
		error = start_helper(&lock->hog, c, 1, hog_thread);
	return error ? error : start_helper(&lock->holder, c, 2, holder_thread);
}

void mutex_send(struct channel *c)
{
	struct lock *lock = c->more;

	sem_post(&lock->request);
	if (c->hog_ns)
		sem_post(&lock->hog.go);
	sem_post(&lock->holder.go);
}

int mutex_wait(struct channel *c)
{
	struct lock *lock = c->more;

	if (sem_wait(&lock->request))
		return errno;
	pthread_mutex_lock(&lock->mutex);
	pthread_mutex_unlock(&lock->mutex);
	return 0;
}

extern const struct carrier carrier_semaphore;

static int open_plain(struct channel *c)
{
	return mutex_open(c, PTHREAD_PRIO_NONE);
}

const struct carrier carrier_mutex = {
	.name = "mutex",
	.summary = "a mutex without priority inheritance",
	.needs = "it needs a real-time policy of three priorities: run as root, or raise the limit (ulimit -r)",
	.answers_by = &carrier_semaphore,
	.priorities_below = MUTEX_PRIORITIES,
	.open = open_plain,
	.send = mutex_send,
	.wait = mutex_wait,
};
