/*
 * MKEY: memory, its keys and who may use it
 *
 * The model tells of each key that does not fit (struct model_key); a row here words it. A key that
 * was never seen is told only where the device has refused it, since functions of providers make
 * keys that no verb returns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/key.h"
#include "analyzer/rules/judge.h"

enum { TEXT = 160 };

/* "mr2 of pd1" */
static const char *name_key(const struct check *check, const struct key *key, char text[TEXT])
{
	const struct object *mr = trace_object(check->trace, key->object);
	const struct object *pd =
		trace_object_at(check->trace, key->process, OBJECT_pd, key->pd, key->created.time);

	snprintf(text, TEXT, "%s%s%s", mr && mr->name ? mr->name : "a region", pd ? " of " : "",
		 pd && pd->name ? pd->name : "");
	return text;
}

static const char *name_access(uint32_t access)
{
	return enum_name(enum_find("ibv_access_flags"), access) ?: "an access flag";
}

/* "wr[2].sg_list[0]" */
static const char *name_place(const struct model_key *key, char text[TEXT])
{
	if (key->fault == KEY_OTHER_AH)
		snprintf(text, TEXT, "wr[%u].wr.ud.ah", key->index);
	else if (key->sge < 0)
		snprintf(text, TEXT, "wr[%u].wr.rdma", key->index);
	else
		snprintf(text, TEXT, "wr[%u].sg_list[%d]", key->index, key->sge);
	return text;
}

/* "a receive", "IBV_WR_RDMA_READ" */
static const char *name_request(const struct model_key *key)
{
	if (key->opcode < 0)
		return "a receive";
	return enum_name(enum_find("ibv_wr_opcode"), key->opcode) ?: "a request";
}

/* "; the post returned 22 (Invalid argument)", "; it completed with IBV_WC_LOC_PROT_ERR" */
static const char *name_outcome(const struct model_key *key, char text[TEXT])
{
	text[0] = '\0';
	if (key->ret)
		snprintf(text, TEXT, "; the post returned %d (%s)", key->ret,
			 strerror(key->ret < 0 ? -key->ret : key->ret));
	else if (key->status)
		snprintf(text, TEXT, "; it completed with %s",
			 enum_name(enum_find("ibv_wc_status"), key->status) ?: "an error");
	return text;
}

/* A finding for each place in the program, kind of mistake and queue's kind. */
static struct finding *add_key(struct check *check, enum rule_id rule, const struct model_key *key)
{
	uint64_t place = key->at.stack ? key->at.stack : (uint64_t)key->at.process << 32;
	struct finding *finding = findings_add(
		check->findings, rule, findings_key(place, key->at.verb, (uint64_t)key->fault));
	char text[TEXT];

	if (!finding)
		return NULL;
	finding->event = key->at.id;
	finding->time = key->at.time;
	finding->process = key->at.process;
	finding->thread = key->at.id.thread;
	finding_text(&finding->where, "%s(): %s%s", verb_infos[key->at.verb].name,
		     name_place(key, text),
		     key->fault == KEY_OTHER_AH ? ""
		     : key->sge < 0             ? ".rkey"
						: ".lkey");
	finding_text(&finding->object, "%s", key->queue->name);
	if (key->key) {
		finding_step(finding, "registered", &key->key->created);
		if (key->fault == KEY_GONE)
			finding_step(finding, "deregistered", &key->key->destroyed);
	}
	finding_step(finding, "used", &key->at);
	return finding;
}

static void say_outside(struct check *check, struct finding *finding, const struct model_key *use)
{
	const struct key *key = use->key;
	uint64_t end = use->addr + use->length, top = key->addr + key->length;
	char place[TEXT], name[TEXT], how[TEXT], outcome[TEXT];

	if (use->addr >= key->addr && use->addr < top)
		snprintf(how, TEXT, "it ends %" PRIu64 " byte%s behind it", end - top,
			 end - top == 1 ? "" : "s");
	else if (use->addr < key->addr && end > key->addr)
		snprintf(how, TEXT, "it begins %" PRIu64 " byte%s before it", key->addr - use->addr,
			 key->addr - use->addr == 1 ? "" : "s");
	else
		snprintf(how, TEXT, "none of it lies there");
	finding_text(&finding->says,
		     "%s of %s names %" PRIu64 " bytes at 0x%" PRIx64
		     " with lkey 0x%x, which is %s: "
		     "%" PRIu64 " bytes at 0x%" PRIx64 "; %s%s.",
		     name_place(use, place), name_request(use), use->length, use->addr, use->number,
		     name_key(check, key, name), key->length, key->addr, how,
		     name_outcome(use, outcome));
}

static void say_gone(struct check *check, struct finding *finding, const struct model_key *use)
{
	const struct key *key = use->key;
	char place[TEXT], name[TEXT], outcome[TEXT], id[32], when[32];

	finding_text(
		&finding->says,
		"%s of %s names lkey 0x%x, which was %s until %s() at %s, %s "
		"before%s.",
		name_place(use, place), name_request(use), use->number, name_key(check, key, name),
		verb_infos[key->destroyed.verb].name, event_id_text(key->destroyed.id, id),
		judge_span(use->at.time - key->destroyed.time, when), name_outcome(use, outcome));
}

/* Its number may be known as something else. */
static void say_unknown(struct check *check, struct finding *finding, const struct model_key *use)
{
	const struct keys *keys = model_keys(check->model);
	const struct key *other = keys_find_lkey(keys, use->at.process, 0, use->number);
	const char *as = " of another context";
	char place[TEXT], name[TEXT] = "", outcome[TEXT];

	if (!other) {
		other = keys_find_rkey(keys, use->at.process, use->queue->context, use->number);
		as = ", whose rkey it is";
	}
	if (other)
		name_key(check, other, name);
	finding_text(&finding->says,
		     "%s of %s names lkey 0x%x, which is of no region of %s%s%s%s%s.",
		     name_place(use, place), name_request(use), use->number,
		     other && *as == ' ' ? "its context, but of " : "the process",
		     other && *as == ',' ? ", but " : "", name, other ? as : "",
		     name_outcome(use, outcome));
}

/* MKEY-001 */
void mkey_001(struct check *check, const struct model_key *use)
{
	struct finding *finding;

	if (use->sge < 0 ||
	    (use->fault != KEY_OUTSIDE && use->fault != KEY_GONE && use->fault != KEY_UNKNOWN))
		return;
	finding = add_key(check, RULE_MKEY_001, use);
	if (!finding)
		return;
	if (use->fault == KEY_OUTSIDE)
		say_outside(check, finding, use);
	else if (use->fault == KEY_GONE)
		say_gone(check, finding, use);
	else
		say_unknown(check, finding, use);
}

static const char *name_pd(const struct check *check, const struct model_key *use, uint64_t pd)
{
	const struct object *object =
		trace_object_at(check->trace, use->at.process, OBJECT_pd, pd, use->at.time);

	return object && object->name ? object->name : "another domain";
}

/* MKEY-002 */
void mkey_002(struct check *check, const struct model_key *use)
{
	struct finding *finding;
	char place[TEXT], name[TEXT], outcome[TEXT];

	if (use->fault != KEY_OTHER_AH && (use->fault != KEY_OTHER_PD || use->sge < 0))
		return;
	finding = add_key(check, RULE_MKEY_002, use);
	if (!finding)
		return;
	if (use->fault == KEY_OTHER_AH)
		finding_text(&finding->says, "%s is %s of %s, and %s is in %s%s.",
			     name_place(use, place), use->ah->name,
			     name_pd(check, use, use->ah->pd), use->queue->name,
			     name_pd(check, use, use->queue->pd), name_outcome(use, outcome));
	else
		finding_text(&finding->says, "%s of %s: lkey 0x%x is %s, and %s is in %s%s.",
			     name_place(use, place), name_request(use), use->number,
			     name_key(check, use->key, name), use->queue->name,
			     name_pd(check, use, use->queue->pd), name_outcome(use, outcome));
}

/* MKEY-003 */
void mkey_003(struct check *check, const struct model_key *use)
{
	struct finding *finding;
	char place[TEXT], name[TEXT], outcome[TEXT];

	if (use->fault != KEY_NO_ACCESS)
		return;
	finding = add_key(check, RULE_MKEY_003, use);
	if (finding)
		finding_text(&finding->says,
			     "%s of %s: %ckey 0x%x is %s, which was registered without %s%s.",
			     name_place(use, place), name_request(use), use->sge < 0 ? 'r' : 'l',
			     use->number, name_key(check, use->key, name),
			     name_access(use->missing), name_outcome(use, outcome));
}

static bool is_registration(enum verb verb)
{
	return verb_infos[verb].object == OBJECT_mr && verb_infos[verb].effect == EFFECT_CREATE;
}

/* MKEY-003, of a registration: whether or not the device let it pass. */
void mkey_003_refused(struct check *check, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct moment moment = { .id = event->id,
				 .verb = call->verb,
				 .process = event->process,
				 .stack = call->stack,
				 .time = call->begin };
	struct finding *finding;
	int64_t access;

	if (!is_registration(call->verb) || !args_get(call->args, "access", &access) ||
	    !(access & (ABI_ACCESS_REMOTE_WRITE | ABI_ACCESS_REMOTE_ATOMIC)) ||
	    access & ABI_ACCESS_LOCAL_WRITE)
		return;
	finding = findings_add(check->findings, RULE_MKEY_003,
			       findings_key(call->verb, call->stack, event->process));
	if (!finding)
		return;
	finding->event = event->id;
	finding->time = call->begin;
	finding->process = event->process;
	finding->thread = event->id.thread;
	finding_text(&finding->where, "%s(): access", verb_infos[call->verb].name);
	finding_text(&finding->object, "%s", "mr");
	finding_text(&finding->says,
		     "The access flags 0x%" PRIx64 " have %s and lack "
		     "IBV_ACCESS_LOCAL_WRITE, which it requires%s.",
		     (uint64_t)access,
		     access & ABI_ACCESS_REMOTE_WRITE ? "IBV_ACCESS_REMOTE_WRITE"
						      : "IBV_ACCESS_REMOTE_ATOMIC",
		     call->failed ? "; the call failed" : "; this device let it pass");
	finding_step(finding, "registered", &moment);
}
