/* Sockets on 127.0.0.1. */
#ifndef RTPROBE_LOOPBACK_H
#define RTPROBE_LOOPBACK_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "carriers/carrier.h"

/* A socket of this type on a free port of 127.0.0.1; `at` gets its address. -1 and errno. */
int loopback_socket(int type, struct sockaddr_in *at);
int loopback_connect(int fd, const struct sockaddr_in *to); /* 0 or errno */
void loopback_send(struct channel *c);
int loopback_wait(struct channel *c);

#endif
