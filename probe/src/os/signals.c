#include "os/signals.h"

void signals_hold(sigset_t *set)
{
	static const int ordinary[] = { SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU, SIGXFSZ };

	for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
		sigaddset(set, ordinary[i]);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		sigaddset(set, number);
}
