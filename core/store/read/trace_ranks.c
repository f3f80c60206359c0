/*
 * Names of the processes of a job: "rank 5", and "rank 5 (node n3)" if the job has several nodes
 *
 * A process that was forked or executed by a rank has the same variables; so only the first such
 * process in the trace gets the rank as its name; names of the others also have the number of the
 * process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

/* Are there ranks on more than one node? */
static bool has_nodes(const struct trace *trace)
{
	const char *before = NULL;

	for (uint32_t i = 0; i < trace->nprocesses; i++) {
		const struct rank *rank = &trace->processes[i].rank;

		if (rank->rank < 0)
			continue;
		if (before && strcmp(before, rank->node) != 0)
			return true;
		before = rank->node;
	}
	return false;
}

/* Is this the first process of the trace with this rank? Several jobs have equal ranks. */
static bool is_first(struct map *seen, const struct rank *rank)
{
	uint64_t value;

	return !map_get(seen, (uint64_t)rank->rank, &value) &&
	       !map_put(seen, (uint64_t)rank->rank, 1);
}

static void name_process(const struct process *p, bool first, bool nodes, char name[PROCESS_TEXT])
{
	char number[PROCESS_TEXT];
	int n;

	process_id_text(p->id, number);
	n = snprintf(name, PROCESS_TEXT, "rank %d", p->rank.rank);
	if (nodes && first)
		snprintf(name + n, (size_t)(PROCESS_TEXT - n), " (node %.36s)", p->rank.node);
	else if (nodes)
		snprintf(name + n, (size_t)(PROCESS_TEXT - n), " (node %.36s, %.30s)", p->rank.node,
			 number);
	else if (!first)
		snprintf(name + n, (size_t)(PROCESS_TEXT - n), " (%.60s)", number);
}

int trace_name_ranks(struct trace *trace)
{
	struct process_name *names = calloc(trace->nprocesses + 1ul, sizeof(*names));
	bool nodes = has_nodes(trace);
	struct map seen = { 0 };

	if (!names)
		return log_err(-ENOMEM, "name the ranks");
	ids_set_process_names(NULL, 0);
	for (uint32_t i = 0; i < trace->nprocesses; i++) {
		const struct process *p = &trace->processes[i];

		if (p->rank.rank >= 0)
			name_process(p, is_first(&seen, &p->rank), nodes, names[i].text);
	}
	map_fini(&seen);
	free(trace->names);
	trace->names = names;
	ids_set_process_names(names, trace->nprocesses);
	return 0;
}
