/*
 * verbatim top: shows what a recorded program does, once a second
 *
 * The recorder computes the numbers (cli/record/live_stats.c); this file requests and shows them.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/find_session.h"
#include "cli/record/live_page.h"
#include "cli/screen.h"
#include "cli/top/display.h"
#include "cli/top/frame.h"
#include "core/wire/log.h"

enum {
	LOOK_MS = 20,
	ASK_NS = 500000000, /* less than the recorder waits for a viewer */
	BATCH_COLUMNS = 80,
};

struct settings {
	bool batch;
	unsigned int json;
	uint32_t samples;
};

/* clang-format off */
const struct option_row cli_top_options[] = {
	{ "batch", 'b', NULL, "print samples instead of drawing a screen",
	  FLAG_AT(struct settings, batch) },
	{ "samples", 'n', "N", "stop after N samples", NUMBER_AT(struct settings, samples),
	  .least = 1, .most = UINT32_MAX, .otherwise = "until the recording ends" },
	CLI_FORMAT(struct settings),
	{ 0 },
};
/* clang-format on */

struct top {
	const struct settings *set;
	struct session session;
	int fd; /* of the recorder's numbers */
	uint32_t turn;
	uint64_t asked_at;
	char trace[SESSION_TEXT], command[SESSION_TEXT];
	struct live_state state;
	struct display *display; /* NULL with --batch */
	enum frame_sort sort;
	bool paused;
	uint64_t shown;
};

static volatile sig_atomic_t interrupted;

static void note_signal(int signal)
{
	interrupted = signal;
}

/* The terminal is restored before we end. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = note_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int print_frame(const struct top *top)
{
	struct screen_frame frame;

	screen_frame_fill(&top->state, top->trace, top->command, top->sort, BATCH_COLUMNS,
			  FRAME_LINES, &frame);
	for (unsigned int i = 0; i < frame.n; i++)
		printf("%s\n", frame.lines[i].text);
	return 0;
}

static int print_json(const struct top *top)
{
	struct text text = { 0 };

	screen_frame_json(&top->state, top->trace, top->command, &text);
	if (!text.failed)
		fwrite(text.at, 1, text.used, stdout);
	text_fini(&text);
	return text.failed ? log_err(-ENOMEM, "print") : 0;
}

static int print_sample(struct top *top)
{
	int err;

	if (top->shown++ && !top->set->json)
		printf("\n");
	err = top->set->json ? print_json(top) : print_frame(top);
	if (!err && fflush(stdout))
		err = log_err(-errno, "write to standard output");
	return err;
}

static void draw_sample(struct top *top)
{
	struct screen_frame frame;
	char keys[128];

	snprintf(keys, sizeof(keys), " q end   s sorted by: %-12s p %-9s  Verbatim ",
		 frame_sorts[top->sort], top->paused ? "go on" : "pause");
	screen_frame_fill(&top->state, top->trace, top->command, top->sort,
			  display_columns(top->display), display_rows(top->display) - 1, &frame);
	display_show(top->display, &frame, keys);
}

/* Read the names from the session, which the recorder may not have written when it is found. */
static void read_names(struct top *top)
{
	find_session_text(top->session.page->trace, top->trace);
	find_session_text(top->session.page->command, top->command);
}

static int show_sample(struct top *top)
{
	read_names(top);
	if (!top->display)
		return print_sample(top);
	top->shown++;
	draw_sample(top);
	return 0;
}

static void ask_recorder(struct top *top)
{
	uint64_t now = clock_monotonic();

	if (top->asked_at && now - top->asked_at < ASK_NS)
		return;
	live_page_note_viewer(top->fd);
	if (!top->asked_at)
		session_wake(&top->session);
	top->asked_at = now;
}

/* False: the user quit, or the terminal was closed. */
static bool apply_key_press(struct top *top, int key)
{
	if (key == 'q' || key == DISPLAY_GONE)
		return false;
	if (key == 'p')
		top->paused = !top->paused;
	if (key == 's')
		top->sort = (top->sort + 1) % FRAME_SORTS;
	if (key != DISPLAY_NONE)
		draw_sample(top);
	return true;
}

static bool wait_for_more(struct top *top)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };

	if (top->display)
		return apply_key_press(top, display_read_key(top->display, LOOK_MS));
	nanosleep(&pause, NULL);
	return true;
}

/* Check once more at the end, as the last publication may be new. 1: it is; 0 or -errno. */
static int check_end(struct top *top)
{
	if (live_page_read(top->fd, &top->state, &top->turn) == 1)
		return 1;
	read_names(top);
	if (top->state.phase == LIVE_NONE)
		return log_why(-ESRCH, "the recording has ended already: `verbatim stat %s`",
			       top->trace);
	return log_why(-ESRCH, "the recorder has died: see `verbatim info %s`", top->trace);
}

/* 1: there is a sample; 0: the user quits; -errno. */
static int next_sample(struct top *top)
{
	while (!interrupted) {
		int found;

		ask_recorder(top);
		found = top->paused ? 0 : live_page_read(top->fd, &top->state, &top->turn);
		if (found < 0)
			return log_err(found, "read the statistics of the recorder in %s",
				       top->session.dir);
		if (!found && !find_session_alive(&top->session))
			found = check_end(top);
		if (found < 0)
			return found;
		if (found)
			return 1;
		if (!wait_for_more(top))
			return 0;
	}
	return 0;
}

static int watch_program(struct top *top)
{
	int err;

	while ((err = next_sample(top)) == 1) {
		if (top->state.phase == LIVE_FAILED)
			return log_why(-EIO, "the recorder no longer computes statistics; see its "
					     "output");
		err = show_sample(top);
		if (err || top->state.phase == LIVE_ENDED || top->shown == top->set->samples)
			break;
	}
	return err;
}

/* The last screen stays visible. */
static int close_screen(struct top *top, int err)
{
	if (!top->display)
		return err;
	display_close(top->display);
	top->display = NULL;
	return err || top->state.phase != LIVE_ENDED ? err : print_sample(top);
}

/* Skip numbers that were published for an earlier viewer, unless they are the recorder's last. */
static void skip_old_numbers(struct top *top)
{
	if (!live_page_has_viewer(top->fd) &&
	    live_page_read(top->fd, &top->state, &top->turn) == 1 &&
	    (top->state.phase == LIVE_ENDED || top->state.phase == LIVE_FAILED))
		top->turn = 0;
	top->state = (struct live_state){ 0 };
}

static int join_recorder(struct top *top, const char *name)
{
	int err = find_session(name, FIND_ANY, &top->session);

	if (err)
		return err;
	top->fd = live_page_create(&top->session);
	if (top->fd < 0)
		return log_err(top->fd, "make a file in %s", top->session.dir);
	skip_old_numbers(top);
	return 0;
}

static int run_top(struct top *top, const char *name)
{
	int err = join_recorder(top, name);

	if (!err)
		catch_signals();
	if (!err && !top->set->batch)
		err = display_open(&top->display);
	if (!err)
		err = close_screen(top, watch_program(top));
	if (top->fd >= 0)
		close(top->fd);
	session_leave(&top->session);
	return err < 0 ? CLI_ENVIRONMENT : CLI_FINE;
}

int cli_top(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct top *top;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	if (arguments.n > 1)
		return cli_refuse_argument("top", arguments.at[1]);
	if (set.json && !set.batch)
		return cli_misuse("top", "--format needs --batch");
	top = calloc(1, sizeof(*top));
	if (!top)
		return cli_status(log_err(-ENOMEM, "watch"));
	top->set = &set;
	top->fd = -1;
	status = run_top(top, arguments.n ? arguments.at[0] : NULL);
	free(top);
	return status;
}
