/* What drivers tell of a GPU: fdinfo of /dev/dri, and lines of /proc/interrupts. */
#include <string.h>

#include "guard/gpu.h"
#include "tap.h"

static struct gpu gpu;

static bool parse(const char *text, struct gpu_client *c)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	bool whole = gpu_fdinfo_parse(f, c);

	fclose(f);
	return whole;
}

static void test_fdinfo(void)
{
	static const char i915[] = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t522\ndrm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n"
				   "drm-client-id:\t7\ndrm-engine-render:\t25662044495 ns\ndrm-engine-copy:\t5 ns\n"
				   "drm-engine-capacity-video:\t2\ndrm-engine-cycles:\t99 cycles\n";
	struct gpu_client c;

	OK(parse(i915, &c) && c.id == 7 && !strcmp(c.device, "0000:00:02.0") && c.ns == INT64_C(25662044500),
	   "engines are summed; capacities and cycles are no time");
	OK(!parse("pos:\t0\nflags:\t02\ndrm-driver:\tvirtio_gpu\ndrm-client-id:\t7\n", &c), "a driver without engines tells nothing");
	OK(!parse("drm-engine-render:\t5 ns\n", &c), "engines of nobody are not counted");
	OK(!parse("", &c), "an empty file tells nothing");
}

static void test_clients(void)
{
	gpu = (struct gpu){ 0 };
	OK(gpu_engine_ns(&gpu) == -1, "without clients the time is unknown");
	gpu_add(&gpu, &(struct gpu_client){ .id = 1, .device = "a", .ns = 10 });
	gpu_add(&gpu, &(struct gpu_client){ .id = 1, .device = "a", .ns = 15 });
	OK(gpu_engine_ns(&gpu) == 15, "a client that two descriptors share counts once");
	gpu_add(&gpu, &(struct gpu_client){ .id = 1, .device = "b", .ns = 100 });
	gpu_add(&gpu, &(struct gpu_client){ .id = 2, .device = "a", .ns = 1000 });
	OK(gpu_engine_ns(&gpu) == 1115, "another device and another client count beside it");
	gpu_add(&gpu, &(struct gpu_client){ .id = 2, .device = "a", .ns = 3 });
	OK(gpu_engine_ns(&gpu) == 1115, "the time never goes back");
	for (uint64_t id = 10; id < 200; id++)
		gpu_add(&gpu, &(struct gpu_client){ .id = id, .ns = 1 });
	OK(gpu_engine_ns(&gpu) == 1115 + GPU_CLIENTS - 3, "clients beyond the table are left out");
}

static void test_interrupts(void)
{
	gpu = (struct gpu){ .names = { "virtio0", "v3d", "fec00000.gpu" }, .n_names = 3 };
	OK(gpu_interrupts_of(&gpu, " 28:   120    3   PCI-MSI 49152-edge      virtio0-control\n") == 123, "all CPUs are summed");
	OK(gpu_interrupts_of(&gpu, " 66:    9   GICv2 106 Level  v3d_core0\n") == 9, "a driver's name begins a word");
	OK(gpu_interrupts_of(&gpu, " 67:    4   GICv2 107 Level  other, fec00000.gpu\n") == 4, "a shared line names several");
	OK(gpu_interrupts_of(&gpu, " 29:   5    6   PCI-MSI 1-edge      virtio01-input.0\n") == -1, "virtio01 is not virtio0");
	gpu.irqs[gpu.n_irqs++] = 31;
	OK(gpu_interrupts_of(&gpu, " 31:   0   7   PCI-MSI 65537-edge      virtio3-control\n") == 7, "a device's own number needs no name");
	OK(gpu_interrupts_of(&gpu, "LOC:   5    6   Local timer interrupts of v3d\n") == -1, "no device's line");
	OK(gpu_interrupts_of(&gpu, "           CPU0       CPU1\n") == -1, "the head is no line of a device");
	OK(gpu_interrupts_of(&gpu, "") == -1 && gpu_interrupts_of(&gpu, "12") == -1 && gpu_interrupts_of(&gpu, "12:") == -1, "cut lines");
}

int main(void)
{
	test_fdinfo();
	test_clients();
	test_interrupts();
	return tap_end();
}
