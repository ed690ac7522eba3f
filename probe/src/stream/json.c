#include "stream/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_open(struct json *j)
{
	memset(j, 0, sizeof *j);
}

void json_close(struct json *j)
{
	free(j->text);
	memset(j, 0, sizeof *j);
}

static void add(struct json *j, const char *text, size_t length)
{
	if (j->failed)
		return;
	if (j->length + length + 1 > j->capacity) {
		size_t capacity = (j->length + length + 1) * 2;
		char *bigger = realloc(j->text, capacity);

		if (!bigger) {
			j->failed = true;
			return;
		}
		j->text = bigger;
		j->capacity = capacity;
	}
	memcpy(j->text + j->length, text, length);
	j->length += length;
	j->text[j->length] = 0;
}

/* Bytes of the UTF-8 character at `s`, 0 if it is none (also overlong forms, surrogates, beyond U+10FFFF). */
static size_t utf8_length(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	uint32_t value = length == 1 ? *s : length ? *s & (0x7Fu >> length) : 0;

	for (size_t i = 1; i < length; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		value = value << 6 | (s[i] & 0x3F);
	}
	if (length > 1 && (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)))
		return 0;
	return length;
}

static void add_quoted(struct json *j, const char *value)
{
	add(j, "\"", 1);
	for (const unsigned char *s = (const unsigned char *)value; *s;) {
		size_t length = utf8_length(s);
		char escape[8];

		if (!length) {
			add(j, "\xEF\xBF\xBD", 3);
			length = 1;
		} else if (*s == '"' || *s == '\\') {
			escape[0] = '\\';
			escape[1] = (char)*s;
			add(j, escape, 2);
		} else if (*s < 0x20 || *s == 0x7F) {
			add(j, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", *s));
		} else {
			add(j, (const char *)s, length);
		}
		s += length;
	}
	add(j, "\"", 1);
}

static void before(struct json *j, const char *key)
{
	if (j->comma)
		add(j, ",", 1);
	if (key) {
		add_quoted(j, key);
		add(j, ":", 1);
	}
	j->comma = true;
}

static void bracket(struct json *j, const char *text, bool comma_after)
{
	add(j, text, 1);
	j->comma = comma_after;
}

void json_object(struct json *j, const char *key)
{
	before(j, key);
	bracket(j, "{", false);
}

void json_end_object(struct json *j)
{
	bracket(j, "}", true);
}

void json_array(struct json *j, const char *key)
{
	before(j, key);
	bracket(j, "[", false);
}

void json_end_array(struct json *j)
{
	bracket(j, "]", true);
}

static void add_bare(struct json *j, const char *key, const char *text)
{
	before(j, key);
	add(j, text, strlen(text));
}

void json_string(struct json *j, const char *key, const char *value)
{
	if (!value) {
		json_null(j, key);
		return;
	}
	before(j, key);
	add_quoted(j, value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRId64, value);
	add_bare(j, key, text);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, value);
	add_bare(j, key, text);
}

void json_real(struct json *j, const char *key, double value)
{
	char text[32];

	if (value != value || value - value != 0) {
		json_null(j, key);
		return;
	}
	snprintf(text, sizeof text, "%.6g", value);
	add_bare(j, key, text);
}

void json_bool(struct json *j, const char *key, bool value)
{
	add_bare(j, key, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	add_bare(j, key, "null");
}
