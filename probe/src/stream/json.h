/* Builds JSON. */
#ifndef RTPROBE_JSON_H
#define RTPROBE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds commas and escapes. key is NULL inside an array and at the top. Bytes that are not UTF-8 become U+FFFD. Without memory it sets
 * `failed` and ignores all later calls. */
struct json {
	char *text;
	size_t length, capacity;
	bool comma, failed;
};
void json_open(struct json *j);
void json_close(struct json *j); /* frees */
void json_object(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_array(struct json *j, const char *key);
void json_end_array(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL value: null */
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_real(struct json *j, const char *key, double value); /* 6 digits; null if not finite */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

#endif
