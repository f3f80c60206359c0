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
#include "core/base/style.h"

enum { PIECE = 4096, CHARACTER = 4 };

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

/* The bytes before the next style. */
static size_t count_foreign(const char *text, size_t n)
{
	size_t at = 0;

	while (at < n && !style_length(text + at, n - at))
		at++;
	return at;
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
		style = style_length(text + at, n - at);
		memcpy(lines + used, text + at, style);
		used += style;
		at += style;
	}
	err = write_all(fd, lines, used);
	free(lines);
	return err;
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

static bool wants_colour(void)
{
	const char *terminal = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

	if (is_set("NO_COLOR"))
		return false;
	if (is_set("CLICOLOR_FORCE") && strcmp(force, "0") != 0)
		return true;
	return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

void screen_use_colour(enum screen_colour colour)
{
	style_enable(colour == SCREEN_ALWAYS || (colour == SCREEN_AUTO && wants_colour()));
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
		whole = style_whole(screen->held, whole_characters(screen->held, screen->nheld));
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
