/*
 * Verbs that the user names: --verb, and verb= of --filter
 */
#include "cli/verb_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/suggest.h"

enum { NAME_MAX_LENGTH = 64, COMPLAINT = 256 };

static int refuse_verb(const char *name, char *complaint)
{
	struct suggestion near = { .word = name };

	for (int verb = 0; verb < VERB_COUNT; verb++) {
		const char *full = verb_infos[verb].name;

		suggest_name(&near, full);
		if (!strncmp(full, "ibv_", 4))
			suggest_name(&near, full + 4);
	}
	snprintf(complaint, COMPLAINT, "unknown verb '%s'%s", name, suggest_text(&near));
	return -EINVAL;
}

int verb_list_add(struct verb_list *list, const char *names, char *complaint)
{
	char name[NAME_MAX_LENGTH];
	size_t n;

	for (; *names; names += n + !!names[n]) {
		int verb;

		n = strcspn(names, ",+");
		if (!n)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		verb = n < sizeof(name) ? verb_find(name) : -1;
		if (verb < 0)
			return refuse_verb(name, complaint);
		list->has[verb] = list->given = true;
	}
	return 0;
}
