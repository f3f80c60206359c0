/*
 * How a process ended, from its status or from what the recorder saw: stall_end_test.txt
 */
#include "analyzer/facts/stalls_priv.h"

#include <signal.h>

#include "tests/analyzer/story.h"
#include "tests/sweep.h"

enum { LAST = 5000 }; /* time of the last event */

static struct story story;
static struct stall stall;

static void print_end(struct text *to)
{
	stall = (struct stall){ .process = 1 };
	stall_fill_end(&stall, story.trace, LAST);
	text_addf(to, "%s%sat %lld, signal %d, status %d", stall.ended ? "ended " : "",
		  stall.well ? "well " : "", (long long)stall.time, stall.signal, stall.status);
}

TEST(a_process_ends_as_its_status_says)
{
	static const char *const endings[] = { NULL, "exit", "killed" };
	struct text text = { 0 };
	struct process *process;
	const char *ending;

	story_begin(&story);
	story_exit(&story, STORY_PID, 0);
	story_check(&story, NULL);
	process = (struct process *)trace_process(story.trace, 1);
	ending = process->ending;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		const struct sweep fields[] = {
			SWEEP(process->end, -1, 0, 4000, 6000),
			SWEEP(process->status, -1, 0, 3 << 8, SIGKILL, 0x137f /* stopped */),
		};

		process->ending = endings[i];
		process->end = 3000;
		process->status = -1;
		sweep_all(&text, endings[i] ?: "not known", fields, 2, print_end);
	}
	process->ending = ending;
	transcript_expect(__FILE__, &text);
	story_end(&story);
}
