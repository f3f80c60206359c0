/*
 * Names of events, processes and objects
 */
#include "core/store/db/ids.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/digits.h"

/* Set by ids_set_ranges(): the parts of the open joint trace; a process opens one at most. */
static const struct id_range *ranges;
static size_t nranges;

/* Set by ids_set_process_names(): the names of the processes in the open trace of a job. */
static const struct process_name *ranks;
static uint32_t nranks;

void ids_set_ranges(const struct id_range *of, size_t n)
{
	ranges = of;
	nranges = n;
}

void ids_set_process_names(const struct process_name *names, uint32_t n)
{
	ranks = names;
	nranks = n;
}

const struct id_range *ids_find_range(uint32_t thread, uint32_t process)
{
	size_t i = nranges;

	while (i > 1 &&
	       (thread ? ranges[i - 1].threads >= thread : ranges[i - 1].processes >= process))
		i--;
	return i ? &ranges[i - 1] : NULL;
}

uint32_t thread_number(uint32_t thread)
{
	const struct id_range *of = thread ? ids_find_range(thread, 0) : NULL;

	return of ? thread - of->threads : thread;
}

const char *event_id_text(struct event_id id, char text[32])
{
	const struct id_range *of = id.thread ? ids_find_range(id.thread, 0) : NULL;
	size_t used;

	if (of)
		snprintf(text, 32, "%s:%u:%" PRIu64, of->name, id.thread - of->threads, id.n);
	else if (!id.thread)
		snprintf(text, 32, "-");
	if (of || !id.thread)
		return text;
	used = digits_decimal(text, id.thread);
	text[used++] = ':';
	used += digits_decimal(text + used, id.n);
	text[used] = '\0';
	return text;
}

const char *process_id_text(uint32_t process, char text[PROCESS_TEXT])
{
	const struct id_range *of = ids_find_range(0, process);

	if (process && process <= nranks && *ranks[process - 1].text)
		snprintf(text, PROCESS_TEXT, "%s", ranks[process - 1].text);
	else if (of)
		snprintf(text, PROCESS_TEXT, "%s process %u", of->name, process - of->processes);
	else
		snprintf(text, PROCESS_TEXT, "process %u", process);
	return text;
}
