/* What is sent of the followed threads: their lanes, wake-ups, seconds and account (wire/STREAM.md, "Followed threads"). */
#ifndef RTPROBE_TELL_FOLLOWED_H
#define RTPROBE_TELL_FOLLOWED_H

#include "follow/roster.h"
#include "stream/emit.h"
#include "stream/json.h"

/* The lanes of FACTS, as an array. */
void tell_lanes(struct json *j, const struct roster *r);
/* A lane that was found later: the event `lane`. */
void tell_lane(struct emit *e, const struct roster *r, int lane);
/* A wake-up that completed, for the frames to come; `origin_ns`: the start of the first second. */
void tell_wakeup(struct emit *e, struct followed *f, int lane, const struct wakeup *found, int64_t origin_ns);
/* Frames of the seconds before `now_ns` and of all samples so far. */
void tell_second(struct emit *e, struct roster *r, int64_t now_ns, int64_t origin_ns);
/* The lanes of END. `whole`: no event was lost. */
void tell_accounts(struct json *j, const struct roster *r, bool whole, int64_t closed_ns);

#endif
