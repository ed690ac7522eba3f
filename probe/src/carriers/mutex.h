/* A mutex that a thread of low priority holds when the request comes, beside a busy thread of middle priority on the same CPU. */
#ifndef RTPROBE_MUTEX_H
#define RTPROBE_MUTEX_H

#include "carriers/carrier.h"

enum { MUTEX_PRIORITIES = 2 }; /* below the receiver's: the hog's, the holder's */

int mutex_open(struct channel *c, int protocol); /* PTHREAD_PRIO_INHERIT or PTHREAD_PRIO_NONE; 0 or errno */
void mutex_send(struct channel *c);
int mutex_wait(struct channel *c);

#endif
