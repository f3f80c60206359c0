/*
 * The functions of the rules as a table, made from rules.def
 */
#include "analyzer/rules/rule_hook.h"

const struct rule_hook rule_hooks[] = {
#define RULE(...)
#define HOOK(ident, where, name) { RULE_##ident, HOOK_##where, (void (*)(void))(name) },
#include "analyzer/rules/rules.def"
#undef RULE
#undef HOOK
};
const size_t rule_nhooks = sizeof(rule_hooks) / sizeof(rule_hooks[0]);
