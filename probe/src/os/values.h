/* Durations and whole numbers as people write them. */
#ifndef RTPROBE_VALUES_H
#define RTPROBE_VALUES_H

#include <stdint.h>

/* 0, or -1 with a reason (a static string) in *why. */
int parse_duration(const char *text, int64_t *ns, const char **why); /* 200us, 1.5ms, 1h30m */
int parse_integer(const char *text, int64_t *number, const char **why);

/* 812ns, 97.3us, 1.25ms, 12.5s: for people; at most 24 bytes. */
char *format_time(int64_t ns, char out[24]);

#endif
