/* Why the other end refused a connection */
#include "analyzer/facts/cm_refused.h"

#include <byteswap.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/cm.h"
#include "analyzer/model/model.h"
#include "analyzer/model/words.h"

enum { TEXT = 192 };

static const struct refusal {
	const char *event;
	int64_t status;
	bool unheard; /* no program listens */
	const char *because;
} refusals[] = {
	{ "RDMA_CM_EVENT_REJECTED", 8, true,
	  "no program listens at this address and port (status 8, invalid service ID)" },
	{ "RDMA_CM_EVENT_REJECTED", 28, false,
	  "the other program called rdma_reject(), destroyed the identifier of the request, or "
	  "ended; or its backlog was full (status 28)" },
	{ "RDMA_CM_EVENT_UNREACHABLE", 1, true,
	  "no program listens at this address and port (status 1, service ID not supported)" },
	{ "RDMA_CM_EVENT_UNREACHABLE", 2, false,
	  "the other program called rdma_reject(), destroyed the identifier of the request, or "
	  "ended; or its backlog was full (status 2)" },
};

/* The identifier of any process that listens on @port; NULL: none. */
static const struct life *find_listener(struct trace *trace, const struct model *model,
					uint16_t port)
{
	for (uint32_t p = 1; trace_process(trace, p); p++) {
		const struct life *life = NULL;

		while ((life = model_next_life(model, p, life)))
			if (life->kind == OBJECT_cm_id && life->state == LIFE_LIVE &&
			    life->listens && life->port == port)
				return life;
	}
	return NULL;
}

/* "; but cm_id1 of process 1 (server) listens on port 7471, which is 12061 in the other ..." */
static void describe_swapped_port(struct trace *trace, const struct model *model, uint16_t port,
				  char text[TEXT])
{
	const uint16_t meant = bswap_16(port);
	const struct life *listener =
		port && meant != port ? find_listener(trace, model, meant) : NULL;
	char process[TEXT / 2];

	text[0] = '\0';
	if (listener)
		snprintf(text, TEXT,
			 "; but %s of %s listens on port %u, which is %u in the other byte order: "
			 "is htons() missing?",
			 listener->name,
			 words_name_process(trace, listener->process, process, sizeof(process)),
			 meant, port);
}

char *cm_refused_reason(struct trace *trace, const struct model *model,
			const struct trace_event *event, const char *name, int64_t status)
{
	const uint16_t port = cm_find_port(args_text(event->call->out, ARG(event.dst_addr)));
	char swapped[TEXT] = "", *text;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *refusal = &refusals[i];

		if (refusal->status != status || strcmp(refusal->event, name))
			continue;
		if (refusal->unheard)
			describe_swapped_port(trace, model, port, swapped);
		return asprintf(&text, "%s%s", refusal->because, swapped) < 0 ? NULL : text;
	}
	return NULL;
}
