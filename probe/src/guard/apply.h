/* Applies a plan of settings: each line is journaled before its change is made, and its effect is read back. */
#ifndef RTPROBE_APPLY_H
#define RTPROBE_APPLY_H

#include <stdbool.h>

/*
 * Lines of a plan (fields as in lines.h):
 *   write PATH VALUE [ALSO...]       VALUE into the file; the files of ALSO (patterns; @threads for the CPUs of all threads) may change with it
 *   hold PATH VALUE                  the file open with VALUE in it, until the end of this process
 *   policy TID START NAME PRIORITY   of the thread that started at START; `=COMM` instead of START: whose name it is
 *   affinity TID START LIST
 *   programs LIST                    the CPUs of every thread of a program that may use all CPUs
 *   directory PATH                   made; a cgroup or a group of resctrl
 *   set PATH VALUE                   VALUE into a file of a directory that this plan makes
 *   controller FILE NAME             switched on in this cgroup.subtree_control
 *   move FILE PID START OLD          the process into the group of this cgroup.procs; OLD is the one where it is now
 *   mount TYPE PATH
 *   service UNIT                     stopped
 *
 * What became of a line: `same` (it was so already), `took`, `differs` (written, and the board shows another value), `refused` (with the
 * reason), `gone` (the thread has ended).
 */
struct applying {
	int journal; /* what to put back goes here, synced before the change; -1: nothing is changed, only told */
	int results; /* a line `INDEX STATE NOW WHY` for each line of the plan; with no journal `INDEX` and the journal's line */
};

/* All lines of the plan in `text`, which is written to. 0, or an exit code after having said why. Held files stay open. */
int apply_plan(const struct applying *a, char *text);

#endif
