#pragma once
/*
 * The rules, one row each: rules.def. docs/HOWTO-add-a-rule.md explains one.
 *
 * Constant data; any thread.
 */
#include "analyzer/model.h"

struct check;

enum rule_id {
#define RULE(id, ...) RULE_##id,
#include "analyzer/rules.def"
#undef RULE
	RULE_COUNT,
};

struct rule {
	const char *id;	      /* "LIFE-001": stable, never used again */
	const char *name;     /* "use-after-destroy" */
	char severity;	      /* 'E' error, 'W' warning, 'P' performance, 'I' information */
	const char *evidence; /* kinds of events: c control, d data, q polling, f fork */
	const char *means, *harm, *advice, *source;
	/* what it looks at; any may be NULL */
	void (*use)(struct check *check, const struct model_use *use);
	void (*destroy)(struct check *check, const struct model_destroy *destroy);
	void (*leak)(struct check *check, const struct model_leak *leak);
};

extern const struct rule rules[RULE_COUNT];

/* "LIFE-001", whatever the case, or "use-after-destroy"; -1 if there is none. */
int rule_find(const char *id);

/* "error", "warning"... */
const char *rule_severity(char severity);
