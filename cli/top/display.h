#pragma once
/*
 * A terminal that is drawn anew, and its keys: the one door to ncurses. One thread.
 */
#include <stdbool.h>

#include "cli/top/frame.h"

struct display;

/*
 * Take over the terminal that standard input and output are. 0 or -errno after log_err(): -ENOTTY
 * they are none, -EINVAL nothing is known of its kind.
 */
int display_open(struct display **ret_display);

/* The terminal is as it was. Accepts NULL. */
void display_close(struct display *display);

/* Both may change at any time. */
unsigned int display_columns(const struct display *display);
unsigned int display_rows(const struct display *display);

/* The frame, and @keys in the last line. */
void display_show(struct display *display, const struct frame *frame, const char *keys);

enum display_key { DISPLAY_NONE, DISPLAY_OTHER, DISPLAY_RESIZED, DISPLAY_GONE };

/*
 * What was typed within @ms: a character, DISPLAY_RESIZED, or DISPLAY_NONE. DISPLAY_GONE: there is
 * no terminal any more.
 */
int display_key(struct display *display, int ms);
