/*
 * Sites of a trace
 *
 * The device numbers the processes of its fabric in the order in which they open it, and counts
 * the calls of each verb, also those that libraries make: so do we. The recorder counts requests,
 * calls of librdmacm and its events alike. Sites are only the program's own calls.
 */
#include "cli/torture/sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/place.h"
#include "analyzer/report/places.h"
#include "core/base/vec.h"
#include "core/faults/rule.h"
#include "core/store/open.h"
#include "core/wire/log.h"

/* How many operations of a kind the device has counted in a process. */
struct tally {
	uint32_t node;
	char name[SITE_NAME]; /* of the verb; "": requests */
	int opcode, cm_event;
	uint64_t n;
};

struct survey {
	struct report report; /* for the names of places */
	struct sites *sites;
	struct tally *tallies;
	size_t ntallies;
	uint32_t *processes; /* by node */
	size_t nprocesses;
	int err;
};

static bool add_node(struct survey *s, uint32_t process)
{
	uint32_t *node = vec_push(s->processes, s->nprocesses);

	if (node)
		*node = process;
	return node;
}

/* The number of @process in its fabric; UINT32_MAX: it has not opened the device. */
static uint32_t find_node(const struct survey *s, uint32_t process)
{
	for (size_t i = 0; i < s->nprocesses; i++)
		if (s->processes[i] == process)
			return (uint32_t)i;
	return UINT32_MAX;
}

/* Count an operation; returns its number, from 1, or 0 if out of memory. */
static uint64_t count_operation(struct survey *s, const struct site *like)
{
	struct tally *tally;

	for (size_t i = 0; i < s->ntallies; i++) {
		tally = &s->tallies[i];
		if (tally->node == like->node && tally->opcode == like->opcode &&
		    tally->cm_event == like->cm_event && !strcmp(tally->name, like->name))
			return ++tally->n;
	}
	tally = vec_push(s->tallies, s->ntallies);
	if (!tally)
		return 0;
	tally->node = like->node;
	tally->opcode = like->opcode;
	tally->cm_event = like->cm_event;
	snprintf(tally->name, sizeof(tally->name), "%s", like->name);
	return ++tally->n;
}

static struct site *find_site(struct survey *s, const struct site *like)
{
	struct sites *sites = s->sites;

	for (size_t i = 0; i < sites->n; i++) {
		struct site *site = &sites->all[i];

		if (site->node == like->node && site->verb == like->verb &&
		    site->opcode == like->opcode && site->cm_event == like->cm_event &&
		    site->key == like->key)
			return site;
	}
	return NULL;
}

static void set_place(const struct survey *s, struct site *site, uint32_t stack)
{
	struct symbol symbol;

	place_line(&s->report, stack, site->place, sizeof(site->place));
	if (!place_symbol(&s->report, stack, &symbol))
		return;
	snprintf(site->path, sizeof(site->path), "%s", symbol.path ?: "");
	snprintf(site->function, sizeof(site->function), "%s", symbol.function ?: "");
	site->line = symbol.line;
}

static void note_site(struct survey *s, const struct site *like, uint32_t stack, uint64_t n)
{
	struct site *site = find_site(s, like);

	if (!site) {
		site = vec_push(s->sites->all, s->sites->n);
		if (!site) {
			s->err = -ENOMEM;
			return;
		}
		*site = *like;
		site->first = n;
		site->by_cm = trace_stack_has_cm(s->report.trace, stack, 2);
		set_place(s, site, stack);
	}
	site->last = n;
	site->calls++;
	if (like->behind && !site->behind)
		site->behind = n;
}

/* An operation like @like of @event, with its call @stack; @own: by the program itself. */
static void note_operation(struct survey *s, const struct trace_event *event, struct site like,
			   uint32_t stack, bool own)
{
	uint64_t n;

	like.node = find_node(s, event->process);
	if (like.node == UINT32_MAX)
		return;
	if (like.opcode < 0)
		fault_name_verb(verb_infos[like.verb].name, like.name);
	n = count_operation(s, &like);
	like.key = own ? place_key(s->report.trace, stack) : 0;
	if (!n)
		s->err = -ENOMEM;
	else if (own)
		note_site(s, &like, stack, n);
}

/* The device that librdmacm opens is on the same fabric. */
static bool joins_fabric(const struct call *call)
{
	return call->ret &&
	       (call->verb == VERB_open_device || call->verb == VERB_rdma_create_event_channel);
}

static void note_call(struct survey *s, const struct trace_event *event)
{
	const struct call *call = event->call;

	if (joins_fabric(call) && find_node(s, event->process) == UINT32_MAX &&
	    !add_node(s, event->process))
		s->err = -ENOMEM;
	if (call->ours && s->sites->by_recorder)
		return;
	note_operation(s, event, (struct site){ .verb = call->verb, .opcode = -1, .cm_event = -1 },
		       call->stack, !call->depth && !call->ours && !event->inner);
}

/*
 * Count a CM event that rdma_get_cm_event() returned to the program; librdmacm itself retrieves the
 * events of synchronous identifiers.
 */
static void note_return(struct survey *s, const struct trace_event *event)
{
	const struct call *call = event->call;
	int64_t type;

	if (call->verb != VERB_rdma_get_cm_event || call->failed || event->inner)
		return;
	s->err = args_parse(call->out);
	if (!s->err && args_get(call->out, ARG(event.event), &type))
		note_operation(
			s, event,
			(struct site){ .verb = call->verb, .opcode = -1, .cm_event = (int)type },
			call->stack, true);
}

/* The recorder takes no stack of this verb. */
static void note_notify(struct survey *s, const struct trace_event *event)
{
	note_operation(s, event,
		       (struct site){ .verb = VERB_req_notify_cq, .opcode = -1, .cm_event = -1 }, 0,
		       !event->inner);
}

static void note_post(struct survey *s, const struct trace_event *event)
{
	const struct post *post = event->post;

	note_operation(s, event, (struct site){ .verb = post->verb, .opcode = -1, .cm_event = -1 },
		       post->stack, !event->inner);
	for (uint32_t i = 0; i < post_taken(post) && post_is_send(post); i++)
		note_operation(s, event,
			       (struct site){ .verb = post->verb,
					      .opcode = post->wr[i].opcode,
					      .cm_event = -1,
					      .behind = i },
			       post->stack, !event->inner);
}

static int read_events(struct survey *s)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(s->report.trace, NULL, &cursor), more;

	if (err)
		return err;
	while ((more = cursor_next(cursor, &event)) > 0 && !s->err)
		if (event->kind == TRACE_CALL)
			note_call(s, event);
		else if (event->kind == TRACE_RETURN)
			note_return(s, event);
		else if (event->kind == TRACE_POST)
			note_post(s, event);
		else if (event->kind == TRACE_NOTIFY)
			note_notify(s, event);
	cursor_close(cursor);
	if (s->err)
		return log_err(s->err, "places of calls");
	return more < 0 ? more : 0;
}

int sites_read(const char *path, bool by_recorder, struct sites *ret_sites)
{
	struct survey s = { .sites = ret_sites };
	int err = trace_open(path, &s.report.trace);

	*ret_sites = (struct sites){ .by_recorder = by_recorder };
	if (err)
		return err;
	err = symbols_open(&s.report.symbols);
	if (!err)
		err = read_events(&s);
	ret_sites->processes = s.processes;
	ret_sites->nodes = (uint32_t)s.nprocesses;
	symbols_close(s.report.symbols);
	trace_close(s.report.trace);
	free(s.tallies);
	if (err)
		sites_fini(ret_sites);
	return err;
}

void sites_fini(struct sites *sites)
{
	free(sites->all);
	free(sites->processes);
	*sites = (struct sites){ 0 };
}
