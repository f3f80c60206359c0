/*
 * The last filter of all output for people
 */
#include "cli/screen.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/printable.h"

enum { PIECE = 4096, CHARACTER = 4, STYLE = 5 };

/* The only sequences with an escape character that pass. */
static const char styles[SCREEN_STYLES][STYLE + 1] = {
	[SCREEN_PLAIN] = "\033[0m", [SCREEN_BOLD] = "\033[1m",    [SCREEN_DIM] = "\033[2m",
	[SCREEN_RED] = "\033[31m",  [SCREEN_YELLOW] = "\033[33m",
};
static bool styled;

struct screen {
	int fd;
	/* bytes that are not written yet: between two calls less than one piece */
	char held[PIECE];
	size_t nheld;
};

static int write_all(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			text += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

/* How many of the @n bytes are complete characters; the rest may become one. */
static size_t whole_characters(const char *text, size_t n)
{
	size_t tail = 0;

	while (tail < n && tail < CHARACTER - 1 &&
	       ((unsigned char)text[n - 1 - tail] & 0xc0) == 0x80)
		tail++;
	if (tail < n) {
		unsigned char first = (unsigned char)text[n - 1 - tail];
		size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

		return tail + 1 < length ? n - 1 - tail : n;
	}
	return n;
}

size_t screen_style_length(const char *text, size_t n)
{
	for (int i = 0; styled && n && text[0] == '\033' && i < SCREEN_STYLES; i++) {
		size_t length = strlen(styles[i]);

		if (length <= n && !memcmp(text, styles[i], length))
			return length;
	}
	return 0;
}

/* How many of the @n bytes come before one that may become a style. */
static size_t whole_styles(const char *text, size_t n)
{
	size_t from = n < STYLE ? 0 : n - (STYLE - 1);

	for (size_t at = from; styled && at < n; at++)
		for (int i = 0; i < SCREEN_STYLES; i++)
			if (n - at < strlen(styles[i]) && !memcmp(text + at, styles[i], n - at))
				return at;
	return n;
}

/* The bytes before the next style. */
static size_t count_foreign(const char *text, size_t n)
{
	size_t at = 0;

	while (styled && at < n && !screen_style_length(text + at, n - at))
		at++;
	return styled ? at : n;
}

int screen_write(int fd, const char *text, size_t n)
{
	size_t size = PRINTABLE_GROWS * n + 1, used = 0;
	char *lines = malloc(size);
	int err;

	if (!lines)
		return -ENOMEM;
	for (size_t at = 0; at < n;) {
		size_t foreign = count_foreign(text + at, n - at), style;

		used += printable_lines(lines + used, size - used, text + at, foreign);
		at += foreign;
		style = screen_style_length(text + at, n - at);
		memcpy(lines + used, text + at, style);
		used += style;
		at += style;
	}
	err = write_all(fd, lines, used);
	free(lines);
	return err;
}

void screen_use_colour(enum screen_colour colour)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	styled = colour == SCREEN_ALWAYS;
	if (colour == SCREEN_AUTO)
		styled = isatty(STDOUT_FILENO) && !(no && *no) && terminal &&
			 strcmp(terminal, "dumb");
}

void screen_style(FILE *out, enum screen_style style)
{
	if (styled)
		fputs(styles[style], out);
}

static ssize_t put_screen(void *cookie, const char *text, size_t n)
{
	struct screen *screen = cookie;
	size_t done = 0;

	while (done < n) {
		size_t room = PIECE - screen->nheld, more = n - done < room ? n - done : room,
		       whole;
		int err;

		memcpy(screen->held + screen->nheld, text + done, more);
		screen->nheld += more;
		done += more;
		whole = whole_styles(screen->held, whole_characters(screen->held, screen->nheld));
		err = screen_write(screen->fd, screen->held, whole);
		screen->nheld -= whole;
		memmove(screen->held, screen->held + whole, screen->nheld);
		if (err) {
			errno = -err;
			return 0;
		}
	}
	return (ssize_t)n;
}

static int close_screen(void *cookie)
{
	struct screen *screen = cookie;
	int err = screen_write(screen->fd, screen->held, screen->nheld);

	free(screen);
	if (err)
		errno = -err;
	return err ? -1 : 0;
}

int screen_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}

FILE *screen_open(int fd)
{
	const cookie_io_functions_t functions = { .write = put_screen, .close = close_screen };
	struct screen *screen = calloc(1, sizeof(*screen));
	FILE *out = screen ? fopencookie(screen, "w", functions) : NULL;

	if (!out) {
		free(screen);
		return NULL;
	}
	screen->fd = fd;
	if (isatty(fd))
		setvbuf(out, NULL, _IOLBF, BUFSIZ);
	return out;
}
