/* Which pages of the trace ring are kept: those that overlap [due - 2 ms, woke] of a hit. Of a page only the timestamp at its start and the
 * missed-events bit are read. The last pages of each CPU are remembered, since a later hit may want them. */
#ifndef RTPROBE_PAGES_H
#define RTPROBE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/hits.h"

enum { PENDING_MOST = 64, PAGES_PER_HIT = 256 }; /* of one CPU */

struct pending {
	struct hit hit;
	int own_pages; /* of its CPU that overlap it */
	bool lost; /* events of its CPU were lost in its time, or there were too many pages */
	bool beyond; /* the limits of its second; it was the worst so far (run/choice.h) */
};

struct page {
	int64_t start_ns, end_ns;
	bool missed, kept;
	unsigned char *data;
};

/* The pages of one CPU. */
struct pages {
	int cpu;
	size_t size, room; /* bytes of a page; pages remembered */
	uint64_t count; /* pages taken so far; the newest is page[(count - 1) % room] */
	int64_t forgotten_ns; /* pages that ended before are remembered no more */
	struct page *page;
	unsigned char *memory;
};

/* `keep` gets each page that is wanted, once. */
struct pick {
	struct pending *pending;
	int n;
	void (*keep)(void *context, int cpu, const void *page, size_t size);
	void *context;
};

/* 0, or -1 without memory. */
int pages_open(struct pages *p, int cpu, size_t page_size, size_t room);
void pages_close(struct pages *p);
/* Room for the next page: `size` bytes. */
unsigned char *pages_next(struct pages *p);
/* The page was read: the one before it ends where it begins, and is picked for the hits that wait. */
void pages_add(struct pages *p, const struct pick *pick);
/* The ring is empty: the newest page ends now. */
void pages_end(struct pages *p, int64_t now_ns, const struct pick *pick);
/* Picks for new hits from the pages that were read before; to be called before the ring is read. */
void pages_again(struct pages *p, const struct pick *pick);
/* Was all the time of this hit in pages? To be asked when the ring of its CPU is empty. */
bool pending_is_captured(const struct pending *p);

#endif
