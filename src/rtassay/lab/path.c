/* A plugin of QEMU (TCG): it follows the guest block by block up to one activation of rtprobe, and writes the last blocks into a file.
 * Following costs the guest no virtual time. Interface: docs/devel/tcg-plugins.rst of QEMU; QEMU 9.0 changed qemu_plugin_insn_data.
 *
 * Arguments: marker=ADDRESS (the nop of rtprobe's tracepoint), hit=N (which pass over it, from 0), out=FILE.
 * The file: records of `struct block`, the oldest first, the block with the marker last. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef API
#define API 1
#endif
#define EXPORT __attribute__((visibility("default")))
#define KEPT (1u << 21)
#define NOP 0x90

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*translated_fn)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_fn)(unsigned int, void *);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_fn, enum qemu_plugin_cb_flags, void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed_fn, enum qemu_plugin_cb_flags, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
#if API == 1
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);
#endif

EXPORT int qemu_plugin_version = API;

struct block {
	uint64_t address;
	uint64_t instructions;
};

static struct block *ring;
static uint64_t seen, marker;
static long hit, hits;
static const char *out;
static bool over;

static void block_ran(unsigned int cpu, void *of)
{
	(void)cpu;
	if (!over)
		ring[seen++ % KEPT] = *(const struct block *)of;
}

static void marker_ran(unsigned int cpu, void *of)
{
	(void)cpu, (void)of;
	if (over || hits++ != hit)
		return;
	over = true;
	FILE *file = fopen(out, "wb");
	const uint64_t first = seen > KEPT ? seen - KEPT : 0;

	if (!file)
		return; /* the host misses the file, and says so */
	for (uint64_t at = first; at < seen; at++)
		fwrite(&ring[at % KEPT], sizeof *ring, 1, file);
	fclose(file);
}

static bool is_marker(const struct qemu_plugin_insn *one)
{
	unsigned char byte;

	if (qemu_plugin_insn_vaddr(one) != marker || qemu_plugin_insn_size(one) != 1)
		return false; /* another program at the same address */
#if API == 1
	byte = *(const unsigned char *)qemu_plugin_insn_data(one);
#else
	if (qemu_plugin_insn_data(one, &byte, 1) != 1)
		return false;
#endif
	return byte == NOP;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *block = malloc(sizeof *block); /* as long as QEMU lives: it keeps the translation */
	const size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	if (!block)
		abort();
	*block = (struct block){ qemu_plugin_tb_vaddr(tb), n };
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_ran, QEMU_PLUGIN_CB_NO_REGS, block);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *one = qemu_plugin_tb_get_insn(tb, i);

		if (is_marker(one))
			qemu_plugin_register_vcpu_insn_exec_cb(one, marker_ran, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "marker=", 7))
			marker = strtoull(argv[i] + 7, NULL, 0);
		else if (!strncmp(argv[i], "hit=", 4))
			hit = strtol(argv[i] + 4, NULL, 10);
		else if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	}
	ring = calloc(KEPT, sizeof *ring);
	if (!ring || !out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
