/*
 * MKEY-006 and FORK-005: registered memory that the program gives back; FORK-009: huge pages
 *
 * A region that merely stays registered after its memory is gone does no harm: registration caches
 * deregister later. An outstanding request does harm; and, under fork support, so does the flag
 * that the library has set on the pages, which their next user inherits.
 *
 * A region that peers use, and whose memory was unmapped, is a hazard if a peer uses it again, or
 * if it outlives the queue pairs: a registration cache would have deregistered it before them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/key.h"
#include "analyzer/model/pinned.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

/* A region that lost some of its memory, and the first request that needs it. */
struct lost_memory {
	const struct key *key;
	uint64_t from, to; /* the program's addresses */
	const struct queue *queue;
	struct queue_request request; /* valid with a queue */
	uint64_t n;                   /* number of such requests */
};

/* Does the event report huge pages that are still registered and mapped? */
static bool is_huge(const struct memory_event *memory)
{
	return memory->what && !strcmp(memory->what, "huge");
}

static bool is_lost_memory(const struct lost_memory *lost, const struct sge *sge)
{
	uint64_t at = lost->key->memory + (sge->addr - lost->key->addr);

	return sge->lkey == lost->key->lkey && sge->length && at < lost->to &&
	       at + sge->length > lost->from;
}

static bool count_lost_request(void *arg, const struct queue *queue,
			       const struct queue_request *request)
{
	struct lost_memory *lost = arg;

	if (queue->doubt || request->done || !queue->owner ||
	    queue->owner->context != lost->key->context || request->flags & ABI_SEND_INLINE)
		return false;
	for (uint32_t i = 0; i < request->nsge; i++) {
		if (!is_lost_memory(lost, queue_sge(queue, request, i)))
			continue;
		if (!lost->n++) {
			lost->queue = queue;
			lost->request = *request;
		}
		break;
	}
	return false;
}

/* A finding of @rule, with its place filled in. */
static struct finding *add_memory(struct check *check, enum rule_id rule,
				  const struct trace_event *event, const struct life *mr)
{
	const char *what = event->memory->what;
	struct moment moment = moment_of(event);
	struct finding *finding = findings_add(
		check->findings, rule, findings_key(event->memory->stack, mr->created.stack, 0));

	if (!finding)
		return NULL;
	finding_at(finding, &moment);
	finding_text(&finding->where, "%s()", what ? what : "memory");
	finding_text(&finding->object, "%s", mr->name);
	finding_step(finding, "registered", &mr->created);
	return finding;
}

static void report_in_use(struct check *check, const struct trace_event *event,
			  const struct life *mr, const struct lost_memory *lost)
{
	struct finding *finding = add_memory(check, RULE_MKEY_006, event, mr);
	struct moment given = moment_of(event), posted;
	char name[64], id[32];

	if (!finding)
		return;
	posted = (struct moment){ .id = queue_id(&lost->request),
				  .verb = VERB_COUNT,
				  .process = event->process,
				  .stack = lost->request.stack,
				  .time = lost->request.time };
	finding_text(&finding->says,
		     "%s() released 0x%" PRIx64 " to 0x%" PRIx64 " of %s while %" PRIu64 " work "
		     "request%s needed it, %s wr_id 0x%" PRIx64 " on %s posted at %s.",
		     event->memory->what, lost->from, lost->to,
		     object_name_text(mr, name, sizeof(name)), lost->n, lost->n == 1 ? "" : "s",
		     lost->n == 1 ? "with" : "first", lost->request.wr_id, lost->queue->owner->name,
		     event_id_text(posted.id, id));
	finding_step(finding, "posted", &posted);
	finding_step(finding, "given back", &given);
}

static void report_early_release(struct check *check, const struct trace_event *event,
				 const struct life *mr, const struct lost_memory *lost)
{
	struct finding *finding = add_memory(check, RULE_FORK_005, event, mr);
	struct moment given = moment_of(event);
	char name[64];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s() released 0x%" PRIx64 " to 0x%" PRIx64 " of %s, which was still "
		     "registered: under fork support, these pages stay excluded from children.",
		     event->memory->what, lost->from, lost->to,
		     object_name_text(mr, name, sizeof(name)));
	finding_step(finding, "given back", &given);
}

static void report_regions_in_use(struct check *check, const struct trace_event *event,
				  const struct life *mr, const struct lost_memory *lost)
{
	if (lost->n)
		report_in_use(check, event, mr, lost);
}

/* Not if a request is outstanding: then MKEY-006 reports the region. */
static void report_early_releases(struct check *check, const struct trace_event *event,
				  const struct life *mr, const struct lost_memory *lost)
{
	if (!lost->n && strcmp(event->memory->what, "madvise") != 0 &&
	    model_fork_safety(check->model, event->process) == FORK_KEPT)
		report_early_release(check, event, mr, lost);
}

typedef void judge_fn(struct check *check, const struct trace_event *event, const struct life *mr,
		      const struct lost_memory *lost);

static void check_region(struct check *check, const struct trace_event *event,
			 const struct key *key, const struct life *mr, judge_fn *judge)
{
	const struct memory_event *memory = event->memory;
	uint64_t end = memory->addr + memory->length, last = key->memory + mr->bytes;
	struct lost_memory lost = { .key = key,
				    .from = memory->addr > key->memory ? memory->addr : key->memory,
				    .to = end < last ? end : last };

	queues_each(check->model, event->process, count_lost_request, &lost);
	judge(check, event, mr, &lost);
}

/* Only the process's own regions, and none with on-demand paging. */
static void check_memory(struct check *check, const struct trace_event *event, judge_fn *judge)
{
	const struct memory_event *memory = event->memory;

	if (!memory->what || is_huge(memory))
		return;
	for (const struct key *key = model_keys(check->model)->live.oldest; key; key = key->newer) {
		const struct life *mr;

		if (key->kind != OBJECT_mr || key->process != event->process || key->any)
			continue;
		mr = model_region(check->model, event->process, key->handle);
		if (mr && key->memory < memory->addr + memory->length &&
		    key->memory + mr->bytes > memory->addr)
			check_region(check, event, key, mr, judge);
	}
}

/* MKEY-006 */
void mkey_006(struct check *check, const struct trace_event *memory)
{
	check_memory(check, memory, report_regions_in_use);
}

static void report_released(struct check *check, const struct key *key, const struct life *mr,
			    const char *last, const struct moment *end, const char *how)
{
	struct finding *finding =
		findings_add_hazard(check->findings, RULE_MKEY_006,
				    findings_key(key->released.stack, mr->created.stack, 1));
	char name[64];

	if (!finding)
		return;
	finding_at(finding, &key->released);
	finding_text(&finding->where, "%s()", key->released_by);
	finding_text(&finding->object, "%s", mr->name);
	finding_text(&finding->says, "%s() released the memory of %s, which %s.", key->released_by,
		     object_name_text(mr, name, sizeof(name)), how);
	finding_text(&finding->breaks,
		     "a peer accesses it then, and nothing else maps this memory: what it reads is "
		     "old, and what it writes is lost");
	finding_step(finding, "registered", &mr->created);
	finding_step(finding, "given back", &key->released);
	finding_step(finding, last, end);
}

/* The program itself posts a request that uses the region: it reads or fills the old pages. */
static void report_stale(struct check *check, const struct model_key *use, const struct life *mr)
{
	struct finding *finding = findings_add(
		check->findings, RULE_MKEY_006,
		findings_key(use->key->released.stack, mr->created.stack, use->at.stack));
	char name[64], id[32], when[32];

	if (!finding)
		return;
	finding_at(finding, &use->at);
	finding_text(&finding->where, "%s(): wr[%u].sg_list[%d]", verb_infos[use->at.verb].name,
		     use->index, use->sge);
	finding_text(&finding->object, "%s", mr->name);
	finding_text(&finding->says,
		     "wr[%u].sg_list[%d] has 0x%" PRIx64 " of %s, whose memory %s() released at "
		     "%s, %s earlier: the device uses the old pages, not what is mapped there now.",
		     use->index, use->sge, use->addr, object_name_text(mr, name, sizeof(name)),
		     use->key->released_by, event_id_text(use->key->released.id, id),
		     words_format_span(use->at.time - use->key->released.time, when));
	finding_step(finding, "registered", &mr->created);
	finding_step(finding, "given back", &use->key->released);
	finding_step(finding, "posted", &use->at);
}

/* MKEY-006: a request uses the region after its memory was unmapped. */
void mkey_006_key(struct check *check, const struct model_key *use)
{
	const struct life *mr =
		use->key ? model_life(check->model, use->key->process, OBJECT_mr, use->key->handle)
			 : NULL;
	char id[32], how[96], when[32];

	if (use->fault != KEY_RELEASED || !mr)
		return;
	if (!use->peer) {
		report_stale(check, use, mr);
		return;
	}
	snprintf(how, sizeof(how), "a request of a peer used at %s, %s later",
		 event_id_text(use->at.id, id),
		 words_format_span(use->at.time - use->key->released.time, when));
	report_released(check, use->key, mr, "named", &use->at, how);
}

/* The module that called; NULL: not known. The recorder's own frames may be the first. */
static const char *find_caller(struct check *check, uint32_t stack)
{
	struct frame frames[4];
	unsigned int n = stack ? trace_stack(check->trace, stack, frames, 4) : 0;

	for (unsigned int i = 0; i < n; i++)
		if (frames[i].module && !strstr(frames[i].module, "/libverbatim"))
			return frames[i].module;
	return NULL;
}

/* Was the memory unmapped by the module that registered it, so not behind a library's back? */
static bool is_own(struct check *check, const struct key *key)
{
	const char *made = find_caller(check, key->created.stack);
	const char *released = find_caller(check, key->released.stack);

	return made && released && !strcmp(made, released);
}

static bool has_queue_pair(struct check *check, const struct life *mr)
{
	const struct life *life = NULL;

	while ((life = model_next_life(check->model, mr->process, life)))
		if (life->kind == OBJECT_qp && life->state == LIFE_LIVE && life->pd == mr->pd)
			return true;
	return false;
}

/* MKEY-006: the region was deregistered only after the queue pairs. */
void mkey_006_late(struct check *check, const struct model_destroy *destroy)
{
	const struct life *mr = destroy->object;
	const struct key *key;
	char how[160], when[32], requests[WORDS_COUNT];

	if (mr->kind != OBJECT_mr || !destroy->returned || destroy->failed)
		return;
	key = keys_find_object(model_keys(check->model), mr->process, OBJECT_mr, mr->handle);
	if (!key || !key->unmapped || !key->remote || !is_own(check, key) ||
	    has_queue_pair(check, mr))
		return;
	snprintf(how, sizeof(how),
		 "%s of its peers had used, and which stayed registered for %s, longer than the "
		 "queue pairs lived",
		 words_format_count(key->remote, "request", requests),
		 words_format_span(destroy->moment.time - key->released.time, when));
	report_released(check, key, mr, "deregistered", &destroy->moment, how);
}

/*
 * Was nothing posted between the unmapping and the deregistration? Then these two calls are just in
 * the wrong order: the pages have no next owner so soon.
 */
static bool is_late(struct check *check, const struct key *key, const struct model_destroy *destroy)
{
	const struct steady *steady = steady_of(check->model, key->process);

	return key->released.id.thread == destroy->moment.id.thread &&
	       key->posts == (steady ? steady->posts : 0) && !key->unmapped && is_own(check, key) &&
	       model_fork_safety(check->model, key->process) != FORK_KEPT;
}

/* FORK-005: a region is deregistered right after its memory was released, without fork support. */
void fork_005_late(struct check *check, const struct model_destroy *destroy)
{
	const struct life *mr = destroy->object;
	struct finding *finding;
	const struct key *key;
	char name[64], when[32];

	if (mr->kind != OBJECT_mr || !destroy->returned || destroy->failed)
		return;
	key = keys_find_object(model_keys(check->model), mr->process, OBJECT_mr, mr->handle);
	if (!key || !key->released.id.thread || !is_late(check, key, destroy))
		return;
	finding = check_add_destroy_hazard(check, RULE_FORK_005, destroy);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s() released the memory of %s, which was deregistered %s later.",
		     key->released_by, object_name_text(mr, name, sizeof(name)),
		     words_format_span(destroy->moment.time - key->released.time, when));
	finding_text(
		&finding->breaks,
		"fork support is on (ibv_fork_init(), RDMAV_FORK_SAFE), or a request is still "
		"outstanding: the flags of the pages, or the data, are those of the next owner "
		"of the memory");
	finding_step(finding, "registered", &mr->created);
	finding_step(finding, "given back", &key->released);
	finding_step(finding, "deregistered", &destroy->moment);
}

/* FORK-005 */
void fork_005(struct check *check, const struct trace_event *memory)
{
	check_memory(check, memory, report_early_releases);
}

/* FORK-009: one finding for each place that registers huge pages. */
void fork_009(struct check *check, const struct trace_event *event)
{
	const struct memory_event *memory = event->memory;
	struct moment moment = moment_of(event);
	struct finding *finding;
	char value[8], bytes[32];

	if (!is_huge(memory) || model_fork_safety(check->model, event->process) != FORK_KEPT ||
	    trace_environ(check->trace, event->process, "RDMAV_HUGEPAGES_SAFE", value,
			  sizeof(value)))
		return;
	finding = findings_group(check->findings, RULE_FORK_009,
				 findings_key(memory->stack, event->process, 0), true);
	if (!finding || finding->says)
		return;
	finding_at(finding, &moment);
	finding_text(&finding->where, "ibv_reg_mr(): addr");
	finding_text(&finding->says,
		     "Process %u registered %s of huge pages at 0x%" PRIx64
		     " under fork support, and RDMAV_HUGEPAGES_SAFE is not set.",
		     event->process, words_format_bytes(memory->length, bytes), memory->addr);
	finding_step(finding, "registered", &moment);
}
