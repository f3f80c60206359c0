/*
 * A terminal that is redrawn, and its keys
 */
#include "cli/top/display.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <termcap.h>
#include <unistd.h>

#include "core/wire/log.h"

struct display {
	SCREEN *screen;
	FILE *out; /* standard output as it is: all other output is filtered (cli/screen.h) */
	bool colour;
};

static void free_display(struct display *display)
{
	if (display->screen)
		delscreen(display->screen);
	if (display->out)
		fclose(display->out);
	free(display);
}

/* "dumb" is a known kind, and cannot. */
static bool can_move_cursor(const char *kind)
{
	char entry[4096]; /* ncurses does not write to it */

	return kind && *kind && tgetent(entry, kind) == 1 && tgetstr("cm", NULL);
}

/* The colours of the styles that have one. */
static const short pairs[STYLES] = {
	[STYLE_ERROR] = COLOR_RED,  [STYLE_WARNING] = COLOR_YELLOW, [STYLE_HAZARD] = COLOR_MAGENTA,
	[STYLE_GOOD] = COLOR_GREEN, [STYLE_NAME] = COLOR_CYAN,
};

int display_open(struct display **ret_display)
{
	const char *kind = getenv("TERM");
	struct display *display;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return log_why(-ENOTTY,
			       "draw the screen: not a terminal; use `verbatim top --batch`");
	display = calloc(1, sizeof(*display));
	if (!display)
		return log_err(-ENOMEM, "draw");
	display->out = fdopen(dup(STDOUT_FILENO), "w");
	if (display->out && can_move_cursor(kind))
		display->screen = newterm(NULL, display->out, stdin);
	if (!display->screen) {
		free_display(display);
		return log_why(
			-EINVAL,
			"draw the screen on a terminal of type '%s' (TERM); use `verbatim top "
			"--batch`",
			kind ? kind : "");
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	display->colour = style_is_enabled() && has_colors() && start_color() == OK &&
			  use_default_colors() == OK;
	for (int i = 0; display->colour && i < STYLES; i++)
		if (pairs[i])
			init_pair((short)i, pairs[i], -1);
	*ret_display = display;
	return 0;
}

void display_close(struct display *display)
{
	if (!display)
		return;
	endwin();
	free_display(display);
}

unsigned int display_columns(const struct display *display)
{
	(void)display;
	return COLS > 0 ? (unsigned int)COLS : 1;
}

unsigned int display_rows(const struct display *display)
{
	(void)display;
	return LINES > 0 ? (unsigned int)LINES : 1;
}

static attr_t attributes_of(const struct display *display, enum style style)
{
	switch (style) {
	case STYLE_HEAD:
		return A_BOLD;
	case STYLE_DIM:
		return A_DIM;
	case STYLE_PLAIN:
		return A_NORMAL;
	default:
		return display->colour ? (attr_t)COLOR_PAIR(style) : A_BOLD;
	}
}

static void put_row(const struct display *display, int row, enum style style, const char *text)
{
	attrset((int)attributes_of(display, style));
	mvaddnstr(row, 0, text, COLS);
	attrset(A_NORMAL);
}

void display_show(struct display *display, const struct frame *frame, const char *keys)
{
	int rows = LINES - 1;

	erase();
	for (int i = 0; i < rows && i < (int)frame->n; i++)
		put_row(display, i, frame->lines[i].style, frame->lines[i].text);
	attrset(A_REVERSE);
	mvaddnstr(LINES - 1, 0, keys, COLS - 1); /* writing the last cell would scroll */
	attrset(A_NORMAL);
	refresh();
}

/* When a terminal is closed, the leader of its session is notified, and not we. */
static bool terminal_is_gone(void)
{
	struct pollfd input = { .fd = STDIN_FILENO };

	return poll(&input, 1, 0) > 0;
}

int display_key(struct display *display, int ms)
{
	int key;

	(void)display;
	timeout(ms);
	key = getch();
	if (key == KEY_RESIZE)
		return DISPLAY_RESIZED;
	if (key == ERR)
		return terminal_is_gone() ? DISPLAY_GONE : DISPLAY_NONE;
	return key > DISPLAY_GONE && key < 128 ? key : DISPLAY_OTHER;
}
