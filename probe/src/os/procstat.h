/* The fields of /proc/PID/stat, numbered as in proc(5). */
#ifndef RTPROBE_PROCSTAT_H
#define RTPROBE_PROCSTAT_H

/* The text behind the name (field 2), which stands in brackets and may hold anything, brackets and line ends too; NULL: no stat line. */
const char *stat_after_name(const char *text);
/* Field `number` (4 and up) as a number; 0 where the line ends before it. Negative fields wrap. */
unsigned long long stat_field(const char *after_name, int number);

#endif
