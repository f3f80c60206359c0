/*
 * MKEY: memory, and the access that its keys give
 *
 * The model reports each key that does not fit (struct model_key); a row in this file words it. A
 * key that was never seen is reported only if the device has refused it, since functions of
 * providers make keys that no verb returns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/key.h"
#include "analyzer/rules/add_finding.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/mkey_text.h"

static void describe_outside(struct check *check, struct finding *finding,
			     const struct model_key *use)
{
	const struct key *key = use->key;
	char place[TEXT], name[TEXT], how[TEXT], outcome[TEXT], holder[WORDS_HOLDER];

	finding_text(&finding->says,
		     "%s of %s uses %s at 0x%" PRIx64 " with lkey 0x%x, which is %s: %s at "
		     "0x%" PRIx64 "; %s%s%s.",
		     key_place(use, place), key_request(use->opcode), WORDS_N(use->length, "byte"),
		     use->addr, use->number, key_name(check, key, name),
		     WORDS_N(key->length, "byte"), key->addr, key_misses(use, how),
		     words_describe_holder(check->trace, model_keys(check->model), key, use->addr,
					   use->length, 'l', holder),
		     key_outcome(use, outcome));
}

static void describe_gone(struct check *check, struct finding *finding, const struct model_key *use)
{
	const struct key *key = use->key;
	char place[TEXT], name[TEXT], outcome[TEXT], id[32], when[32];

	finding_text(&finding->says,
		     "%s of %s uses lkey 0x%x, which was %s until %s() at %s, %s before%s.",
		     key_place(use, place), key_request(use->opcode), use->number,
		     key_name(check, key, name), verb_infos[key->destroyed.verb].name,
		     event_id_text(key->destroyed.id, id),
		     words_format_span(use->at.time - key->destroyed.time, when),
		     key_outcome(use, outcome));
}

/* The region whose lkey the program put into `addr`, and whose address into `lkey`; NULL: none. */
static const struct key *find_swapped(const struct keys *keys, const struct model_key *use)
{
	const struct key *key = use->addr <= UINT32_MAX
					? keys_find_lkey(keys, use->at.process, use->queue->context,
							 (uint32_t)use->addr)
					: NULL;

	/* lkey has only the lower half of the address */
	return key && !key->any && (uint32_t)(use->number - key->addr) < key->length ? key : NULL;
}

/* Describe an unknown key: its number may be known as something else. */
static void describe_unknown(struct check *check, struct finding *finding,
			     const struct model_key *use)
{
	const struct keys *keys = model_keys(check->model);
	const struct key *other = keys_find_lkey(keys, use->at.process, 0, use->number);
	const char *as = " of another context";
	char place[TEXT], name[TEXT] = "", outcome[TEXT], renamed[WORDS_HOLDER];

	words_describe_renamed(check->trace, keys, use->at.process, 'l', use->number, use->at.time,
			       renamed);
	if (*renamed) {
		finding_text(&finding->says,
			     "%s of %s uses lkey 0x%x, which is not the key of a region of the "
			     "process%s%s.",
			     key_place(use, place), key_request(use->opcode), use->number, renamed,
			     key_outcome(use, outcome));
		return;
	}

	if (!other) {
		other = keys_find_rkey(keys, use->at.process, use->queue->context, use->number);
		as = ", whose rkey it is";
	}
	if (!other) {
		other = keys_find_lkey(keys, use->at.process, use->queue->context,
				       __builtin_bswap32(use->number));
		as = ", whose lkey has these bytes in reverse order";
	}
	if (!other) {
		other = find_swapped(keys, use);
		as = ", whose lkey is in addr: the two are swapped";
	}
	if (!other) {
		other = keys_find_elsewhere(keys, use->at.process, use->at.process, use->number);
		as = ", of another process";
	}
	if (other)
		key_name(check, other, name);
	finding_text(&finding->says,
		     "%s of %s uses lkey 0x%x, which is not the key of a region of %s%s%s%s%s.",
		     key_place(use, place), key_request(use->opcode), use->number,
		     other && *as == ' ' ? "its context, but of " : "the process",
		     other && *as == ',' ? ", but " : "", name, other ? as : "",
		     key_outcome(use, outcome));
}

/* MKEY-001 */
void mkey_001(struct check *check, const struct model_key *use)
{
	struct finding *finding;

	if (use->sge < 0 ||
	    (use->fault != KEY_OUTSIDE && use->fault != KEY_GONE && use->fault != KEY_UNKNOWN))
		return;
	finding = key_finding(check, RULE_MKEY_001, use);
	if (!finding)
		return;
	if (use->fault == KEY_OUTSIDE)
		describe_outside(check, finding, use);
	else if (use->fault == KEY_GONE)
		describe_gone(check, finding, use);
	else
		describe_unknown(check, finding, use);
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

	if (use->fault != KEY_OTHER_AH && (use->fault != KEY_OTHER_PD || use->peer))
		return;
	finding = key_finding(check, RULE_MKEY_002, use);
	if (!finding)
		return;
	if (use->fault == KEY_OTHER_AH)
		finding_text(&finding->says, "%s is %s of %s, and %s is in %s%s.",
			     key_place(use, place), use->ah->name, name_pd(check, use, use->ah->pd),
			     use->queue->name, name_pd(check, use, use->queue->pd),
			     key_outcome(use, outcome));
	else
		finding_text(&finding->says, "%s of %s: lkey 0x%x is %s, and %s is in %s%s.",
			     key_place(use, place), key_request(use->opcode), use->number,
			     key_name(check, use->key, name), use->queue->name,
			     name_pd(check, use, use->queue->pd), key_outcome(use, outcome));
}

/* MKEY-003 */
void mkey_003(struct check *check, const struct model_key *use)
{
	char place[TEXT], name[TEXT], outcome[TEXT], whose[PROCESS_TEXT + 8] = "";
	char process[PROCESS_TEXT];
	struct finding *finding;

	if (use->fault != KEY_NO_ACCESS ||
	    (use->peer && use->key->created.time + peer_slack(model_peers(check->model),
							      use->at.process, use->peer->process) >
				  use->at.time))
		return;
	finding = key_finding(check, RULE_MKEY_003, use);
	if (!finding)
		return;
	if (use->peer)
		snprintf(whose, sizeof(whose), " of %s",
			 process_id_text(use->peer->process, process));
	finding_text(&finding->says,
		     "%s of %s: %ckey 0x%x is %s%s, which was registered without %s%s.",
		     key_place(use, place), key_request(use->opcode), use->peer ? 'r' : 'l',
		     use->number, key_name(check, use->key, name), whose,
		     words_name_access(use->missing), key_outcome(use, outcome));
}

static bool is_registration(enum verb verb)
{
	return verb_infos[verb].object == OBJECT_mr && verb_infos[verb].effect == EFFECT_CREATE;
}

/* MKEY-003, for a registration, whether or not the device accepted it. */
void mkey_003_refused(struct check *check, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct moment moment = moment_of(event);
	struct finding *finding;
	int64_t access;

	if (!is_registration(call->verb) || !args_get(call->args, ARG(access), &access) ||
	    !(access & (ABI_ACCESS_REMOTE_WRITE | ABI_ACCESS_REMOTE_ATOMIC)) ||
	    access & ABI_ACCESS_LOCAL_WRITE)
		return;
	finding = findings_add(check->findings, RULE_MKEY_003,
			       findings_key(call->verb, call->stack, event->process));
	if (!finding)
		return;
	finding_at(finding, &moment);
	finding_text(&finding->where, "%s(): access", verb_infos[call->verb].name);
	finding_text(&finding->object, "mr");
	finding_text(&finding->says,
		     "The access flags 0x%" PRIx64 " have %s and lack "
		     "IBV_ACCESS_LOCAL_WRITE, which it requires%s.",
		     (uint64_t)access,
		     access & ABI_ACCESS_REMOTE_WRITE ? "IBV_ACCESS_REMOTE_WRITE"
						      : "IBV_ACCESS_REMOTE_ATOMIC",
		     call->failed ? "; the call failed" : "; this device accepted this");
	finding_step(finding, "registered", &moment);
}
