/*
 * The rules as a table, made from rules.def
 *
 * Not here: their functions (rule_hook.c).
 */
#include "analyzer/rules/rule.h"

#include <string.h>
#include <strings.h>

const struct rule rules[RULE_COUNT] = {
#define HOOK(...)
#define RULE(ident, text, title, level, events, what, why, todo, from) \
	[RULE_##ident] = { .id = text,                                 \
			   .name = title,                              \
			   .severity = level,                          \
			   .evidence = events,                         \
			   .means = what,                              \
			   .harm = why,                                \
			   .advice = todo,                             \
			   .source = from },
#include "analyzer/rules/rules.def"
#undef RULE
#undef HOOK
};

int rule_find(const char *id)
{
	for (int i = 0; i < RULE_COUNT; i++)
		if (!strcasecmp(rules[i].id, id) || !strcmp(rules[i].name, id))
			return i;
	return -1;
}

const char *rule_severity(char severity)
{
	switch (severity) {
	case 'H':
		return "hazard";
	case 'E':
		return "error";
	case 'W':
		return "warning";
	case 'P':
		return "performance";
	default:
		return "information";
	}
}
