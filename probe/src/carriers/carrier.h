/* A carrier takes a request from one thread to another: one file that ends in one of these, plus one line in carriers.def.
 * A request has no content. The receiver looks up by itself which activations were sent, so a carrier may join several requests to one
 * (eventfd), and may hold back requests that nobody took yet (pipe).
 */
#ifndef RTPROBE_CARRIER_H
#define RTPROBE_CARRIER_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct carrier;

/* One direction between two lanes. */
struct channel {
	const struct carrier *carrier;
	int number;            /* of all channels of this run, from 0 */
	const pid_t *receiver; /* its tid; set once the lanes run */
	/* The receiver's place, for carriers with helper threads. */
	int cpu, policy, priority;
	int64_t section_ns, hog_ns;

	/* As a carrier needs them. */
	int in, out;
	_Atomic uint32_t word;
	sem_t semaphore;
	void *more;
};

struct carrier {
	const char *name;    /* as the user types it, and the variant of the measure */
	const char *summary; /* after "by": "by a byte in a pipe" */
	const char *needs;   /* what to do where `open` fails; NULL: nothing helps */
	const struct carrier *answers_by; /* NULL: by itself */
	int priorities_below; /* helper threads run so many priorities below the receiver; they need a real-time policy */
	/* Once, before any lane starts. 0 or errno. */
	int (*open)(struct channel *c);
	/* By the sender. Never blocks; a request that finds no room wakes nobody. */
	void (*send)(struct channel *c);
	/* By the receiver: until a request is there, or a signal comes. 0 or errno. It may return without a request. */
	int (*wait)(struct channel *c);
	/* Removes what would outlive this process. NULL: nothing. */
	void (*close)(struct channel *c);
};

/* In the order of carriers.def. */
extern const struct carrier *const carriers[];
extern const char *const carrier_names[]; /* ends with NULL */

#endif
