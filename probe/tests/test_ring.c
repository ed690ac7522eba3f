/* The ring between two threads: every sample arrives once and in order, or is counted as refused. */
#include <pthread.h>
#include <sched.h>

#include "run/ring.h"
#include "tap.h"

enum { SAMPLES = 2000000 };

static struct ring ring;
static uint32_t refused;
static _Atomic int over;

static void *produce(void *unused)
{
	(void)unused;
	for (uint32_t k = 0; k < SAMPLES; k++) {
		if (ring_full(&ring)) {
			refused++;
			if (k % 3 == 0)
				sched_yield();
		} else {
			ring_put(&ring, k, refused, (int64_t)k * 3 - 7);
		}
	}
	atomic_store(&over, 1);
	return NULL;
}

int main(void)
{
	uint64_t got = 0, bad = 0, expected = 0;
	uint32_t dropped = 0;
	pthread_t thread;

	OK(!ring_open(&ring, 5) && ring.mask == 1023, "the least ring has 1024 slots");
	for (uint32_t k = 0; k < 1024; k++) {
		if (ring_full(&ring))
			bad++;
		ring_put(&ring, k, 0, k);
	}
	OK(!bad && ring_full(&ring), "1024 fit, not one more");
	OK(ring_waiting(&ring) == 1024 && ring_at(&ring, 1023)->k == 1023, "all of them wait");
	ring_release(&ring, 1);
	OK(!ring_full(&ring), "one taken, room for one");
	ring_release(&ring, 1023);
	ring_close(&ring);

	/* Start just below the overflow of the 32-bit counters. */
	ring_open(&ring, 1024);
	atomic_store(&ring.head, UINT32_MAX - 500);
	atomic_store(&ring.tail, UINT32_MAX - 500);
	ring.seen_tail = UINT32_MAX - 500;
	pthread_create(&thread, NULL, produce, NULL);
	for (;;) {
		int last = atomic_load(&over);
		uint32_t waiting = ring_waiting(&ring);

		for (uint32_t i = 0; i < waiting; i++) {
			const struct ring_slot *slot = ring_at(&ring, i);

			expected += slot->dropped - dropped;
			dropped = slot->dropped;
			bad += slot->k != expected || slot->latency_ns != (int64_t)slot->k * 3 - 7;
			expected++;
			got++;
		}
		ring_release(&ring, waiting);
		if (last && !waiting)
			break;
	}
	pthread_join(thread, NULL);
	OK(bad == 0, "every sample in its place");
	OK(got + refused == SAMPLES, "%llu arrived, %u refused", (unsigned long long)got, refused);
	OK(ring_open(&ring, UINT64_C(1) << 40) != 0, "an impossible size is refused");
	return tap_end();
}
