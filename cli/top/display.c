/*
 * A terminal that is redrawn, and its keys
 */
#include "cli/top/display.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <termcap.h>
#include <unistd.h>

#define NCURSES_NOMACROS
#include <curses.h>

#include "core/base/library.h"
#include "core/wire/log.h"

/* clang-format off */
#define CURSES_LIB(X) \
	X(COLOR_PAIR) \
	X(COLS) \
	X(LINES) \
	X(cbreak) \
	X(curs_set) \
	X(delscreen) \
	X(endwin) \
	X(has_colors) \
	X(init_pair) \
	X(keypad) \
	X(newterm) \
	X(noecho) \
	X(nonl) \
	X(start_color) \
	X(stdscr) \
	X(tgetent) \
	X(tgetstr) \
	X(use_default_colors) \
	X(waddnstr) \
	X(wattrset) \
	X(werase) \
	X(wgetch) \
	X(wmove) \
	X(wrefresh) \
	X(wtimeout)
/* clang-format on */

static LIBRARY(CURSES_LIB) curses;

struct display {
	SCREEN *screen;
	FILE *out; /* standard output, unfiltered: all other output is filtered (cli/screen.h) */
	bool colour;
};

static void free_display(struct display *display)
{
	if (display->screen)
		curses.delscreen(display->screen);
	if (display->out)
		fclose(display->out);
	free(display);
}

/* Can the terminal move its cursor? ("dumb" is a known kind, and cannot.) */
static bool can_move_cursor(const char *kind)
{
	char entry[4096]; /* ncurses does not write to it */

	return kind && *kind && curses.tgetent(entry, kind) == 1 && curses.tgetstr("cm", NULL);
}

/* The colours of the styles that have one. */
static const short pairs[STYLES] = {
	[STYLE_ERROR] = COLOR_RED,  [STYLE_WARNING] = COLOR_YELLOW, [STYLE_HAZARD] = COLOR_MAGENTA,
	[STYLE_GOOD] = COLOR_GREEN, [STYLE_NAME] = COLOR_CYAN,
};

int display_open(struct display **ret_display)
{
	static const char *const names[] = { CURSES_LIB(LIBRARY_NAME) NULL };
	const char *kind = getenv("TERM"), *why;
	struct display *display;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return log_why(-ENOTTY,
			       "draw the screen: not a terminal; use `verbatim top --batch`");
	why = library_load("libncursesw.so.6", names, curses.functions);
	if (why)
		return log_why(-ENOPKG,
			       "draw the screen without ncurses (%s); use `verbatim top --batch`",
			       why);
	display = calloc(1, sizeof(*display));
	if (!display)
		return log_err(-ENOMEM, "draw");
	display->out = fdopen(dup(STDOUT_FILENO), "w");
	if (display->out && can_move_cursor(kind))
		display->screen = curses.newterm(NULL, display->out, stdin);
	if (!display->screen) {
		free_display(display);
		return log_why(
			-EINVAL,
			"draw the screen on a terminal of type '%s' (TERM); use `verbatim top "
			"--batch`",
			kind ? kind : "");
	}
	curses.cbreak();
	curses.noecho();
	curses.nonl();
	curses.keypad(*curses.stdscr, TRUE);
	curses.curs_set(0);
	display->colour = style_is_enabled() && curses.has_colors() && curses.start_color() == OK &&
			  curses.use_default_colors() == OK;
	for (int i = 0; display->colour && i < STYLES; i++)
		if (pairs[i])
			curses.init_pair((short)i, pairs[i], -1);
	*ret_display = display;
	return 0;
}

void display_close(struct display *display)
{
	if (!display)
		return;
	curses.endwin();
	free_display(display);
}

unsigned int display_columns(const struct display *display)
{
	(void)display;
	return *curses.COLS > 0 ? (unsigned int)*curses.COLS : 1;
}

unsigned int display_rows(const struct display *display)
{
	(void)display;
	return *curses.LINES > 0 ? (unsigned int)*curses.LINES : 1;
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
		return display->colour ? (attr_t)curses.COLOR_PAIR(style) : A_BOLD;
	}
}

static void add_text(int row, const char *text, int n)
{
	curses.wmove(*curses.stdscr, row, 0);
	curses.waddnstr(*curses.stdscr, text, n);
}

static void put_row(const struct display *display, int row, enum style style, const char *text)
{
	curses.wattrset(*curses.stdscr, (int)attributes_of(display, style));
	add_text(row, text, *curses.COLS);
	curses.wattrset(*curses.stdscr, A_NORMAL);
}

void display_show(struct display *display, const struct screen_frame *frame, const char *keys)
{
	int rows = *curses.LINES - 1;

	curses.werase(*curses.stdscr);
	for (int i = 0; i < rows && i < (int)frame->n; i++)
		put_row(display, i, frame->lines[i].style, frame->lines[i].text);
	curses.wattrset(*curses.stdscr, A_REVERSE);
	add_text(*curses.LINES - 1, keys,
		 *curses.COLS - 1); /* writing the last cell would scroll */
	curses.wattrset(*curses.stdscr, A_NORMAL);
	curses.wrefresh(*curses.stdscr);
}

/* Was the terminal closed? The kernel notifies only the leader of its session. */
static bool terminal_is_gone(void)
{
	struct pollfd input = { .fd = STDIN_FILENO };

	return poll(&input, 1, 0) > 0;
}

int display_read_key(struct display *display, int ms)
{
	int key;

	(void)display;
	curses.wtimeout(*curses.stdscr, ms);
	key = curses.wgetch(*curses.stdscr);
	if (key == KEY_RESIZE)
		return DISPLAY_RESIZED;
	if (key == ERR)
		return terminal_is_gone() ? DISPLAY_GONE : DISPLAY_NONE;
	return key > DISPLAY_GONE && key < 128 ? key : DISPLAY_OTHER;
}
