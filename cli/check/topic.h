#pragma once
/* The subject of `verbatim explain`. Not thread-safe. */
#include "core/base/json.h"
#include "core/wire/desc.h"

enum topic_kind { TOPIC_RULE, TOPIC_STATUS, TOPIC_EVENT, TOPIC_VERB, TOPIC_ERRNO };

struct topic {
	enum topic_kind kind;
	int number; /* of the rule, status, event or verb; the errno of @verb */
	enum verb verb;
};

/* Does explain know errnos of @verb? @own: errnos that only this verb or few others report. */
bool topic_has_errnos(enum verb verb, bool own);

/* Add a JSON object with everything known about @topic. */
void topic_put(struct json *json, const struct topic *topic);

/* Add a JSON object for each rule, status, event, and verb with errnos. */
void topic_put_all(struct json *json);
