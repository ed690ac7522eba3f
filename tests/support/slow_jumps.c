/* Preloaded into QEMU: each of its long jumps takes 20 us, which widens the moments between them and what follows. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

#define SLOWER_NS 20000L

typedef void (*jump)(void *, int) __attribute__((noreturn));

static void wait_a_little(void)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < SLOWER_NS);
}

__attribute__((noreturn)) static void jump_with(const char *name, void *target, int value)
{
	wait_a_little();
	((jump)dlsym(RTLD_NEXT, name))(target, value);
	__builtin_unreachable();
}

__attribute__((noreturn)) void siglongjmp(void *target, int value)
{
	jump_with("siglongjmp", target, value);
}

__attribute__((noreturn)) void __longjmp_chk(void *target, int value)
{
	jump_with("__longjmp_chk", target, value);
}
