/* rtprobe-lite: how late does a thread run after its time was due? For systems that are not Linux, told over a console (wire/CONSOLE.md).
 * rtlite.c and rtload.c are the same everywhere. A port is what this file declares (docs/extend/consoles.md). */
#ifndef RTLITE_H
#define RTLITE_H

#include <stdint.h>

#ifndef RTL_LANES
#define RTL_LANES 1 /* the most CPUs that are measured at once: 6 KiB of memory each */
#endif

/* The facts of a port. Texts are single words. */
struct rtl_port {
	const char *os;     /* "freertos/V11.1.0" */
	const char *board;  /* "mps2-an385" */
	const char *clock;  /* the counter behind rtl_now_ns */
	const char *policy; /* how the system chooses threads: "fixed-priority" */
	const char *sleep;  /* what ends rtl_sleep_until_ns: "timer" at its time, "tick" at the next tick */
	uint32_t clock_hz;  /* of that counter; 0: not known */
	uint32_t tick_hz;   /* 0: the system has no tick */
	/* Keeps every other thread and every interrupt off this CPU, or lets them again. NULL: there is no such load. */
	void (*critical)(int on);
	/* An interrupt every `every_ns` whose handler runs for `busy_ns`; 0, 0 ends it. Not 0: cannot. NULL: there is no such load. */
	int (*storm)(int64_t every_ns, int64_t busy_ns);
	/* A character that is there on the console, or -1; it does not wait. NULL: a run cannot be stopped. */
	int (*typed)(void);
};
extern const struct rtl_port rtl_port;

/* Nanoseconds since any moment. It never runs backwards, on any CPU. */
int64_t rtl_now_ns(void);
/* Sleeps until rtl_now_ns() is `due_ns` or more; not early. Several threads may sleep at once. Not 0: the system refused. */
int rtl_sleep_until_ns(int64_t due_ns);
/* Starts run(argument) on that CPU; twice RTL_LANES threads at once are enough. `priority` is 0 (below every other thread of the program) to 99 (above). Returns the system's own number of
 * the priority that the thread really has, or -1 if it was not started. `*own` is set to 0 if the thread runs without a fixed priority. */
int rtl_thread(void (*run)(void *), void *argument, int priority, int cpu, int *own);
/* Waits until all threads have returned, at most `ms`. Not 0: they have. */
int rtl_join(uint32_t ms);
/* Writes a character to the console; it may wait. */
void rtl_put(char c);
/* Reads a character from the console; it waits. Below 0: the console has ended. Not needed with RTL_AUTORUN. */
int rtl_get(void);

/* Call this from a thread of low priority. It returns at the end of the console, or after the plan of RTL_AUTORUN. */
void rtl_main(void);

/* rtload.c: what runs beside the lanes, on CPUs 0 to `cpus` - 1 (an interrupt: where the board has it). 0: `kind` is "none", or it has started. */
int rtl_load_start(const char *kind, int64_t busy_ns, int64_t every_ns, int cpus);
void rtl_load_stop(void);

#endif
