/*
 * Column `kind`: the verbs of posts and polls
 */
#include "core/store/chunk/columns.h"

#include "core/wire/event.h"

static const struct {
	enum event_kind kind;
	enum verb verb;
} verbs[] = {
	{ KIND_POLL, VERB_poll_cq }, /* the usual ones first */
	{ KIND_POST_SEND, VERB_post_send },
	{ KIND_POST_RECV, VERB_post_recv },
	{ KIND_POST_SRQ_RECV, VERB_post_srq_recv },
	{ KIND_BUILT, VERB_wr_complete },
	{ KIND_ABORTED, VERB_wr_abort },
	{ KIND_POST_WQ_RECV, VERB_post_wq_recv },
	{ KIND_START_POLL, VERB_start_poll },
	{ KIND_NEXT_POLL, VERB_next_poll },
};

enum { VERBS = sizeof(verbs) / sizeof(*verbs) };

enum verb kind_verb(uint32_t kind)
{
	for (int i = 0; i < VERBS; i++)
		if (verbs[i].kind == kind)
			return verbs[i].verb;
	return VERB_COUNT;
}

uint32_t kind_of_verb(enum verb verb)
{
	for (int i = 0; i < VERBS; i++)
		if (verbs[i].verb == verb)
			return verbs[i].kind;
	return 0;
}

unsigned int extra_part(enum column_id id)
{
	switch (id) {
#define BIT(column, bit)      \
	case COLUMN_##column: \
		return bit;
		EACH_EXTRA_BIT(BIT)
#undef BIT
	default:
		return 0;
	}
}
