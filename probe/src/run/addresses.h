/* Words of trace pages that may be addresses of kernel code, and the symbols that stand nearest below them. */
#ifndef RTPROBE_ADDRESSES_H
#define RTPROBE_ADDRESSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDRESSES_MOST = 12288, ADDRESSES_SLOTS = 16384 };

struct addresses {
	bool wide;  /* the kernel has addresses of 64 bit */
	size_t used; /* at most ADDRESSES_MOST: more are not taken */
	uint64_t slot[ADDRESSES_SLOTS]; /* open addressing; 0 is empty */
};

/* Does this kernel have addresses of 64 bit, whatever this program was built for? */
bool addresses_are_wide(void);
void addresses_scan(struct addresses *a, const void *page, size_t length);
/* Reads /proc/kallsyms from `fd` and returns its lines that are wanted, to be freed; NULL: there are none (the kernel hides addresses),
 * or no memory. Sorts `a`: scan no more after it. `beats` counts as a sign of progress. */
char *addresses_resolve(struct addresses *a, int fd, _Atomic uint32_t *beats, size_t *length);

#endif
