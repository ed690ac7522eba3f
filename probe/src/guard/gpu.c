#include "guard/gpu.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool gpu_fdinfo_parse(FILE *f, struct gpu_client *c)
{
	char line[256], unit[4];
	bool client = false, engine = false;
	uint64_t ns;

	*c = (struct gpu_client){ 0 };
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "drm-client-id: %" SCNu64, &c->id) == 1) {
			client = true;
		} else if (!strncmp(line, "drm-pdev:", 9)) {
			sscanf(line, "drm-pdev: %63s", c->device);
		} else if (!strncmp(line, "drm-engine-", 11) && sscanf(line, "drm-engine-%*[^:]: %" SCNu64 " %3s", &ns, unit) == 2 &&
			   !strcmp(unit, "ns") && ns <= INT64_MAX / 1024) {
			c->ns += (int64_t)ns;
			engine = true;
		}
	}
	return client && engine;
}

void gpu_add(struct gpu *g, const struct gpu_client *c)
{
	size_t i = 0;

	while (i < g->n_clients && (g->clients[i].id != c->id || strcmp(g->clients[i].device, c->device)))
		i++;
	if (i == GPU_CLIENTS)
		return; /* what is told stays below the truth */
	if (i == g->n_clients)
		g->clients[g->n_clients++] = *c;
	else if (c->ns > g->clients[i].ns)
		g->clients[i].ns = c->ns;
}

/* Only descriptors of /dev/dri are read: a load may have thousands of others. */
void gpu_look(struct gpu *g, pid_t pid)
{
	struct gpu_client client;
	struct dirent *entry;
	char path[300], target[16];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		FILE *f = NULL;

		snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, entry->d_name);
		if (readlink(path, target, sizeof target) >= 9 && !memcmp(target, "/dev/dri/", 9)) {
			snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, entry->d_name);
			f = fopen(path, "re");
		}
		if (f && gpu_fdinfo_parse(f, &client))
			gpu_add(g, &client);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
}

int64_t gpu_engine_ns(const struct gpu *g)
{
	int64_t ns = 0;

	for (size_t i = 0; i < g->n_clients; i++)
		ns += g->clients[i].ns;
	return g->n_clients ? ns : -1;
}

/* The name stands in the text as a word or as the beginning of one: `i915`, `virtio0-control`, `v3d_core0`, `fec00000.gpu`. */
static bool names(const char *text, const char *name)
{
	const char *at = text;
	size_t n = strlen(name);

	while ((at = strstr(at, name)) != NULL) {
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
			return true;
		at++;
	}
	return false;
}

int64_t gpu_interrupts_of(const struct gpu *g, const char *line)
{
	unsigned long number;
	char *after;
	int64_t sum = 0;

	number = strtoul(line, &after, 10);
	if (after == line || *after != ':')
		return -1; /* NMI, LOC ...: of no device */
	for (const char *at = after + 1;; at = after) {
		unsigned long long count = strtoull(at, &after, 10);

		if (after == at || !isspace((unsigned char)*after))
			break;
		sum += (int64_t)count;
	}
	for (size_t i = 0; i < g->n_irqs; i++)
		if (g->irqs[i] == number)
			return sum;
	for (size_t i = 0; i < g->n_names; i++)
		if (names(after, g->names[i]))
			return sum;
	return -1;
}

static int64_t interrupts_now(const struct gpu *g)
{
	FILE *f = g->n_names || g->n_irqs ? fopen("/proc/interrupts", "re") : NULL;
	char *line = NULL;
	size_t size = 0;
	int64_t sum = -1;

	while (f && getline(&line, &size, f) > 0) {
		int64_t n = gpu_interrupts_of(g, line);

		if (n >= 0)
			sum = (sum < 0 ? 0 : sum) + n;
	}
	free(line);
	if (f)
		fclose(f);
	return sum;
}

/* The last word of what a link in /sys points to. */
static void note_name(struct gpu *g, const char *link)
{
	char target[512], *name;
	ssize_t n = readlink(link, target, sizeof target - 1);

	if (n <= 0 || g->n_names == GPU_NAMES)
		return;
	target[n] = 0;
	name = strrchr(target, '/');
	if (name && name[1] && strlen(name + 1) < GPU_NAME)
		strcpy(g->names[g->n_names++], name + 1);
}

static void note_irqs(struct gpu *g, const char *directory)
{
	struct dirent *entry;
	DIR *dir = opendir(directory);

	while (dir && (entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) && g->n_irqs < GPU_IRQS)
			g->irqs[g->n_irqs++] = strtoul(entry->d_name, NULL, 10);
	if (dir)
		closedir(dir);
}

void gpu_begin(struct gpu *g)
{
	struct dirent *entry;
	char path[320];
	DIR *dir = opendir("/sys/class/drm");

	*g = (struct gpu){ 0 };
	while (dir && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "card", 4) || strchr(entry->d_name, '-')) /* card0-HDMI-A-1 is a connector */
			continue;
		snprintf(path, sizeof path, "/sys/class/drm/%s/device", entry->d_name);
		note_name(g, path);
		snprintf(path, sizeof path, "/sys/class/drm/%s/device/driver", entry->d_name);
		note_name(g, path);
		snprintf(path, sizeof path, "/sys/class/drm/%s/device/msi_irqs", entry->d_name);
		note_irqs(g, path);
	}
	if (dir)
		closedir(dir);
	g->interrupts_before = interrupts_now(g);
}

int64_t gpu_interrupts(const struct gpu *g)
{
	int64_t now = interrupts_now(g);

	if (now < 0)
		return -1;
	return now > g->interrupts_before ? now - (g->interrupts_before < 0 ? 0 : g->interrupts_before) : 0;
}
