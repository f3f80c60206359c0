#include "analyzer/facts/last_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/stalls.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"

void last_seen_put_stopped(struct text *t, const struct stall *stall)
{
	char when[32], at[32];

	text_addf(t, "was stopped%s from %s on, for %s",
		  stall->seen == 't' ? " by a debugger" : " by a signal",
		  words_format_span(stall->seen_since, at),
		  words_format_span(stall->time - stall->seen_since, when));
}

const char *last_seen_describe(const struct stall *stall, char text[LAST_SEEN_TEXT])
{
	text[0] = '\0';
	if (stall->seen == 'R')
		snprintf(text, LAST_SEEN_TEXT, "it was running");
	else if (stall->seen && stall->wchan[0])
		snprintf(text, LAST_SEEN_TEXT, "it slept in the kernel, in %s", stall->wchan);
	return text;
}

static void put_quiet(struct text *t, const struct stall *stall)
{
	char when[32], seen[LAST_SEEN_TEXT];

	if (*last_seen_describe(stall, seen))
		text_addf(t, "it called no verb for %s: %s",
			  words_format_span(stall->time - stall->last.time, when), seen);
}

/* The state comes first: such a process waits for nothing, whatever is outstanding. */
static void complete_fact(struct fact *fact, const struct stall *stall)
{
	struct text t = { 0 };

	if (stall->state == STALL_STOPPED) {
		text_addf(&t, "it ");
		last_seen_put_stopped(&t, stall);
	} else if (stall->state == STALL_QUIET && !stall->forked.id.thread) {
		put_quiet(&t, stall);
	}
	if (t.used && fact->because)
		text_addf(&t, "; %s", fact->because);
	if (t.used && !t.failed) {
		free(fact->because);
		fact->because = strdup(t.at);
	}
	text_fini(&t);
}

void last_seen_finish(struct fact_list *facts, const struct stalls *stalls)
{
	for (size_t i = 0; i < facts->n && !stalls->err; i++) {
		struct fact *fact = &facts->all[i];
		const struct stall *stall =
			fact->process < stalls->n ? &stalls->all[fact->process] : NULL;

		if (fact->kind == FACT_KILLED && stall && stall->process &&
		    stall->last.id.thread == fact->event.thread &&
		    stall->last.id.n == fact->event.n)
			complete_fact(fact, stall);
	}
}
