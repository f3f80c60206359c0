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
#include "core/base/text.h"

enum { PIECE = 4096, CHARACTER = 4 };

struct screen {
	int fd;
	/* bytes that are not written yet: between two calls less than one piece */
	char held[PIECE];
	size_t nheld;
};

/* Output that is held back while it fits on the terminal; already filtered. */
static struct {
	void (*overflow)(void); /* NULL: nothing is held back */
	int fd, rows, columns;
	int lines, column; /* the held text: number of complete lines; columns of the last line */
	struct text text;
} hold;

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

/* The bytes before the next style, which begins with an escape character. */
static size_t count_foreign(const char *text, size_t n)
{
	const char *escape = text, *end = text + n;

	while (style_is_enabled() && (escape = memchr(escape, '\033', (size_t)(end - escape)))) {
		if (style_length(escape, (size_t)(end - escape)))
			return (size_t)(escape - text);
		escape++;
	}
	return n;
}

/* Filter @n bytes: returns lines for free(), of *@ret_n bytes, or NULL. */
static char *filter_text(const char *text, size_t n, size_t *ret_n)
{
	size_t size = PRINTABLE_GROWS * n + 1, used = 0;
	char *lines = malloc(size);

	if (lines)
		*lines = '\0';
	for (size_t at = 0; lines && at < n;) {
		size_t foreign = count_foreign(text + at, n - at), style;

		used += printable_lines(lines + used, size - used, text + at, foreign);
		at += foreign;
		style = style_length(text + at, n - at);
		memcpy(lines + used, text + at, style);
		used += style;
		at += style;
	}
	*ret_n = used;
	return lines;
}

static void release_held(void)
{
	hold.overflow = NULL;
	if (hold.text.used)
		write_all(hold.fd, hold.text.at, hold.text.used);
	text_cut(&hold.text, 0);
}

void screen_end_by_signal(void)
{
	if (hold.overflow && hold.text.used)
		write_all(hold.fd, hold.text.at, hold.text.used);
}

/* Lines that are longer than the terminal take several of its rows. */
static void count_lines(const char *text, size_t n)
{
	for (size_t at = 0; at < n; at++) {
		size_t style = style_length(text + at, n - at);

		if (style) {
			at += style - 1;
		} else if (text[at] == '\n') {
			hold.lines += 1 + (hold.column > 0 ? (hold.column - 1) / hold.columns : 0);
			hold.column = 0;
		} else {
			hold.column += (text[at] & 0xc0) != 0x80;
		}
	}
}

/* Hold @lines back. The terminal also needs a row for the shell's prompt. */
static int hold_lines(const char *lines, size_t n)
{
	void (*overflow)(void) = hold.overflow;

	text_add(&hold.text, lines, n);
	if (hold.text.failed) {
		release_held();
		return -ENOMEM;
	}
	count_lines(lines, n);
	if (hold.lines < hold.rows)
		return 0;
	overflow();
	release_held();
	return 0;
}

int screen_write(int fd, const char *text, size_t n)
{
	size_t used;
	char *lines = filter_text(text, n, &used);
	int err;

	if (!lines)
		return -ENOMEM;
	err = hold.overflow && fd == hold.fd ? hold_lines(lines, used) : write_all(fd, lines, used);
	free(lines);
	return err;
}

void screen_hold(int fd, void (*overflow)(void))
{
	struct winsize size;

	release_held();
	if (!overflow || ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		return;
	hold.fd = fd;
	hold.rows = size.ws_row;
	hold.columns = size.ws_col;
	hold.lines = hold.column = 0;
	hold.overflow = overflow;
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
		whole = style_complete_length(screen->held,
					      whole_characters(screen->held, screen->nheld));
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

	if (screen->fd == hold.fd)
		release_held();
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
