/*
 * Filtering standard output
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

#include "cli/screen.h"
#include "core/base/style.h"
#include "tests/test.h"

static int ends[2];

static int open_pipe(void **state)
{
	(void)state;
	return pipe(ends);
}

static int close_pipe(void **state)
{
	(void)state;
	close(ends[0]);
	return close(ends[1]);
}

static void assert_came(const char *text)
{
	char came[256] = "";

	assert_int_equal(read(ends[0], came, sizeof(came) - 1), strlen(text));
	assert_string_equal(came, text);
}

FIXTURE(open_pipe, close_pipe);

TEST(lines_pass)
{
	FILE *out = screen_open(ends[1]);

	fprintf(out, "a\n\"\\u001b\"\n");
	assert_int_equal(fclose(out), 0);
	assert_came("a\n\"\\u001b\"\n");
}

TEST(what_was_forgotten_is_caught)
{
	FILE *out = screen_open(ends[1]);

	fprintf(out, "\033[2J\r\n\xc2\x9b\xff");
	assert_int_equal(fclose(out), 0);
	assert_came("\\x1b[2J\\x0d\n\\u{009b}\\xff");
}

TEST(characters_may_come_in_pieces)
{
	FILE *out = screen_open(ends[1]);

	for (const char *at = "\xf0\x9f\x98\x80\xe2\x80\xae\xe2\x82"; *at; at++) {
		fputc(*at, out);
		fflush(out);
	}
	fclose(out);
	assert_came("\xf0\x9f\x98\x80\\u{202e}\\xe2\\x82");
}

TEST_WITH(failure_is_reported, NULL, NULL)
{
	int full = open("/dev/full", O_WRONLY);
	FILE *out = screen_open(full);

	fprintf(out, "a\n");
	errno = 0;
	assert_int_equal(fclose(out), EOF);
	assert_int_equal(errno, ENOSPC);
	close(full);
}

TEST(block_is_escaped)
{
	assert_int_equal(screen_write(ends[1], "a\n\033\n", 4), 0);
	assert_came("a\n\\x1b\n");
	assert_int_equal(screen_write(-1, "a", 1), -EBADF);
}

TEST(a_style_passes_where_styles_are_on)
{
	FILE *out = screen_open(ends[1]);

	screen_use_colour(SCREEN_ALWAYS);
	style_put(out, STYLE_ERROR);
	fputs("a", out);
	style_put(out, STYLE_PLAIN);
	assert_int_equal(fclose(out), 0);
	screen_use_colour(SCREEN_NEVER);
	assert_came("\033[31ma\033[0m");
}

TEST(no_style_is_written_where_they_are_off)
{
	FILE *out = screen_open(ends[1]);

	style_put(out, STYLE_ERROR);
	fputs("a\033[31m", out);
	assert_int_equal(fclose(out), 0);
	assert_came("a\\x1b[31m");
}

TEST(other_sequences_are_caught_where_styles_are_on)
{
	FILE *out = screen_open(ends[1]);

	screen_use_colour(SCREEN_ALWAYS);
	fputs("\033[34m\033[2J\033[3\033[0;31m\033\033[1m", out);
	assert_int_equal(fclose(out), 0);
	screen_use_colour(SCREEN_NEVER);
	assert_came("\\x1b[34m\\x1b[2J\\x1b[3\\x1b[0;31m\\x1b\033[1m");
}

TEST(a_style_may_come_in_pieces)
{
	FILE *out = screen_open(ends[1]);

	screen_use_colour(SCREEN_ALWAYS);
	for (const char *at = "\033[31ma\033[0"; *at; at++) {
		fputc(*at, out);
		fflush(out);
	}
	assert_int_equal(fclose(out), 0);
	screen_use_colour(SCREEN_NEVER);
	assert_came("\033[31ma\\x1b[0");
}

TEST(a_style_may_be_cut_anywhere_after_text)
{
	static const char text[] = "abcdefgh\033[31mx";

	screen_use_colour(SCREEN_ALWAYS);
	for (size_t at = 0; at < sizeof(text); at++) {
		FILE *out = screen_open(ends[1]);

		fwrite(text, 1, at, out);
		fflush(out);
		fputs(text + at, out);
		assert_int_equal(fclose(out), 0);
		assert_came(text);
	}
	screen_use_colour(SCREEN_NEVER);
}

/* A terminal of 4 rows and 10 columns, its other end non-blocking. */
static int open_terminal(int *ret_master)
{
	struct winsize size = { .ws_row = 4, .ws_col = 10 };
	struct termios raw = { 0 };
	int slave;

	cfmakeraw(&raw);
	assert_int_equal(openpty(ret_master, &slave, NULL, &raw, &size), 0);
	assert_int_equal(fcntl(*ret_master, F_SETFL, O_NONBLOCK), 0);
	return slave;
}

/* A terminal may pass on what was written in pieces, and some time later. */
static void assert_shown(int master, const char *text)
{
	struct pollfd ready = { .fd = master, .events = POLLIN };
	char came[256] = "";
	size_t n = 0;

	while (n < strlen(text) && poll(&ready, 1, 10000) == 1) {
		ssize_t more = read(master, came + n, sizeof(came) - 1 - n);

		assert_true(more > 0);
		n += (size_t)more;
	}
	assert_string_equal(came, text);
	assert_int_equal(read(master, came, sizeof(came)), -1);
}

static int overflows;

static void count_overflow(void)
{
	overflows++;
}

static const struct held {
	const char *text;
	int overflows;
} held[] = {
	{ "a\nb\nc\n", 0 },
	{ "a\nb\nc\nd\n", 1 },
	{ "0123456789\nb\nc\n", 0 },
	{ "01234567890\nb\nc\n", 1 },                                      /* two rows */
	{ "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\nb\nc\n", 0 }, /* 6 columns */
	{ "a\nb\nc\nd\ne\nf\ng\nh\n", 1 },
};

TEST(what_fits_on_the_terminal_does_not_overflow)
{
	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
		int master, slave = open_terminal(&master);
		FILE *out = screen_open(slave);

		overflows = 0;
		screen_hold(slave, count_overflow);
		for (const char *at = held[i].text; *at; at++) {
			fputc(*at, out);
			fflush(out);
		}
		assert_int_equal(overflows, held[i].overflows);
		if (!overflows)
			assert_shown(master, "");
		assert_int_equal(fclose(out), 0);
		assert_shown(master, held[i].text);
		close(slave);
		close(master);
	}
}

TEST(held_output_is_written_when_a_signal_ends_us)
{
	int master, slave = open_terminal(&master);
	FILE *out = screen_open(slave);

	screen_hold(slave, count_overflow);
	fputs("a\n", out);
	fflush(out);
	assert_shown(master, "");
	screen_end_by_signal();
	assert_shown(master, "a\n");
	screen_hold(slave, NULL);
	fclose(out);
	close(slave);
	close(master);
}
