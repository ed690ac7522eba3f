/* UDP to another board and back: each datagram names its activation, so that one that is lost, late or doubled is known. */
#ifndef RTPROBE_FAR_H
#define RTPROBE_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAR_PORT "46046"

/* As it is sent, in network byte order; the far end sends it back as it came. */
struct far_datagram {
	uint8_t mark[8];
	uint32_t run, chain;
	uint32_t high, low; /* of the number of the activation */
};

bool far_is_ours(const void *datagram, size_t size);
/* A socket that is connected to ADDRESS[:PORT]; 0, or an exit code after an error message. */
int far_connect(const char *to, int *fd);
/* Does the far end answer? 0, or an exit code after an error message. */
int far_try(int fd, const char *to, uint32_t run, uint32_t chain);
/* Sends the request of activation k; never blocks. One that is lost is missed at the other end of the chain. */
void far_send(int fd, uint32_t run, uint32_t chain, uint64_t k);
/* Waits for an echo to this run and chain. 0 or errno (EINTR: a signal came). */
int far_wait(int fd, uint32_t run, uint32_t chain, uint64_t *k);

#endif
