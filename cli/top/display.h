#pragma once
/*
 * A terminal whose contents are redrawn, and its keys: the only module that uses ncurses. Not
 * thread-safe.
 */
#include <stdbool.h>

#include "cli/top/frame.h"

struct display;

/*
 * Take over the terminal of standard input and output. 0 or -errno after log_err(): -ENOTTY they
 * are not a terminal, -EINVAL its type is not known.
 */
int display_open(struct display **ret_display);

/* Restore the terminal. Accepts NULL. */
void display_close(struct display *display);

/* The size of the terminal; both may change at any time. */
unsigned int display_columns(const struct display *display);
unsigned int display_rows(const struct display *display);

/* Draw the frame, and @keys in the last line. */
void display_show(struct display *display, const struct screen_frame *frame, const char *keys);

enum display_key { DISPLAY_NONE, DISPLAY_OTHER, DISPLAY_RESIZED, DISPLAY_GONE };

/*
 * The key typed within @ms: a character, DISPLAY_RESIZED, or DISPLAY_NONE. DISPLAY_GONE: the
 * terminal was closed.
 */
int display_read_key(struct display *display, int ms);
