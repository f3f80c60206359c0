#pragma once
/*
 * The functions of each rule and their hooks: the HOOK rows of rules.def.
 *
 * Constant data; any thread.
 */
#include "analyzer/rules/rule.h"

enum hook {
#define HOOK_NAME(hook, fact) HOOK_##hook,
	EACH_HOOK(HOOK_NAME)
#undef HOOK_NAME
		HOOK_COUNT,
};

/* A function of a rule: @function has the type of its hook in EACH_HOOK. */
struct rule_hook {
	enum rule_id rule;
	enum hook hook;
	void (*function)(void);
};

/* In the order of rules.def. */
extern const struct rule_hook rule_hooks[];
extern const size_t rule_nhooks;
