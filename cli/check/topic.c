/*
 * What `verbatim explain` was asked about, as JSON
 *
 * 	{"kind": "rule", "id", "name", "severity", "means", "harm", "advice", "source"}
 * 	{"kind": "completion status" or "asynchronous event", "name", "number", "which_end",
 * 	 "means", "causes": [], "look_at": [], "source"}
 * 	{"kind": "verb", "name", "errnos": [{"name", "number", "own", "means"}]}
 * 	{"kind": "errno", "verb", "name", "number", ...} as of a status
 */
#include "cli/check/topic.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/explain/explain.h"
#include "analyzer/rules/rule.h"

bool topic_has_errnos(enum verb verb, bool own)
{
	for (int error = 1; error < EXPLAIN_ERRNOS; error++)
		if (own ? explain_has_own(verb, error) : explain_errno(verb, error) != NULL)
			return true;
	return false;
}

static void put_lines(struct json *json, const char *name, const char *lines)
{
	char line[1024];
	size_t n;

	json_open(json, name, '[');
	for (; *lines; lines += n + !!lines[n]) {
		const char *text = explain_cause(lines, 0, &n);

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		json_put_text(json, NULL, line);
		n += (size_t)(text - lines);
	}
	json_close(json, ']');
}

static void put_explanation(struct json *json, const struct explanation *e)
{
	if (e->side)
		json_put_text(json, "which_end", e->side);
	json_put_text(json, "means", e->means);
	put_lines(json, "causes", e->causes);
	put_lines(json, "look_at", e->look);
	json_put_text(json, "source", e->source);
}

static void put_number(struct json *json, const char *kind, const char *info, int number,
		       const struct explanation *e)
{
	json_put_text(json, "kind", kind);
	json_put_text(json, "name", enum_name(enum_find(info), number));
	json_put_int(json, "number", number);
	put_explanation(json, e);
}

static void put_rule(struct json *json, const struct rule *rule)
{
	json_put_text(json, "kind", "rule");
	json_put_text(json, "id", rule->id);
	json_put_text(json, "name", rule->name);
	json_put_text(json, "severity", rule_severity(rule->severity));
	json_put_text(json, "means", rule->means);
	json_put_text(json, "harm", rule->harm);
	json_put_text(json, "advice", rule->advice);
	json_put_text(json, "source", rule->source);
}

static void put_verb(struct json *json, enum verb verb)
{
	json_put_text(json, "kind", "verb");
	json_put_text(json, "name", verb_infos[verb].name);
	json_open(json, "errnos", '[');
	for (int error = 1; error < EXPLAIN_ERRNOS; error++) {
		const struct explanation *e = explain_errno(verb, error);

		if (!e)
			continue;
		json_open(json, NULL, '{');
		json_put_text(json, "name", strerrorname_np(error));
		json_put_int(json, "number", error);
		json_put_bool(json, "own", explain_has_own(verb, error));
		json_put_text(json, "means", e->means);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_errno(struct json *json, enum verb verb, int error)
{
	json_put_text(json, "kind", "errno");
	json_put_text(json, "verb", verb_infos[verb].name);
	json_put_text(json, "name", strerrorname_np(error));
	json_put_int(json, "number", error);
	put_explanation(json, explain_errno(verb, error));
}

void topic_put(struct json *json, const struct topic *topic)
{
	int number = topic->number;

	json_put_line(json, 2);
	json_open(json, NULL, '{');
	switch (topic->kind) {
	case TOPIC_RULE:
		put_rule(json, &rules[number]);
		break;
	case TOPIC_STATUS:
		put_number(json, "completion status", "ibv_wc_status", number,
			   explain_status(number));
		break;
	case TOPIC_EVENT:
		put_number(json, "asynchronous event", "ibv_event_type", number,
			   explain_event(number));
		break;
	case TOPIC_VERB:
		put_verb(json, topic->verb);
		break;
	case TOPIC_ERRNO:
		put_errno(json, topic->verb, number);
	}
	json_close(json, '}');
}

static void put_enum(struct json *json, enum topic_kind kind, const char *name)
{
	const struct enum_info *info = enum_find(name);

	for (unsigned int i = 0; i < info->nvalues; i++)
		topic_put(json,
			  &(struct topic){ .kind = kind, .number = (int)info->values[i].value });
}

void topic_put_all(struct json *json)
{
	for (int rule = 0; rule < RULE_COUNT; rule++)
		topic_put(json, &(struct topic){ .kind = TOPIC_RULE, .number = rule });
	put_enum(json, TOPIC_STATUS, "ibv_wc_status");
	put_enum(json, TOPIC_EVENT, "ibv_event_type");
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (topic_has_errnos((enum verb)verb, true))
			topic_put(json,
				  &(struct topic){ .kind = TOPIC_VERB, .verb = (enum verb)verb });
}
