/* sysv-semaphore: a semaphore of System V. The kernel keeps it when its process is killed, so each run removes what dead runs left. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

#include "carriers/carrier.h"

/* A key of ours: a mark, and the pid of the process (a pid has at most 22 bits). All channels of a run are in one set, which may have 250. */
enum { MARK = 0x16d, PID_BITS = 22, IN_SET = 250 };

static int set = -1;

static bool is_of_the_dead(unsigned key)
{
	const pid_t pid = (pid_t)(key & ((1u << PID_BITS) - 1));

	return key >> PID_BITS == MARK && pid > 0 && kill(pid, 0) && errno == ESRCH;
}

static void remove_old_sets(void)
{
	FILE *list = fopen("/proc/sysvipc/sem", "re");
	char line[256];
	int key, id;

	while (list && fgets(line, sizeof line, list))
		if (sscanf(line, "%d %d", &key, &id) == 2 && is_of_the_dead((unsigned)key))
			semctl(id, 0, IPC_RMID);
	if (list)
		fclose(list);
}

static int open_in_set(struct channel *c)
{
	const unsigned key = (unsigned)MARK << PID_BITS | (unsigned)getpid();

	if (c->number >= IN_SET)
		return ENOSPC;
	if (set >= 0)
		return 0;
	remove_old_sets();
	set = semget((key_t)key, IN_SET, IPC_CREAT | IPC_EXCL | 0600);
	return set < 0 ? errno : 0;
}

static int change(const struct channel *c, short by, short flags)
{
	struct sembuf operation = { .sem_num = (unsigned short)c->number, .sem_op = by, .sem_flg = flags };

	return semop(set, &operation, 1) ? errno : 0;
}

static void send_request(struct channel *c)
{
	change(c, 1, IPC_NOWAIT);
}

static int wait_request(struct channel *c)
{
	return change(c, -1, 0);
}

static void remove_set(struct channel *c)
{
	(void)c;
	if (set >= 0)
		semctl(set, 0, IPC_RMID);
	set = -1;
}

const struct carrier carrier_sysv_semaphore = {
	.name = "sysv-semaphore",
	.summary = "semop of a System V semaphore",
	.needs = "the kernel needs CONFIG_SYSVIPC; /proc/sys/kernel/sem holds the limits, `ipcs -s` lists the sets",
	.open = open_in_set,
	.send = send_request,
	.wait = wait_request,
	.close = remove_set,
};
