/*
 * RDMA WRITEs to the slots of a ring in the peer's memory
 */
#include "analyzer/model/slots.h"

#include <stdlib.h>

#include "analyzer/model/queue.h"
#include "core/store/read/trace.h"

enum { CREDIT = 64 /* bytes */ };

static void find_period(struct slots *slots, uint64_t addr)
{
	if (slots->writes && addr == slots->addrs[0])
		slots->period = (uint32_t)slots->writes;
	else if (slots->writes == SLOTS_MAX)
		slots->irregular = true;
	else
		slots->addrs[slots->writes] = addr;
}

static void note_write(struct slots *slots, const struct trace_event *event, uint64_t addr)
{
	if (!slots->period)
		find_period(slots, addr);
	if (slots->period && addr != slots->addrs[slots->writes % slots->period])
		slots->irregular = true;
	slots->writes++;
	if (slots->writes - slots->returned > slots->ahead)
		slots->ahead = slots->writes - slots->returned;
	if (!slots->period || slots->writes <= slots->returned + slots->period || slots->over++)
		return;
	slots->first = moment_of(event);
	slots->addr = addr;
	slots->written = slots->writes;
	slots->before = slots->returned;
}

void slots_note_post(struct queue *sends, const struct trace_event *event, uint32_t taken)
{
	const struct post *post = event->post;

	for (uint32_t i = 0; i < taken; i++) {
		if (post->wr[i].opcode != ABI_WR_RDMA_WRITE &&
		    post->wr[i].opcode != ABI_WR_RDMA_WRITE_WITH_IMM)
			continue;
		if (!sends->slots && !(sends->slots = calloc(1, sizeof(*sends->slots))))
			return; /* if out of memory, one hazard is missing */
		if (sends->slots->irregular)
			return;
		note_write(sends->slots, event, post->wr[i].remote_addr);
	}
}

void slots_note_message(struct queue *sends, const struct wc *wc)
{
	struct slots *slots = sends ? sends->slots : NULL;

	if (!slots)
		return;
	slots->irregular |= wc->opcode != ABI_WC_RECV || wc->byte_len > CREDIT ||
			    slots->returned == slots->writes;
	slots->returned++;
}
