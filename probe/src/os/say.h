/* Messages on stderr: what happened, why, and what to do. And the exit codes of all commands. */
#ifndef RTPROBE_SAY_H
#define RTPROBE_SAY_H

enum exit_code {
	EXIT_DONE = 0,
	EXIT_HIT = 1,   /* --break-above was hit */
	EXIT_USAGE = 2,
	EXIT_BOARD = 3, /* board, environment, a full disk */
	EXIT_BUG = 70,
};

/* "rtprobe: WHAT: WHY; HINT" on one line; why and hint may be NULL. One write, so that lines never mix. */
void say(const char *what, const char *why, const char *hint);
/* The same, printf style; returns `code`, so that `return say_fail(EXIT_BOARD, "...")` reads well. */
int say_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
