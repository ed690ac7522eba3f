/* Whether a GPU works for a tree of processes: the engine time that its driver tells in /proc/PID/fdinfo (Documentation/gpu/drm-usage-stats
 * of the kernel; not every driver does), and the interrupts of the graphics devices. */
#ifndef RTPROBE_GPU_H
#define RTPROBE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { GPU_CLIENTS = 64, GPU_NAMES = 16, GPU_NAME = 64, GPU_IRQS = 64 };

/* One open device; several descriptors and processes may share it. */
struct gpu_client {
	uint64_t id;
	char device[GPU_NAME]; /* its bus address; empty where the driver does not tell */
	int64_t ns; /* of all its engines */
};

struct gpu {
	struct gpu_client clients[GPU_CLIENTS]; /* those that were closed keep their last time */
	size_t n_clients;
	char names[GPU_NAMES][GPU_NAME]; /* of graphics devices and their drivers, as /proc/interrupts may name them */
	size_t n_names;
	unsigned long irqs[GPU_IRQS]; /* their message-signalled interrupts */
	size_t n_irqs;
	int64_t interrupts_before; /* -1: no interrupt of a graphics device is known */
};

/* Notes what graphics devices there are, and their interrupts so far. */
void gpu_begin(struct gpu *g);
/* Adds what a process has open. */
void gpu_look(struct gpu *g, pid_t pid);
/* Engine time so far, never less than before; -1 where no driver told any. */
int64_t gpu_engine_ns(const struct gpu *g);
/* Interrupts of all graphics devices since gpu_begin, whoever caused them; -1: unknown. */
int64_t gpu_interrupts(const struct gpu *g);

/* False: the text of fdinfo names no client or no engine. */
bool gpu_fdinfo_parse(FILE *f, struct gpu_client *c);
void gpu_add(struct gpu *g, const struct gpu_client *c);
/* Counts of one line of /proc/interrupts, -1 if it is of no graphics device. */
int64_t gpu_interrupts_of(const struct gpu *g, const char *line);

#endif
