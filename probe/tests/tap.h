/* A test program prints TAP and exits 1 if anything failed. */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>

static int tap_tests, tap_failed;

#define OK(condition, ...) tap_result((condition) ? 1 : 0, __FILE__, __LINE__, #condition, __VA_ARGS__)

__attribute__((format(printf, 5, 6))) static void tap_result(int good, const char *file, int line, const char *what, const char *format,
							     ...)
{
	char name[300];
	__builtin_va_list arguments;

	__builtin_va_start(arguments, format);
	vsnprintf(name, sizeof name, format, arguments);
	__builtin_va_end(arguments);
	printf("%sok %d - %s\n", good ? "" : "not ", ++tap_tests, name);
	if (!good) {
		printf("# %s:%d: %s\n", file, line, what);
		tap_failed++;
	}
}

static int tap_end(void)
{
	printf("1..%d\n", tap_tests);
	return tap_failed != 0;
}

#endif
