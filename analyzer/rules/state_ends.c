#include "analyzer/rules/state_ends.h"

#include <stdio.h>

#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"

const struct peer *state_other_end(struct check *check, const struct life *qp)
{
	return qp ? peer_find_other(model_peers(check->model), qp->peer) : NULL;
}

const char *state_name_end(struct check *check, const struct life *qp, char text[STATE_END_TEXT])
{
	char process[128];

	snprintf(text, STATE_END_TEXT, "%s of %s", qp->name,
		 words_name_process(check->trace, qp->process, process, sizeof(process)));
	return text;
}

struct moment state_request_moment(const struct life *qp, const struct queue_request *request)
{
	return (struct moment){ .id = queue_id(request),
				.verb = VERB_post_send,
				.process = qp->process,
				.stack = request->stack,
				.time = request->time };
}
