#ifndef RTLINE_H
#define RTLINE_H

#include <stdint.h>

/* A line of that kind begins. Its text has room for 199 characters. */
void rtl_line_begin(const char *kind);
void rtl_line_text(const char *text);
void rtl_line_number(int64_t value);
/* " key=value"; a word is cut at 40 characters, and what is none of ASCII becomes `?`. */
void rtl_line_field(const char *key, int64_t value);
void rtl_line_word(const char *key, const char *value);
/* Writes it. */
void rtl_line_end(void);
/* The line that ends a session: how many lines there were, and their checksums combined. The next session counts anew. */
void rtl_line_close(void);

#endif
