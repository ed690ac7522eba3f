/* Signals that are for nobody here. */
#ifndef RTPROBE_SIGNALS_H
#define RTPROBE_SIGNALS_H

#include <signal.h>

/*
 * Adds every signal that ends a process and that nothing of ours waits for. Orphans of a load have its guard as their parent, and some of
 * stress-ng's send SIGALRM to their parent. What tells of a fault of our own stays out, and job control.
 */
void signals_hold(sigset_t *set);

#endif
