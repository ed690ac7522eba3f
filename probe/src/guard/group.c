#include "guard/group.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/files.h"

#define NAME "rtassay-guard-"

static bool write_to(const char *group, const char *file, const char *text)
{
	char path[GROUP_PATH + 32];
	bool done;
	int fd;

	snprintf(path, sizeof path, "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) > 0;
	close(fd);
	return done;
}

/* Where the cgroups of version 2 are mounted, from their root on: "ID PARENT MAJ:MIN ROOT MOUNT OPTIONS ... - cgroup2 ...". */
static bool find_mount(char *out, size_t size)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[1024], root[256], mount[256];
	bool found = false;

	while (mounts && !found && fgets(line, sizeof line, mounts))
		if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %255s %255s", root, mount) == 2 && !strcmp(root, "/"))
			found = (size_t)snprintf(out, size, "%s", mount) < size;
	if (mounts)
		fclose(mounts);
	return found;
}

/* The cgroup this process is in, as a path of the file system. */
static bool find_own(char *out, size_t size)
{
	FILE *own = fopen("/proc/self/cgroup", "re");
	char line[512], mount[256];
	bool found = false;

	while (own && !found && fgets(line, sizeof line, own)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0::/", 4) && find_mount(mount, sizeof mount))
			found = (size_t)snprintf(out, size, "%s%s", mount, line[4] ? line + 3 : "") < size;
	}
	if (own)
		fclose(own);
	return found;
}

/* With the cpu controller the group gets its own share of the CPU, which would change the load. */
static bool changes_nothing(const char *group)
{
	char path[GROUP_PATH + 32], text[512];

	snprintf(path, sizeof path, "%s/cgroup.kill", group);
	if (access(path, W_OK))
		return false;
	snprintf(path, sizeof path, "%s/cgroup.controllers", group);
	if (read_small(path, text, sizeof text) < 0)
		return false;
	for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n"))
		if (!strncmp(word, "cpu", 3))
			return false;
	return true;
}

/* The lock of a group, or -1: somebody else holds it. */
static int lock_group(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -1;
}

/* Ends what guards left that were killed together with their standby: nobody else does. */
static void end_left(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char path[GROUP_PATH + 256 + 2];
		int lock;

		if (strncmp(entry->d_name, NAME, strlen(NAME)))
			continue;
		snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
		lock = strlen(path) < GROUP_PATH ? lock_group(path) : -1;
		if (lock < 0)
			continue;
		write_to(path, "cgroup.kill", "1");
		rmdir(path); /* fails until all have ended: the next guard tries again */
		close(lock);
	}
	if (dir)
		closedir(dir);
}

bool group_make(struct group *g)
{
	char own[GROUP_PATH - 64];

	g->path[0] = 0;
	if (!find_own(own, sizeof own))
		return false;
	end_left(own);
	snprintf(g->path, sizeof g->path, "%s/" NAME "%d", own, (int)getpid());
	if (mkdir(g->path, 0755)) {
		g->path[0] = 0;
		return false;
	}
	g->lock = lock_group(g->path);
	if (g->lock >= 0 && changes_nothing(g->path))
		return true;
	group_remove(g);
	return false;
}

bool group_join(const struct group *g)
{
	return g->path[0] && write_to(g->path, "cgroup.procs", "0");
}

size_t group_count(const struct group *g)
{
	char path[GROUP_PATH + 32], line[32];
	size_t n = 0;
	FILE *file;

	if (!g->path[0])
		return 0;
	snprintf(path, sizeof path, "%s/cgroup.procs", g->path);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		n++;
	if (file)
		fclose(file);
	return n;
}

bool group_kill(const struct group *g)
{
	return g->path[0] && write_to(g->path, "cgroup.kill", "1");
}

void group_remove(struct group *g)
{
	if (!g->path[0])
		return;
	rmdir(g->path);
	if (g->lock >= 0)
		close(g->lock);
	*g = (struct group){ .lock = -1 };
}
