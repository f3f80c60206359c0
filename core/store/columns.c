/*
 * Which verb a post was made by, as the column `kind` has it
 */
#include "core/store/columns.h"

static const struct {
	enum event_kind kind;
	enum verb verb;
} posts[] = {
	{ KIND_POST_SEND, VERB_post_send },
	{ KIND_POST_RECV, VERB_post_recv },
	{ KIND_POST_SRQ_RECV, VERB_post_srq_recv },
	{ KIND_BUILT, VERB_wr_complete },
	{ KIND_ABORTED, VERB_wr_abort },
	{ KIND_POST_WQ_RECV, VERB_post_wq_recv },
};

enum { POSTS = sizeof(posts) / sizeof(*posts) };

enum verb kind_verb(uint32_t kind)
{
	for (int i = 0; i < POSTS; i++)
		if (posts[i].kind == kind)
			return posts[i].verb;
	return VERB_COUNT;
}

uint32_t kind_of_verb(enum verb verb)
{
	for (int i = 0; i < POSTS; i++)
		if (posts[i].verb == verb)
			return posts[i].kind;
	return 0;
}
