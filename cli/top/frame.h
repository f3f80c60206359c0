#pragma once
/*
 * Live statistics (cli/record/live_page.h), as lines for a terminal or as JSON. Not thread-safe.
 */
#include <stdbool.h>

#include "cli/record/live_page.h"
#include "core/base/style.h"
#include "core/base/text.h"

enum { FRAME_COLUMNS = 160, FRAME_LINES = 24 + LIVE_QUEUES };

enum frame_sort { FRAME_TRAFFIC, FRAME_ERRORS, FRAME_LATENCY, FRAME_OUTSTANDING, FRAME_SORTS };

/* The names of the orders, as shown beside their key. */
extern const char *const frame_sorts[FRAME_SORTS];

struct frame_line {
	char text[FRAME_COLUMNS + 1]; /* ASCII */
	enum style style;
};

struct screen_frame {
	unsigned int n;
	struct frame_line lines[FRAME_LINES];
};

/*
 * At most @rows lines of at most @columns each (80 show everything); the queue pairs sorted by
 * @sort. @trace and @command are foreign text.
 */
void screen_frame_fill(const struct live_state *state, const char *trace, const char *command,
		       enum frame_sort sort, unsigned int columns, unsigned int rows,
		       struct screen_frame *ret_frame);

/* The whole state as one line of JSON. */
void screen_frame_json(const struct live_state *state, const char *trace, const char *command,
		       struct text *to);
