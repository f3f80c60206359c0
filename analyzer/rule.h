#pragma once
/*
 * The rules, a row each in rules.def. docs/HOWTO-add-a-rule.md explains a row.
 *
 * Constant data; any thread.
 */
#include "analyzer/watcher.h"

struct check;

enum rule_id {
#define RULE(id, ...) RULE_##id,
#include "analyzer/rules.def"
#undef RULE
	RULE_COUNT,
};

/* The functions of the rules, each declared by its hook: use_fn life_001; */
typedef void use_fn(struct check *check, const struct model_use *use);
typedef void destroy_fn(struct check *check, const struct model_destroy *destroy);
typedef void leak_fn(struct check *check, const struct model_leak *leak);

#define RULE(id, text, name, severity, evidence, hook, function, ...) hook##_fn function;
#include "analyzer/rules.def"
#undef RULE

struct rule {
	const char *id;       /* "LIFE-001": stable, never used again */
	const char *name;     /* "use-after-destroy" */
	char severity;        /* 'E' error, 'W' warning, 'P' performance, 'I' information */
	const char *evidence; /* kinds of events: c control, d data, q polling, f fork */
	const char *means, *harm, *advice, *source;
	/* called for what the rule looks at; any may be NULL */
	use_fn *use;
	destroy_fn *destroy;
	leak_fn *leak;
};

extern const struct rule rules[RULE_COUNT];

/* "LIFE-001", whatever the case, or "use-after-destroy"; -1 if there is none. */
int rule_find(const char *id);

/* "error", "warning"... */
const char *rule_severity(char severity);
