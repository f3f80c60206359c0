/*
 * Objects by name, and the suggestion for a name that the trace does not have
 */
#include "cli/dump/objects.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/suggest.h"
#include "core/store/read/joint.h"

bool objects_is(const struct trace *trace, const struct object *object, const char *name)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", object->id);
	return trace_object_is(trace, object, name) || (!ids_find_range(0, 1) && !strcmp(name, id));
}

/* Offer @object in the form of @name: with its process and trace, if that has them. */
static void suggest_object(struct suggestion *near, const struct trace *trace, const char *name,
			   const struct object *object)
{
	const char *part = trace_part_name(trace, trace_part_of(trace, object->process));
	bool traces = part && strchr(name, ':'), process = strchr(name, '/');
	char number[16] = "", full[SUGGEST_MAX * 2];
	int n;

	if (process)
		snprintf(number, sizeof(number), "/%u", trace_part_process(trace, object->process));
	n = snprintf(full, sizeof(full), "%s%s%s%s", traces ? part : "", traces ? ":" : "",
		     object->name, number);
	if (n <= SUGGEST_MAX)
		suggest_name(near, full);
}

int objects_refuse(const char *command, struct trace *trace, const char *name)
{
	struct suggestion near = { .word = name };
	const struct object *object;

	for (uint32_t id = 1; (object = trace_object(trace, id)); id++)
		if (object->name)
			suggest_object(&near, trace, name, object);
	return cli_misuse(command, "the trace has no object '%.60s'%s%s", name, suggest_text(&near),
			  *near.name ? "" : "; give a name such as qp1, or qp1/2 of process 2");
}
