/*
 * A process that spins on a lock in the memory of a peer
 *
 *	QP1	swap				the last of another queue pair
 *	QP2	     swap swap swap ...	end	each completes, and none takes the lock
 *
 * No verb fails, and nothing is outstanding: only the repetition shows that it waits.
 */
#include "analyzer/facts/spins.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/swapped.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"

enum { LONG_NS = 250000000 };

static void put_qp(struct text *t, const struct model *model, uint32_t id, uint32_t process)
{
	const struct object *qp = trace_object(model->trace, id);
	char other[PROCESS_TEXT];

	if (qp && qp->process != process)
		text_addf(t, "%s ", process_id_text(qp->process, other));
	text_addf(t, "%s", qp && qp->name ? qp->name : "a queue pair");
}

char *spins_describe(const struct model *model, uint32_t process)
{
	const struct swapped *word = swapped_find_spin(model, process);
	char peer[PROCESS_TEXT], span[32], id[32];
	struct text t = { 0 };

	if (!word || word->spin.until - word->spin.since < LONG_NS)
		return NULL;
	put_qp(&t, model, word->spin.qp, process);
	text_addf(&t,
		  " posted only compare-and-swaps of the 8 bytes at 0x%" PRIx64 " of %s, %" PRIu64
		  " for %s, as one waits for a lock",
		  word->addr, process_id_text(word->process, peer), word->spin.n,
		  words_format_span(word->spin.until - word->spin.since, span));
	if (word->before.id.thread && word->last == word->spin.qp) {
		text_addf(&t, "; the last of another queue pair was that of ");
		put_qp(&t, model, word->other, process);
		text_addf(&t, ", %s, %s earlier", event_id_text(word->before.id, id),
			  words_format_span(word->spin.until - word->before.time, span));
	}
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}
