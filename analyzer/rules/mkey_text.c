/*
 * Texts of the MKEY rules
 */
#include "analyzer/rules/mkey_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/words.h"

const char *key_name(const struct check *check, const struct key *key, char text[TEXT])
{
	return words_describe_key(check->trace, key, text, TEXT);
}

const char *key_place(const struct model_key *key, char text[TEXT])
{
	if (key->fault == KEY_OTHER_AH)
		snprintf(text, TEXT, "wr[%u].wr.ud.ah", key->index);
	else if (key->sge < 0)
		snprintf(text, TEXT, "wr[%u].wr.rdma", key->index);
	else
		snprintf(text, TEXT, "wr[%u].sg_list[%d]", key->index, key->sge);
	return text;
}

const char *key_request(int opcode)
{
	if (opcode < 0)
		return "a receive";
	return enum_name(enum_find("ibv_wr_opcode"), opcode) ?: "a request";
}

const char *key_outcome(const struct model_key *key, char text[TEXT])
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

const char *key_misses(const struct model_key *use, char text[TEXT])
{
	return words_describe_relation(use->key, use->addr, use->length, text);
}

struct finding *key_finding(struct check *check, enum rule_id rule, const struct model_key *key)
{
	uint64_t place = key->at.stack ? key->at.stack : (uint64_t)key->at.process << 32;
	struct finding *finding = findings_add(
		check->findings, rule, findings_key(place, key->at.verb, (uint64_t)key->fault));
	char text[TEXT];

	if (!finding)
		return NULL;
	finding_at(finding, &key->at);
	finding_text(&finding->where, "%s(): %s%s", verb_infos[key->at.verb].name,
		     key_place(key, text),
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
