/* Frames byte by byte, JSON, and a stream that cannot be written. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "stream/emit.h"
#include "tap.h"

static void json_is(struct json *j, const char *expected)
{
	OK(!strcmp(j->text, expected), "%s", j->text);
	json_close(j);
}

static void test_json(void)
{
	struct json j;

	json_open(&j);
	json_object(&j, NULL);
	json_string(&j, "s", "a\"b\\c\n\t\x01\x7f/");
	json_string(&j, "n", NULL);
	json_array(&j, "a");
	json_int(&j, NULL, INT64_MIN);
	json_uint(&j, NULL, UINT64_MAX);
	json_array(&j, NULL);
	json_end_array(&j);
	json_object(&j, NULL);
	json_end_object(&j);
	json_bool(&j, NULL, true);
	json_end_array(&j);
	json_real(&j, "r", 0.5);
	json_real(&j, "nan", NAN);
	json_real(&j, "inf", -INFINITY);
	json_null(&j, "z\"");
	json_end_object(&j);
	json_is(&j,
		"{\"s\":\"a\\\"b\\\\c\\u000a\\u0009\\u0001\\u007f/\",\"n\":null,\"a\":[-9223372036854775808,18446744073709551615,[],{},true],"
		"\"r\":0.5,\"nan\":null,\"inf\":null,\"z\\\"\":null}");
	json_open(&j);
	json_array(&j, NULL);
	json_string(&j, NULL, "\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80");
	json_string(&j, NULL, "\xff|\xc2|\xc0\x80|\xed\xa0\x80|\xf5\x80\x80\x80|\xe2\x82");
	json_end_array(&j);
	json_is(&j,
		"[\"\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80\",\"\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\"]");
}

static void test_frame(void)
{
	static const unsigned char head[16] = { 0xF7, 'R', 'T', 'W', 1, 6, 0x34, 0x12, 0, 0, 0, 0, 9, 0, 0, 0 };
	unsigned char got[200];
	struct emit e;
	int ends[2];
	ssize_t length;

	OK(crc32_update(0, "123456789", 9) == 0xCBF43926, "CRC-32 of the standard's own example");
	OK(crc32_update(crc32_update(0, "12345", 5), "6789", 4) == 0xCBF43926, "in two parts");
	if (pipe(ends))
		return;
	emit_open(&e, ends[1], 0);
	emit_frame(&e, FRAME_EVENT, 0x1234, "123456789", 9);
	emit_frame(&e, FRAME_END, LANE_NONE, "", 0);
	OK(!emit_flush(&e) && e.bytes == 57 && e.writes == 1, "two frames in one write");
	length = read(ends[0], got, sizeof got);
	OK(length == 57 && !memcmp(got, head, 16) && !memcmp(got + 24, "123456789", 9), "head and payload");
	OK(got[20] == 0x26 && got[21] == 0x39 && got[22] == 0xF4 && got[23] == 0xCB, "the payload's checksum");
	OK(got[33 + 8] == 1 && got[33 + 5] == 9 && got[33 + 6] == 0xFF, "the second frame has the next number");
	close(ends[0]);
	emit_frame(&e, FRAME_EVENT, 0, "x", 1);
	OK(emit_flush(&e) && e.error == EPIPE && e.write_errors == 1, "a reader that went away is an error, once");
	OK(emit_frame(&e, FRAME_EVENT, 0, "x", 1) == -1, "and stays one");
	close(ends[1]);
	emit_close(&e);
}

static void test_full_disk(void)
{
	char name[] = "/tmp/rtprobe-emit-XXXXXX";
	struct rlimit small = { 10000, 10000 }, before;
	int fd = mkstemp(name);
	char payload[976] = { 0 }; /* a frame of 1000 bytes */
	struct emit e;

	unlink(name);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	emit_open(&e, fd, 0);
	for (int i = 0; i < 3; i++)
		emit_frame(&e, FRAME_FILE, 0, payload, sizeof payload);
	emit_flush(&e);
	small.rlim_cur = 5500; /* room for two and a half more */
	setrlimit(RLIMIT_FSIZE, &small);
	for (int i = 0; i < 9; i++)
		emit_frame(&e, FRAME_FILE, 0, payload, sizeof payload);
	OK(emit_flush(&e) && e.error == EFBIG, "a file that may not grow is an error");
	OK(lseek(fd, 0, SEEK_END) == 5000, "cut back to the last whole frame: %ld", (long)lseek(fd, 0, SEEK_END));
	e.error = 0;
	emit_frame(&e, FRAME_END, LANE_NONE, payload, 400);
	OK(!emit_flush(&e) && lseek(fd, 0, SEEK_END) == 5424, "and a small END still fits");
	setrlimit(RLIMIT_FSIZE, &before);
	emit_close(&e);
	close(fd);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_json();
	test_frame();
	test_full_disk();
	return tap_end();
}
