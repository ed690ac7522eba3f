#include "os/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_line(const char *text)
{
	char line[1100];
	int length = snprintf(line, sizeof line - 1, "rtprobe: %s", text);

	if (length > (int)sizeof line - 2)
		length = (int)sizeof line - 2;
	line[length++] = '\n';
	/* Ignored: there is no other place for a message. */
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

void say(const char *what, const char *why, const char *hint)
{
	char text[1024];

	snprintf(text, sizeof text, "%s%s%s%s%s", what, why ? ": " : "", why ? why : "", hint ? "; " : "", hint ? hint : "");
	write_line(text);
}

int say_fail(int code, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	write_line(text);
	return code;
}

void say_note(const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	write_line(text);
}
