/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast */
/*
 * Shows that every format returns its input byte for byte. In front of a fault
 * it delivers all items, then it names the fault.
 */
#include "peal_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The command's objects are in no library. */
#include "runtime/cli/format.c"
#include "runtime/cli/format_lines.c"
#include "runtime/cli/format_records.c"
#include "runtime/cli/format_y4m.c"

static char folder[] = "/tmp/peal-formats-XXXXXX";
static char in_path[64];
static char out_path[64];
static unsigned char body[3 << 20];
static struct peali_reader reader;
static struct peali_writer writer;
static unsigned long long seed = 3;

static void set_up(void)
{
	if (in_path[0])
		return;
	signal(SIGPIPE, SIG_IGN);
	CHECK(mkdtemp(folder));
	snprintf(in_path, sizeof(in_path), "%s/in", folder);
	snprintf(out_path, sizeof(out_path), "%s/out", folder);
}

static void tear_down(void)
{
	unlink(in_path);
	unlink(out_path);
	rmdir(folder);
}

static void write_input(const void *bytes, size_t n)
{
	FILE *file;

	set_up();
	file = fopen(in_path, "wb");
	CHECK(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

static void output_is(const void *bytes, size_t n)
{
	FILE *file = fopen(out_path, "rb");
	unsigned char *got = malloc(n + 1);

	CHECK(file && got);
	CHECK_EQ(fread(got, 1, n + 1, file), n);
	CHECK(memcmp(got, bytes, n) == 0);
	fclose(file);
	free(got);
}

static int open_reader(const char *format)
{
	struct peali_reader_options options = { 0 };

	options.format = format;
	return peali_reader_open(&reader, in_path, &options);
}

/* Copies the input to the output. Returns the last result of the reader. */
static int copy_all(const char *format)
{
	struct peal_item head;
	uint64_t sequence = 0;
	int result = open_reader(format);

	CHECK_EQ(result, 0);
	CHECK_EQ(peali_writer_open(&writer, out_path, &reader.stream, 0), 0);
	while ((result = peali_reader_next(&reader, &head, body,
					   sizeof(body))) == 0) {
		CHECK_EQ(head.sequence, sequence++);
		CHECK(head.width * head.height <= head.body_bytes);
		CHECK(head.body_bytes <= reader.stream.item_bytes_max);
		CHECK_EQ(peali_writer_put(&writer, &head, body), 0);
	}
	CHECK_EQ(peali_reader_next(&reader, &head, body, sizeof(body)), result);
	CHECK_EQ(peali_writer_close(&writer), 0);
	CHECK_EQ(peali_writer_close(&writer), 0);
	peali_reader_close(&reader);
	return result;
}

static void roundtrip(const char *format, const void *bytes, size_t n)
{
	write_input(bytes, n);
	CHECK_EQ(copy_all(format), 1);
	output_is(bytes, n);
}

PEAL_TEST(lines_round_trip_byte_for_byte)
{
	roundtrip("lines", "", 0);
	roundtrip("lines", "\n", 1);
	roundtrip("lines", "\n\n\n", 3);
	roundtrip("lines", "a\nb", 3);
	CHECK_EQ(reader.n_items, 2);
	roundtrip("lines", "a\nb\n", 4);
	CHECK_EQ(reader.n_items, 2);
	roundtrip("lines", "a\n\n", 3);
	roundtrip("lines", "no newline at all", 17);
	roundtrip("lines", "a\0b\r\n\0\n\xff\xfe", 9);
}

PEAL_TEST(random_lines_round_trip_across_buffer_edges)
{
	static char text[2 << 20];

	for (int round = 0; round < 12; round++) {
		size_t n = sizeof(text) - test_random(&seed) % 1000;
		unsigned int rare = 1u << (2 * round % 20);

		for (size_t i = 0; i < n; i++)
			text[i] = test_random(&seed) % rare ? 'x' : '\n';
		/*
		 * lines that end near the end of a buffer, and a longest line
		 */
		text[BUFFER_BYTES - 1 + round % 3] = '\n';
		text[BUFFER_BYTES + (1 << 20)] = '\n';
		roundtrip("lines", text, n);
	}
}

PEAL_TEST(too_long_line_fails_after_earlier_lines)
{
	static char text[(1 << 20) + 10];

	memset(text, 'x', sizeof(text));
	memcpy(text, "ab\n", 3);
	text[3 + (1 << 20)] = '\n';
	roundtrip("lines", text, 3 + (1 << 20) + 1);
	CHECK_EQ(reader.n_items, 2);
	text[3 + (1 << 20)] = 'x';
	write_input(text, sizeof(text));
	CHECK_EQ(copy_all("lines"), -EMSGSIZE);
	CHECK_CONTAINS(
		reader.message,
		"has too long a line, 2 (longer, allowed 0..1048576 bytes); "
		"raise --line-bytes");
	output_is("ab\n", 3);
}

PEAL_TEST(records_round_trip_and_short_last_record_fails)
{
	static unsigned char bytes[1 << 20];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)test_random(&seed);
	roundtrip("records:1", bytes, 1000);
	roundtrip("records:16", bytes, 0);
	roundtrip("records:4096", bytes, sizeof(bytes));
	roundtrip("records:1048576", bytes, sizeof(bytes));
	roundtrip("records:65537", bytes, 65537 * 13);
	write_input(bytes, 1000);
	CHECK_EQ(copy_all("records:300"), -EBADMSG);
	CHECK_CONTAINS(reader.message, "ends inside record 4: 100 of 300");
	output_is(bytes, 900);
}

/* Makes a clip of n frames. Odd frames have parameters. Returns its size. */
static size_t make_video(char *to, const char *header, size_t frame_bytes,
			 int n_frames)
{
	size_t n = (size_t)sprintf(to, "%s\n", header);

	for (int i = 0; i < n_frames; i++) {
		n += (size_t)sprintf(to + n, "FRAME%s\n",
				     i & 1 ? " Ip XNAME=a b" : "");
		for (size_t k = 0; k < frame_bytes; k++)
			to[n++] = (char)test_random(&seed);
	}
	return n;
}

PEAL_TEST(video_of_every_sampling_round_trips)
{
	static char clip[1 << 20];
	static const struct {
		const char *header;
		size_t frame_bytes;
	} videos[] = {
		{ "YUV4MPEG2 W64 H48 F30:1 Ip A1:1 C420jpeg XYSCSS=420JPEG",
		  64 * 48 * 3 / 2 },
		{ "YUV4MPEG2 W5 H3", 15 + 2 * 3 * 2 },
		{ "YUV4MPEG2 H3 W5 C420mpeg2", 15 + 2 * 3 * 2 },
		{ "YUV4MPEG2 W5 H3 C420paldv", 15 + 2 * 3 * 2 },
		{ "YUV4MPEG2 W5 H3 C422", 15 + 2 * 3 * 3 },
		{ "YUV4MPEG2 W5 H3 C411", 15 + 2 * 2 * 3 },
		{ "YUV4MPEG2 W5 H3 C444", 45 },
		{ "YUV4MPEG2 W5 H3 C444alpha", 60 },
		{ "YUV4MPEG2 W5 H3 Cmono", 15 },
		{ "YUV4MPEG2 W1 H1  Q7 ", 3 },
		{ "YUV4MPEG2 W400 H300 C444", 360000 },
	};

	for (size_t i = 0; i < sizeof(videos) / sizeof(videos[0]); i++) {
		int n_frames = i == 10 ? 2 : 5;
		size_t n = make_video(clip, videos[i].header,
				      videos[i].frame_bytes, n_frames);

		roundtrip("y4m", clip, n);
		CHECK_EQ(reader.n_items, n_frames);
		roundtrip(NULL, clip, n);
		CHECK(reader.stream.format == &peali_format_y4m);
		/* Without frames: the header alone. */
		roundtrip("y4m", clip, strlen(videos[i].header) + 1);
	}
}

PEAL_TEST(truncated_video_yields_whole_frames_then_error)
{
	static char clip[4096];
	const char *header = "YUV4MPEG2 W7 H5";
	const size_t frame_bytes = 35 + 2 * 4 * 3;
	size_t n = make_video(clip, header, frame_bytes, 3);
	size_t head_bytes = strlen(header) + 1;
	/* the ends of frames: FRAME, parameters, planes */
	size_t ends[4] = { head_bytes, head_bytes + 6 + frame_bytes, 0, n };
	size_t whole = 0;

	ends[2] = ends[1] + 6 + 13 + frame_bytes;
	for (size_t cut = head_bytes; cut <= n; cut++) {
		if (cut == ends[whole + 1])
			whole++;
		write_input(clip, cut);
		CHECK_EQ(copy_all("y4m"), cut == ends[whole] ? 1 : -EBADMSG);
		CHECK_EQ(reader.n_items, whole);
		output_is(clip, ends[whole]);
		if (cut != ends[whole])
			CHECK_CONTAINS(reader.message, "ends inside");
	}
	CHECK_EQ(whole, 3);
	/* A wrong byte where a frame should begin. */
	clip[ends[1]] = 'f';
	write_input(clip, n);
	CHECK_EQ(copy_all("y4m"), -EBADMSG);
	CHECK_CONTAINS(reader.message, "frame 2 does not begin with FRAME");
	output_is(clip, ends[1]);
}

static void header_refused(const char *text, int result, const char *words)
{
	write_input(text, strlen(text));
	CHECK_EQ(open_reader("y4m"), result);
	CHECK_CONTAINS(reader.message, words);
	CHECK_CONTAINS(reader.message, in_path);
	peali_reader_close(&reader);
}

PEAL_TEST(invalid_video_header_error_names_remedy)
{
	static char text[70000];

	header_refused("", -EBADMSG, "is no YUV4MPEG2 video; make one: ffmpeg");
	header_refused("RIFF....\n", -EBADMSG, "is no YUV4MPEG2 video");
	header_refused("YUV4MPEG W1 H1\n", -EBADMSG, "is no YUV4MPEG2 video");
	header_refused("YUV4MPEG2 W1 H1", -EBADMSG,
		       "ends inside the YUV4MPEG2");
	header_refused("YUV4MPEG2 W64\n", -EBADMSG, "there is no 'H'");
	header_refused("YUV4MPEG2 H64\n", -EBADMSG, "there is no 'W'");
	header_refused("YUV4MPEG2 W0 H1\n", -EBADMSG, "width (0, ");
	header_refused("YUV4MPEG2 W-4 H1\n", -EBADMSG, "width (-4, ");
	header_refused("YUV4MPEG2 W4x H1\n", -EBADMSG, "width (4x, ");
	header_refused("YUV4MPEG2 W99999999999 H1\n", -EBADMSG,
		       "has a wrong width (99999999999, allowed 1..65535); ");
	header_refused("YUV4MPEG2 W4 W5 H1\n", -EBADMSG, "given twice");
	header_refused("YUV4MPEG2 W65535 H65535\n", -EMSGSIZE,
		       "has too large frames of 65535x65535 (");
	header_refused("YUV4MPEG2 W4 H4 C420p10\n", -ENOTSUP,
		       "(C420p10, allowed 8 bits a sample); convert it: "
		       "ffmpeg -i INPUT -pix_fmt yuv420p");
	header_refused("YUV4MPEG2 W4 H4 Cmono16\n", -ENOTSUP,
		       "has too deep a colour space (Cmono16");
	header_refused("YUV4MPEG2 W4 H4 C444p12 XA\n", -ENOTSUP,
		       "(C444p12, allowed");
	header_refused("YUV4MPEG2 W4 H4 C123\n", -ENOTSUP,
		       "has an unknown colour space (C123");
	header_refused("YUV4MPEG2 W4 H4 XYSCSS=420P10\n", -ENOTSUP,
		       "has too deep a colour space (XYSCSS=420P10");
	header_refused("YUV4MPEG2 W4 H4 XYSCSS=410\n", -ENOTSUP,
		       "has an unknown colour space (XYSCSS=410");
	header_refused("YUV4MPEG2 W4 H4 C\033[31m\n", -EBADMSG,
		       "byte 18 is the control character 0x1b");
	header_refused("YUV4MPEG2 W4 H4 Ip\r\n", -EBADMSG,
		       "byte 19 is the control character 0x0d");
	header_refused("YUV4MPEG2X W4 H4\n", -EBADMSG, "is no YUV4MPEG2 video");
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "YUV4MPEG2 W4 H4 ", 16);
	header_refused(
		text, -EMSGSIZE,
		"has too long a YUV4MPEG2 header (longer, allowed 0..65536");
}

/* Tags of a header for its colour space, by their writers. */
static const struct dialect {
	const char *tags;
	size_t frame_bytes; /* of 5 x 3 samples; 0: more than 8 bits */
} dialects[] = {
	/* ffmpeg, libavformat/yuv4mpegenc.c */
	{ "Cmono", 15 },
	{ "Cmono9", 0 },
	{ "Cmono10", 0 },
	{ "Cmono12", 0 },
	{ "Cmono16", 0 },
	{ "C411 XYSCSS=411", 27 },
	{ "C420jpeg XYSCSS=420JPEG XCOLORRANGE=FULL", 27 },
	{ "C422 XYSCSS=422 XCOLORRANGE=FULL", 33 },
	{ "C444 XYSCSS=444 XCOLORRANGE=FULL", 45 },
	{ "C420paldv XYSCSS=420PALDV XCOLORRANGE=LIMITED", 27 },
	{ "C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED", 27 },
	{ "C420jpeg XYSCSS=420JPEG", 27 },
	{ "C422 XYSCSS=422", 33 },
	{ "C444 XYSCSS=444", 45 },
	{ "C444alpha XYSCSS=444", 60 },
	{ "C420p9 XYSCSS=420P9", 0 },
	{ "C422p9 XYSCSS=422P9", 0 },
	{ "C444p9 XYSCSS=444P9", 0 },
	{ "C420p10 XYSCSS=420P10", 0 },
	{ "C422p10 XYSCSS=422P10", 0 },
	{ "C444p10 XYSCSS=444P10", 0 },
	{ "C420p12 XYSCSS=420P12", 0 },
	{ "C422p14 XYSCSS=422P14", 0 },
	{ "C444p16 XYSCSS=444P16", 0 },
	/* mjpegtools, utils/yuv4mpeg.c, and its programs before tag C */
	{ "C420jpeg", 27 },
	{ "C420mpeg2", 27 },
	{ "C420paldv", 27 },
	{ "C444", 45 },
	{ "C422", 33 },
	{ "C411", 27 },
	{ "C444alpha", 60 },
	{ "XYSCSS=420JPEG", 27 },
	{ "XYSCSS=420MPEG2", 27 },
	{ "XYSCSS=420PALDV", 27 },
	{ "XYSCSS=411", 27 },
	{ "XYSCSS=422", 33 },
	{ "XYSCSS=444", 45 },
	{ "XYSCSS=420P10", 0 },
	{ "XCOLORRANGE=FULL", 27 },
	/* other writers: the order of the tags, and tags that disagree */
	{ "XYSCSS=420JPEG C444", 45 },
	{ "C420", 27 },
	{ "Cmono XYSCSS=400", 15 },
	{ "XYSCSS=400", 15 },
};

PEAL_TEST(each_dialect_of_video_is_read_or_refused_by_its_name)
{
	static char clip[4096], header[256], name[64];
	size_t n;

	for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
		const struct dialect *d = &dialects[i];

		snprintf(header, sizeof(header),
			 "YUV4MPEG2 W5 H3 F25:1 Im A1:1 %s", d->tags);
		if (d->frame_bytes) {
			n = make_video(clip, header, d->frame_bytes, 4);
			roundtrip(NULL, clip, n);
			CHECK_EQ(reader.n_items, 4);
			CHECK_EQ(reader.stream.frame_bytes, d->frame_bytes);
			continue;
		}
		strcat(header, "\n");
		snprintf(name, sizeof(name),
			 "has too deep a colour space (%.*s, ",
			 (int)strcspn(d->tags, " "), d->tags);
		header_refused(header, -ENOTSUP, name);
	}
}

PEAL_TEST(long_video_header_is_kept)
{
	static const size_t sizes[] = { 1023, 1024, 1025, 5000, 65536 };
	static char clip[70000], header[65537];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(header, 'x', sizes[i]);
		memcpy(header, "YUV4MPEG2 W5 H3 Cmono X", 23);
		header[sizes[i]] = 0;
		roundtrip(NULL, clip, make_video(clip, header, 15, 3));
		CHECK_EQ(reader.n_items, 3);
		CHECK_EQ(reader.stream.header_bytes, sizes[i]);
	}
}

PEAL_TEST(long_frame_parameters_are_kept_or_refused_by_name)
{
	static char clip[4096];

	for (size_t n = 255; n <= 257; n++) {
		size_t at =
			(size_t)sprintf(clip, "YUV4MPEG2 W1 H1 Cmono\nFRAME");

		clip[at] = ' ';
		memset(clip + at + 1, 'X', n - 1);
		strcpy(clip + at + n, "\ny");
		write_input(clip, at + n + 2);
		CHECK_EQ(copy_all("y4m"), n <= 256 ? 1 : -EMSGSIZE);
		if (n <= 256)
			output_is(clip, at + n + 2);
		else
			CHECK_CONTAINS(reader.message,
				       "the parameters of frame 1 are longer "
				       "than 256 bytes");
	}
	write_input("YUV4MPEG2 W1 H1 Cmono\nFRAMEx\ny", 31);
	CHECK_EQ(copy_all("y4m"), -EBADMSG);
	CHECK_CONTAINS(reader.message, "frame 1 does not begin with FRAME");
}

PEAL_TEST(message_escapes_and_cuts_the_name_of_the_file)
{
	char path[700];

	strcpy(path, "/tmp/a\033[31m\n\xff");
	CHECK_EQ(peali_reader_open(&reader, path, NULL), -ENOENT);
	CHECK(!strcmp(reader.message,
		      "cannot open input '/tmp/a\\x1b[31m\\n\\xff': No such "
		      "file or directory"));
	memset(path, 'x', sizeof(path));
	memcpy(path, "/tmp/", 5);
	strcpy(path + 690, ".end");
	for (int i = 5; i < 690; i += 20)
		path[i] = '/';
	CHECK_EQ(peali_reader_open(&reader, path, NULL), -ENOENT);
	CHECK_CONTAINS(reader.message, "...");
	CHECK_CONTAINS(reader.message, "x.end': No such file or directory");
}

static void format_refused(const char *format, const char *words)
{
	write_input("x", 1);
	CHECK_EQ(open_reader(format), -EINVAL);
	CHECK_CONTAINS(reader.message, words);
	peali_reader_close(&reader);
}

PEAL_TEST(invalid_format_texts_are_refused)
{
	format_refused("mp4", "'mp4': is unknown (mp4, allowed y4m, lines or "
			      "records:BYTES)");
	format_refused("", "'': is unknown ('', allowed y4m, lines or "
			   "records:BYTES)");
	format_refused("line", "'line': is unknown (line, allowed y4m, lines "
			       "or records:BYTES)");
	format_refused("records", "'records': needs the bytes of a record (");
	format_refused("records:", "'records': needs the bytes of a record (");
	format_refused("records:0", "'records': needs the bytes of a record (");
	format_refused("records:-1",
		       "'records': needs the bytes of a record (");
	format_refused("records:12k", "'records': needs the bytes of a record "
				      "(12k, allowed 1..268435424)");
	format_refused(
		"records:99999999999999999999999",
		"'records': needs "
		"the bytes of a record (99999999999999999999999, allowed "
		"1..268435424)");
	format_refused("lines:3", "takes no argument");
	format_refused("y4m:3", "takes no argument");
}

PEAL_TEST(too_small_item_body_returns_emsgsize)
{
	struct peal_item head;
	char small[4];

	write_input("abcdefgh\n", 9);
	CHECK_EQ(open_reader("lines"), 0);
	CHECK_EQ(peali_reader_next(&reader, &head, small, 4), -EMSGSIZE);
	peali_reader_close(&reader);
	CHECK_EQ(open_reader("records:8"), 0);
	CHECK_EQ(peali_reader_next(&reader, &head, small, 4), -EMSGSIZE);
	CHECK_CONTAINS(
		reader.message,
		"has records that are too long for a message (8, allowed 1..4)");
	peali_reader_close(&reader);
}

PEAL_TEST(open_error_names_file_and_reason)
{
	struct peali_stream stream = { 0 };

	set_up();
	stream.format = &peali_format_lines;
	CHECK_EQ(peali_reader_open(&reader, "/no/such", NULL), -ENOENT);
	CHECK_CONTAINS(reader.message, "'/no/such': No such file");
	peali_reader_close(&reader);
	CHECK_EQ(peali_reader_open(&reader, folder, NULL), -EISDIR);
	CHECK_CONTAINS(reader.message, "is a directory");
	CHECK_EQ(peali_writer_open(&writer, "/no/such", &stream, 0), -ENOENT);
	CHECK_CONTAINS(writer.message, "'/no/such': No such file");
	CHECK_EQ(peali_writer_close(&writer), -ENOENT);
	CHECK_EQ(peali_writer_open(&writer, folder, &stream, 0), -EISDIR);
}

PEAL_TEST(output_equal_to_input_is_refused_and_intact)
{
	write_input("precious\n", 9);
	unlink(out_path);
	CHECK_EQ(link(in_path, out_path), 0);
	CHECK_EQ(open_reader("lines"), 0);
	CHECK_EQ(peali_writer_open(&writer, out_path, &reader.stream, 0),
		 -EINVAL);
	CHECK_CONTAINS(writer.message, "is the input");
	output_is("precious\n", 9);
	peali_reader_close(&reader);
	unlink(out_path);
}

PEAL_TEST(longer_existing_output_is_truncated)
{
	roundtrip("lines", "a long old output\n", 18);
	roundtrip("lines", "new\n", 4);
}

PEAL_TEST(full_disk_error_names_file_and_reason)
{
	struct peal_item head = { 0 };
	int result = 0;

	write_input("x\n", 2);
	CHECK_EQ(open_reader("lines"), 0);
	if (access("/dev/full", W_OK))
		SKIP("no /dev/full here");
	CHECK_EQ(peali_writer_open(&writer, "/dev/full", &reader.stream, 0), 0);
	head.body_bytes = 1000;
	for (int i = 0; i < 1000 && !result; i++)
		result = peali_writer_put(&writer, &head, body);
	CHECK_EQ(result, -ENOSPC);
	CHECK_CONTAINS(writer.message, "'/dev/full'");
	CHECK_CONTAINS(writer.message, "No space left on device");
	CHECK_EQ(peali_writer_put(&writer, &head, body), -ENOSPC);
	CHECK_EQ(peali_writer_close(&writer), -ENOSPC);
	/* a small output fails at its close */
	CHECK_EQ(peali_writer_open(&writer, "/dev/full", &reader.stream, 0), 0);
	CHECK_EQ(peali_writer_put(&writer, &head, body), 0);
	CHECK_EQ(peali_writer_close(&writer), -ENOSPC);
	peali_reader_close(&reader);
}

/* Writes to a pipe in pieces of 1 to 300 bytes. */
static void *feed(void *argument)
{
	int fd = *(int *)argument;
	char text[300];

	for (int i = 0; i < 200; i++) {
		size_t n = 1 + test_random(&seed) % sizeof(text);

		for (size_t k = 0; k < n; k++)
			text[k] = k % 7 ? 'a' : '\n';
		CHECK(write(fd, text, n) == (ssize_t)n);
		if (i % 20 == 0)
			usleep(1000);
	}
	close(fd);
	return NULL;
}

PEAL_TEST(pipe_is_read_in_arriving_pieces)
{
	struct peal_item head;
	uint64_t bytes = 0;
	char path[32];
	pthread_t thread;
	int fds[2];
	int result;

	set_up();
	CHECK_EQ(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	CHECK_EQ(pthread_create(&thread, NULL, feed, fds + 1), 0);
	CHECK_EQ(peali_reader_open(&reader, path, NULL), 0);
	CHECK(reader.stream.format == &peali_format_lines);
	while (!(result =
			 peali_reader_next(&reader, &head, body, sizeof(body))))
		bytes += head.body_bytes +
			 !(head.flags & PEAL_ITEM_UNTERMINATED);
	CHECK_EQ(result, 1);
	CHECK_EQ(bytes, reader.n_bytes);
	pthread_join(thread, NULL);
	peali_reader_close(&reader);
	close(fds[0]);
}

PEAL_TEST(stop_ends_waits_for_input_and_output)
{
	struct peali_reader_options options = { 0 };
	struct peal_item head;
	char path[32];
	int data[2], stop[2];

	set_up();
	CHECK(pipe(data) == 0 && pipe(stop) == 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", data[0]);
	options.format = "lines";
	options.stop_fd = stop[0];
	CHECK_EQ(peali_reader_open(&reader, path, &options), 0);
	CHECK_EQ(write(data[1], "one\ntw", 6), 6);
	CHECK_EQ(peali_reader_ready(&reader), 1);
	CHECK_EQ(peali_reader_next(&reader, &head, body, sizeof(body)), 0);
	CHECK_EQ(write(stop[1], "x", 1), 1);
	CHECK_EQ(peali_reader_next(&reader, &head, body, sizeof(body)), -EINTR);
	CHECK_CONTAINS(reader.message, "stopped");
	/* without a reader the pipe fills, then the writer would wait */
	snprintf(path, sizeof(path), "/dev/fd/%d", data[1]);
	CHECK_EQ(read(stop[0], body, 1), 1);
	CHECK_EQ(peali_writer_open(&writer, path, &reader.stream, stop[0]), 0);
	CHECK_EQ(write(stop[1], "x", 1), 1);
	head.body_bytes = 1 << 20;
	CHECK_EQ(peali_writer_put(&writer, &head, body), -EINTR);
	CHECK_EQ(peali_writer_close(&writer), -EINTR);
	peali_reader_close(&reader);
	for (int i = 0; i < 2; i++) {
		close(data[i]);
		close(stop[i]);
	}
}

PEAL_TEST(closed_pipe_error_names_file_and_reason)
{
	struct peal_item head = { 0 };
	char path[32];
	int fds[2];

	write_input("x\n", 2);
	CHECK_EQ(open_reader("lines"), 0);
	CHECK_EQ(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	CHECK_EQ(peali_writer_open(&writer, path, &reader.stream, 0), 0);
	close(fds[0]);
	close(fds[1]);
	CHECK_EQ(peali_writer_put(&writer, &head, body), 0);
	CHECK_EQ(peali_writer_flush(&writer), -EPIPE);
	CHECK_CONTAINS(writer.message, "Broken pipe");
	CHECK_CONTAINS(writer.message, path);
	CHECK_EQ(peali_writer_close(&writer), -EPIPE);
	peali_reader_close(&reader);
}

/* Negative control: the comparison of all cases finds one wrong byte. */
PEAL_TEST(changed_byte_is_caught)
{
	struct peal_item head;
	FILE *file;
	char got[8] = "";

	write_input("ab\ncd\n", 6);
	CHECK_EQ(open_reader("lines"), 0);
	CHECK_EQ(peali_writer_open(&writer, out_path, &reader.stream, 0), 0);
	while (peali_reader_next(&reader, &head, body, sizeof(body)) == 0) {
		head.flags ^= PEAL_ITEM_UNTERMINATED * (head.sequence == 1);
		CHECK_EQ(peali_writer_put(&writer, &head, body), 0);
	}
	CHECK_EQ(peali_writer_close(&writer), 0);
	peali_reader_close(&reader);
	file = fopen(out_path, "rb");
	CHECK(file);
	CHECK(fread(got, 1, 8, file) != 6 || memcmp(got, "ab\ncd\n", 6));
	fclose(file);
}

PEAL_TEST_MAIN(RUN(lines_round_trip_byte_for_byte);
	       RUN(random_lines_round_trip_across_buffer_edges);
	       RUN(too_long_line_fails_after_earlier_lines);
	       RUN(records_round_trip_and_short_last_record_fails);
	       RUN(video_of_every_sampling_round_trips);
	       RUN(truncated_video_yields_whole_frames_then_error);
	       RUN(invalid_video_header_error_names_remedy);
	       RUN(each_dialect_of_video_is_read_or_refused_by_its_name);
	       RUN(long_video_header_is_kept);
	       RUN(long_frame_parameters_are_kept_or_refused_by_name);
	       RUN(message_escapes_and_cuts_the_name_of_the_file);
	       RUN(invalid_format_texts_are_refused);
	       RUN(too_small_item_body_returns_emsgsize);
	       RUN(open_error_names_file_and_reason);
	       RUN(output_equal_to_input_is_refused_and_intact);
	       RUN(longer_existing_output_is_truncated);
	       RUN(full_disk_error_names_file_and_reason);
	       RUN(pipe_is_read_in_arriving_pieces);
	       RUN(stop_ends_waits_for_input_and_output);
	       RUN(closed_pipe_error_names_file_and_reason);
	       RUN(changed_byte_is_caught); tear_down();)
