#include "run/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { RING_LEAST = 1024, RING_MOST = 1 << 26 };

int ring_open(struct ring *r, uint64_t samples)
{
	uint64_t size = RING_LEAST;

	memset(r, 0, sizeof *r);
	while (size < samples)
		size *= 2;
	if (size > RING_MOST) {
		errno = ENOMEM;
		return -1;
	}
	r->mask = (uint32_t)size - 1;
	r->slots = mmap(NULL, ring_bytes(r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r->slots == MAP_FAILED) {
		r->slots = NULL;
		return -1;
	}
	memset(r->slots, 0, ring_bytes(r)); /* MAP_POPULATE may fail without an error; writing cannot */
	return 0;
}

void ring_close(struct ring *r)
{
	if (r->slots)
		munmap(r->slots, ring_bytes(r));
	r->slots = NULL;
}

size_t ring_bytes(const struct ring *r)
{
	return ((size_t)r->mask + 1) * sizeof *r->slots;
}
