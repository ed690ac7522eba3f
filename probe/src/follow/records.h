/* Two events out of pages of the trace ring: who was woken, and who got the CPU. Where a field lies, the kernel's own texts tell. */
#ifndef RTPROBE_RECORDS_H
#define RTPROBE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_field {
	size_t offset, size;
};

struct records {
	size_t commit_at, commit_size, data_at; /* of a page */
	uint32_t switch_id, waking_id;          /* numbers of the events */
	struct record_field out, out_state, into, woken;
};

/* One event. A waking: `tid` was woken. A switch: the CPU went from `out` to `tid`; `out_runnable`: it still wanted to run. A loss:
 * events are missing before this moment. */
enum moment_kind { MOMENT_WAKING, MOMENT_SWITCH, MOMENT_LOSS };
struct moment {
	int64_t ns;
	uint32_t order; /* among moments of one time, as they were read */
	int32_t cpu, tid, out;
	enum moment_kind kind;
	bool out_runnable;
};

/* From the texts of events/header_page and of the formats of sched_switch and sched_waking. 0, or -1: they are not what they should be. */
int records_layout(struct records *r, const char *header_page, const char *of_switch, const char *of_waking);
/* The moments of a page in their order, at most `most`; returns their number. What cannot be a page ends in a loss. */
size_t records_read(const struct records *r, const unsigned char *page, size_t size, int cpu, struct moment *out, size_t most);

#endif
