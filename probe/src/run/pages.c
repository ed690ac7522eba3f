#include "run/pages.h"

#include <stdlib.h>
#include <string.h>

static const int64_t before_due_ns = 2000000;
/* The commit counter follows the timestamp; its lowest 32 bits come first on every board we know. */
enum { COMMIT_AT = 8 };
static const uint32_t missed_events = UINT32_C(1) << 31;

int pages_open(struct pages *p, int cpu, size_t page_size, size_t room)
{
	*p = (struct pages){ .cpu = cpu, .size = page_size, .room = room, .forgotten_ns = INT64_MIN };
	p->page = calloc(room, sizeof *p->page);
	p->memory = calloc(room, page_size);
	for (size_t i = 0; p->page && p->memory && i < room; i++)
		p->page[i].data = p->memory + i * page_size;
	return p->page && p->memory ? 0 : -1;
}

void pages_close(struct pages *p)
{
	free(p->page);
	free(p->memory);
	*p = (struct pages){ 0 };
}

static struct page *at(const struct pages *p, uint64_t number)
{
	return &p->page[number % p->room];
}

unsigned char *pages_next(struct pages *p)
{
	return at(p, p->count)->data;
}

static void pick_page(const struct pages *p, struct page *page, const struct pick *pick)
{
	bool wanted = false;

	for (int i = 0; i < pick->n; i++) {
		struct pending *hit = &pick->pending[i];
		const bool own = hit->hit.cpu == p->cpu;

		if (page->end_ns < hit->hit.due_ns - before_due_ns || page->start_ns > hit->hit.woke_ns)
			continue;
		if (own && page->missed && page->start_ns > hit->hit.due_ns)
			hit->lost = true;
		if (own && ++hit->own_pages > PAGES_PER_HIT)
			hit->lost = true;
		wanted |= hit->own_pages <= PAGES_PER_HIT;
	}
	if (wanted && !page->kept) {
		page->kept = true;
		pick->keep(pick->context, p->cpu, page->data, p->size);
	}
}

void pages_add(struct pages *p, const struct pick *pick)
{
	struct page *page = at(p, p->count);
	uint32_t commit;

	/* The data are there already, but the rest still tells of the page that stood here. */
	memcpy(&page->start_ns, page->data, sizeof page->start_ns);
	memcpy(&commit, page->data + COMMIT_AT, sizeof commit);
	p->forgotten_ns = p->count >= p->room ? page->end_ns : INT64_MIN;
	page->end_ns = INT64_MAX;
	page->missed = commit & missed_events;
	page->kept = false;
	if (p->count && at(p, p->count - 1)->end_ns == INT64_MAX) {
		at(p, p->count - 1)->end_ns = page->start_ns;
		pick_page(p, at(p, p->count - 1), pick);
	}
	p->count++;
}

void pages_end(struct pages *p, int64_t now_ns, const struct pick *pick)
{
	struct page *last = p->count ? at(p, p->count - 1) : NULL;

	if (!last || last->end_ns != INT64_MAX)
		return;
	last->end_ns = now_ns;
	pick_page(p, last, pick);
}

void pages_again(struct pages *p, const struct pick *pick)
{
	for (int i = 0; i < pick->n; i++)
		if (pick->pending[i].hit.cpu == p->cpu && pick->pending[i].hit.due_ns < p->forgotten_ns)
			pick->pending[i].lost = true;
	for (uint64_t i = p->count > p->room ? p->count - p->room : 0; i < p->count; i++)
		pick_page(p, at(p, i), pick);
}

bool pending_is_captured(const struct pending *p)
{
	return p->own_pages > 0 && !p->lost;
}
