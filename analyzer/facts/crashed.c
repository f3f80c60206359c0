/*
 * The call in which a process crashed
 *
 *	rdma_create_id(&id)
 *	rdma_resolve_addr(id)
 *	ibv_alloc_pd(id->verbs)		SIGSEGV: no event has come, so verbs is NULL
 *
 * The thread of a call that never returned was in that call when the process ended. If the object
 * that the call acts on is NULL, that is the cause; if the object is a field of an identifier of
 * librdmacm, the program did not wait for the identifier's device.
 */
#include "analyzer/facts/crashed.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "analyzer/facts/failed_verbs.h"
#include "analyzer/model/crash.h"
#include "analyzer/model/handles.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/lives.h"
#include "analyzer/model/model.h"
#include "analyzer/model/queue.h"
#include "core/base/text.h"
#include "core/store/read/trace.h"

static bool accepts_null(enum verb verb)
{
	return verb == VERB_rdma_create_id || verb == VERB_rdma_create_ep;
}

struct crashed_call crashed_read_call(const struct trace_event *event)
{
	const struct handle_list *list = handles_of_inputs(event->call->verb);
	struct crashed_call call = { .null = OBJECT_COUNT };
	int64_t value;

	if (!event->call->args || args_parse(event->call->args))
		return call;
	/* the first is what the call acts on, or what its new object belongs to */
	if (list->n && !accepts_null(event->call->verb) &&
	    args_get(event->call->args, list->handles[0].arg, &value) && !value)
		call.null = list->handles[0].kind;
	if (args_get(event->call->args, ARG(id), &value))
		call.id = (uint64_t)value;
	if (event->call->verb == VERB_rdma_ack_cm_event &&
	    args_get(event->call->args, ARG(event.id), &value))
		call.of_event = (uint64_t)value;
	return call;
}

/* Has the identifier no device yet, and so no context, protection domain or queues? */
static bool is_unresolved(const struct life *id)
{
	return id->kind == OBJECT_cm_id && id->state == LIFE_LIVE && !id->inherited &&
	       !id->borrowed && !id->resolved && !id->bound &&
	       id->created.verb == VERB_rdma_create_id;
}

/* The unresolved identifier at @handle or, if @handle is 0, the one created last; NULL: none. */
static const struct life *find_unresolved(const struct model *model, uint32_t process,
					  uint64_t handle)
{
	const struct life *found = NULL, *life = NULL;

	while ((life = model_next_life(model, process, life)))
		if (is_unresolved(life) && (!handle || life->handle == handle) &&
		    (!found || life->number > found->number))
			found = life;
	return found;
}

static void put_unresolved(struct text *t, const struct life *id)
{
	char created[32];

	text_addf(t,
		  "%s, %s, has no device before RDMA_CM_EVENT_ADDR_RESOLVED was retrieved by "
		  "rdma_get_cm_event(): its verbs, pd and qp are NULL (",
		  id->name, event_id_text(id->created.id, created));
	text_addf(t, id->placed ? "rdma_resolve_addr() had only begun)"
				: "rdma_resolve_addr() was not called)");
}

/* An event that was acknowledged is freed, and its fields are overwritten. */
static char *explain_acknowledgement(const struct model *model, uint32_t process,
				     const struct moment *moment, const struct crashed_call *call)
{
	struct text t = { 0 };
	char at[32];

	if (model_life(model, process, OBJECT_cm_id, call->of_event))
		return NULL;
	text_addf(&t,
		  "inside rdma_ack_cm_event(), %s, which had not returned: its event is of no "
		  "identifier of the process: possibly it was acknowledged before, which frees it",
		  event_id_text(moment->id, at));
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}

/* rdma_destroy_qp(): the identifier at @handle if it has no queue pair, else NULL. */
static const struct life *find_stripped(const struct model *model, uint32_t process,
					uint64_t handle)
{
	const struct life *id = model_life(model, process, OBJECT_cm_id, handle);
	const struct life_link *link = id ? id->children : NULL;

	if (!id || id->state != LIFE_LIVE || id->inherited || id->borrowed)
		return NULL;
	while (link && (link->child->kind != OBJECT_qp || link->child->state != LIFE_LIVE))
		link = link->next_child;
	return link ? NULL : id;
}

static char *explain_stripped(const struct life *id, const struct moment *moment)
{
	struct text t = { 0 };
	char at[32];

	text_addf(&t, "inside rdma_destroy_qp(), %s, which had not returned: %s has no queue pair",
		  event_id_text(moment->id, at), id->name);
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}

char *crashed_describe_cause(const struct model *model, uint32_t process,
			     const struct moment *moment, const struct crashed_call *call)
{
	const struct life *id = NULL;
	struct text t = { 0 };
	char at[32];

	if (!crash_signal_of(model, process))
		return NULL;
	if (call->of_event)
		return explain_acknowledgement(model, process, moment, call);
	if (call->null == OBJECT_context || call->null == OBJECT_pd || call->null == OBJECT_qp)
		id = find_unresolved(model, process, 0);
	else if (call->id)
		id = find_unresolved(model, process, call->id);
	if (moment->verb == VERB_rdma_destroy_qp && !id) {
		id = find_stripped(model, process, call->id);
		return id ? explain_stripped(id, moment) : NULL;
	}
	if (call->null == OBJECT_COUNT && !id)
		return NULL;
	text_addf(&t, "inside %s(), %s, which had not returned", verb_infos[moment->verb].name,
		  event_id_text(moment->id, at));
	if (call->null < OBJECT_COUNT)
		text_addf(&t, ": its %s was NULL", object_names[call->null]);
	if (id) {
		text_addf(&t, "; ");
		put_unresolved(&t, id);
	}
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}

/* Objects that programs use by inline functions, which call through their context. */
static bool is_inline(enum object_kind kind)
{
	return kind == OBJECT_qp || kind == OBJECT_cq || kind == OBJECT_srq || kind == OBJECT_wq;
}

enum { FIELDS_SHOWN = 4 };

/*
 * Append the flags that @fields lacks: "IBV_WC_EX_WITH_BYTE_LEN and 3 more". False: it lacks none.
 */
static bool put_unasked(struct text *t, uint64_t fields)
{
	const struct enum_info *names = enum_find("ibv_create_cq_wc_flags");
	unsigned int n = 0;

	for (int bit = 0; bit < 32; bit++) {
		const char *name = fields >> bit & 1 ? NULL : enum_name(names, (int)(1u << bit));

		if (name && n++ < FIELDS_SHOWN)
			text_addf(t, "%s%s", n > 1 ? ", " : "", name);
	}
	if (n > FIELDS_SHOWN)
		text_addf(t, " and %u more", n - FIELDS_SHOWN);
	return n;
}

/*
 * If it read a completion of an extended CQ: functions for fields that were not requested are NULL.
 */
static char *explain_field_read(const struct model *model, uint32_t process,
				const struct last_verb *last)
{
	const struct life *cq = model_life(model, process, OBJECT_cq, last->handle);
	struct text t = { 0 };
	char at[32];

	if (!cq || !cq->cq || cq->cq->fields < 0 || crash_signal_of(model, process) != SIGSEGV)
		return NULL;
	text_addf(&t,
		  "possibly it read a field of the completion of %s at %s that wc_flags of "
		  "ibv_create_cq_ex(), 0x%" PRIx64 ", do not include: ibv_wc_read_*() is NULL for ",
		  cq->name, event_id_text(last->at.id, at), (uint64_t)cq->cq->fields);
	if (put_unasked(&t, (uint64_t)cq->cq->fields) && !t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}

char *crashed_describe_destroyed(const struct model *model, uint32_t process)
{
	const struct last_verb *last = last_verb_of_process(model, process);
	const struct verb_info *info = last ? &verb_infos[last->verb] : NULL;
	struct text t = { 0 };

	if (last && (last->verb == VERB_start_poll || last->verb == VERB_next_poll))
		return explain_field_read(model, process, last);
	if (!info || !crash_signal_of(model, process) || info->effect != EFFECT_DESTROY ||
	    !is_inline(info->object) || last->returned == last->at.time)
		return NULL;
	text_addf(&t,
		  "possibly the process used the %s that it had destroyed: such a post or poll "
		  "crashes before the recorder sees the call; the software device records it",
		  object_names[info->object]);
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}

/* A result that is used is used soon: in so many events of the thread, two for each call. */
enum { USED_SOON = 16 };

char *crashed_describe_null(const struct model *model, uint32_t process,
			    const struct null_result *null)
{
	const struct last_verb *last = last_verb_of_process(model, process);
	struct text t = { 0 };
	char at[32];

	if (!last || !null->id.thread || crash_signal_of(model, process) != SIGSEGV ||
	    last->at.id.thread != null->id.thread || last->at.id.n - null->id.n > USED_SOON)
		return NULL;
	text_addf(&t, "%s() had returned NULL at %s (%s): possibly the process used this result",
		  verb_infos[null->verb].name, event_id_text(null->id, at),
		  strerrorname_np(null->error) ?: "an error");
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}

/* The newest connection of @process; NULL if it has a queue pair. */
static const struct life *find_connection(const struct model *model, uint32_t process)
{
	const struct life *found = NULL, *life = NULL;

	while ((life = model_next_life(model, process, life))) {
		if (life->state != LIFE_LIVE || life->inherited)
			continue;
		if (life->kind == OBJECT_qp)
			return NULL;
		if (life->kind == OBJECT_cm_id && !life->borrowed && !life->listens &&
		    (life->routed || life->asked) && (!found || life->number > found->number))
			found = life;
	}
	return found;
}

char *crashed_describe_no_qp(const struct model *model, uint32_t process)
{
	const struct last_verb *last = last_verb_of_process(model, process);
	const struct life *id = find_connection(model, process);
	struct text t = { 0 };

	if (!id || !last || verb_infos[last->verb].via != VIA_CM ||
	    last->returned == last->at.time || crash_signal_of(model, process) != SIGSEGV)
		return NULL;
	text_addf(&t,
		  "possibly it used the qp of %s, which is NULL: no rdma_create_qp() had made one",
		  id->name);
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}
