#include "analyzer/facts/last_seen.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/stalls.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"

static void put_stopped(struct text *t, const struct stall *stall)
{
	char when[32], at[32];

	text_addf(t, "it was stopped%s from %s on, for %s",
		  stall->seen == 't' ? " by a debugger" : " by a signal",
		  words_format_span(stall->seen_since, at),
		  words_format_span(stall->time - stall->seen_since, when));
}

static void put_quiet(struct text *t, const struct stall *stall)
{
	char when[32];

	if (stall->seen != 'R' && !stall->wchan[0])
		return;
	text_addf(t, "it called no verb for %s: ",
		  words_format_span(stall->time - stall->last.time, when));
	if (stall->seen == 'R')
		text_addf(t, "it was running");
	else
		text_addf(t, "it slept in the kernel, in %s", stall->wchan);
}

/* The state comes first: such a process waits for nothing, whatever is outstanding. */
static void complete_fact(struct fact *fact, const struct stall *stall)
{
	struct text t = { 0 };

	if (stall->state == STALL_STOPPED)
		put_stopped(&t, stall);
	else if (stall->state == STALL_QUIET && !stall->forked.id.thread)
		put_quiet(&t, stall);
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
