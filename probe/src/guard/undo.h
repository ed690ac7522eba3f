/* Puts back one change of a board, from the line that the journal has of it. */
#ifndef RTPROBE_UNDO_H
#define RTPROBE_UNDO_H

#include <stddef.h>

#include "guard/lines.h"

enum undone {
	UNDO_SAME,    /* it is as it was, or the thread is gone */
	UNDO_CHANGED, /* it was put back now */
	UNDO_FAILED,
};

enum { UNDO_WHY = 256 };

/*
 *   value PATH OLD                   the file holds OLD again
 *   irq PATH OLD EFFECTIVE           the same of an smp_affinity_list; the interrupt goes to the CPU where it was
 *   policy TID START NAME PRIORITY   the thread that started at START, by its policy before; a thread that is gone needs nothing
 *   affinity TID START LIST          the same for its CPUs
 *   moved PID START FILE             the process goes back to the group of this cgroup.procs
 *   controller FILE NAME             the controller was switched on in this cgroup.subtree_control
 *   directory PATH                   a cgroup, or a group of resctrl, that was made: its members go to its parent
 *   mount PATH                       was mounted
 *   service UNIT                     was stopped
 *   hold PATH VALUE                  was held open: it ended with the process that held it
 *
 * On UNDO_FAILED `why` says why, and the rest is as it was.
 */
enum undone undo(const struct fields *f, char why[UNDO_WHY]);
/* Whether two lines are about the same thing: then the earlier one has the value of before. */
int undo_same_thing(const struct fields *one, const struct fields *other);

/* Runs `systemctl VERB UNIT`, without output. 0 or an errno. */
int service_command(const char *verb, const char *unit);
/* A number of the line; 0 where it is none. */
long field_number(const struct fields *f, int at);
/* The policy of a name of rt_policy_name, "+reset" added where children do not inherit it; -1: no such name. */
int policy_of(const char *name);

#endif
