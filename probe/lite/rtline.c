/* One line is built, then written with its checksum (wire/CONSOLE.md). */
#include "rtline.h"

#include "rtlite.h"

enum { WORD = 40 };

static struct {
	char text[200]; /* the longest line, H with four large bins, has 170 */
	int length;
	uint32_t seq, lines, crcs;
} out;

void rtl_line_text(const char *s)
{
	while (*s && out.length < (int)sizeof out.text - 1)
		out.text[out.length++] = *s++;
}

void rtl_line_number(int64_t value)
{
	char digits[24];
	int i = sizeof digits - 1;
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	digits[i] = 0;
	do {
		digits[--i] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		digits[--i] = '-';
	rtl_line_text(digits + i);
}

void rtl_line_field(const char *key, int64_t value)
{
	rtl_line_text(" ");
	rtl_line_text(key);
	rtl_line_text("=");
	rtl_line_number(value);
}

void rtl_line_word(const char *key, const char *value)
{
	rtl_line_text(" ");
	rtl_line_text(key);
	rtl_line_text("=");
	for (int i = 0; value[i] && i < WORD; i++) {
		const char one[2] = { value[i] > ' ' && value[i] < 127 ? value[i] : '?', 0 };

		rtl_line_text(one);
	}
}

void rtl_line_begin(const char *kind)
{
	out.length = 0;
	rtl_line_text("@RTL1 ");
	rtl_line_number((int64_t)out.seq++);
	rtl_line_text(" ");
	rtl_line_text(kind);
}

static uint32_t crc32(const char *bytes, int n)
{
	uint32_t crc = 0xFFFFFFFFu;

	while (n--) {
		crc ^= (uint8_t)*bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
	}
	return ~crc;
}

void rtl_line_end(void)
{
	const uint32_t crc = crc32(out.text, out.length);

	for (int i = 0; i < out.length; i++)
		rtl_put(out.text[i]);
	rtl_put(' ');
	rtl_put('*');
	for (int shift = 28; shift >= 0; shift -= 4)
		rtl_put("0123456789abcdef"[crc >> shift & 15]);
	rtl_put('\r');
	rtl_put('\n');
	out.lines++;
	out.crcs ^= crc;
}

void rtl_line_close(void)
{
	const uint32_t lines = out.lines, crcs = out.crcs;

	rtl_line_begin("BYE");
	rtl_line_field("lines", lines);
	rtl_line_field("crcs", crcs);
	rtl_line_end();
	out.lines = 0;
	out.crcs = 0;
}
