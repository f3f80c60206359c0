/*
 * FORK: objects across fork()
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/pinned.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum { CHURN = 1000 }; /* registrations within a second */

static void describe_inherited(struct check *check, struct finding *finding,
			       const struct model_use *use, const struct moment *fork)
{
	const struct process *child = trace_process(check->trace, use->event->process);
	char name[64], outcome[128], id[32];
	char its[PROCESS_TEXT], parent[PROCESS_TEXT], maker[PROCESS_TEXT];

	object_name_text(use->object, name, sizeof(name));
	finding_text(&finding->says,
		     "%s (pid %d), forked from %s at %s, called %s() on %s, which %s had "
		     "created%s.",
		     process_id_text(use->event->process, its), child ? child->pid : 0,
		     process_id_text(fork ? fork->process : 0, parent),
		     fork ? event_id_text(fork->id, id) : "-", verb_infos[use->verb].name, name,
		     process_id_text(use->object->created.process, maker),
		     use_result_text(use, outcome, sizeof(outcome)));
}

/* "2 qps, 1 pd" */
static void list_kinds(const struct finding *finding, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int kind = 0; kind < OBJECT_COUNT && used < size; kind++)
		if (finding->with[kind])
			used += (size_t)snprintf(text + used, size - used, "%s%u %s%s",
						 used ? ", " : "", finding->with[kind],
						 object_names[kind],
						 finding->with[kind] == 1 ? "" : "s");
}

static void describe_destroyed(struct check *check, struct finding *finding,
			       const struct model_use *use, const struct moment *fork)
{
	const struct process *child = trace_process(check->trace, use->event->process);
	char kinds[256], id[32], last[32];
	char its[PROCESS_TEXT], parent[PROCESS_TEXT], maker[PROCESS_TEXT];

	list_kinds(finding, kinds, sizeof(kinds));
	finding_text(&finding->says,
		     "%s (pid %d), forked from %s at %s, destroyed %s that %s had created, from "
		     "%s to %s at %s.",
		     process_id_text(use->event->process, its), child ? child->pid : 0,
		     process_id_text(fork ? fork->process : 0, parent),
		     fork ? event_id_text(fork->id, id) : "-", kinds,
		     process_id_text(use->object->created.process, maker), finding->object,
		     use->object->name, event_id_text(use->event->id, last));
}

static void fill_inherited(struct finding *finding, const struct model_use *use,
			   const struct moment *fork)
{
	struct moment moment = use_moment(use);

	finding_at(finding, &moment);
	finding_set_use(finding, use);
	finding_text(&finding->object, "%s", use->object->name);
	finding_step(finding, "created", &use->object->created);
	if (fork)
		finding_step(finding, "forked", fork);
	finding_step(finding, use_effect_text(use), &moment);
}

/* One finding per child: an exit handler or destructor destroys all inherited objects. */
static void destroy_inherited(struct check *check, const struct model_use *use,
			      const struct moment *fork)
{
	uint64_t key = findings_key(use->event->process, 0, 0);
	struct finding *finding = findings_group(check->findings, RULE_FORK_003, key, false);
	bool first = finding && !finding->nsteps;

	if (!finding)
		return;
	finding->with[use->object->kind]++;
	if (first) {
		findings_group(check->findings, RULE_FORK_003, key, true);
		fill_inherited(finding, use, fork);
		describe_inherited(check, finding, use, fork);
	} else {
		describe_destroyed(check, finding, use, fork);
	}
}

/* FORK-003 */
void fork_003(struct check *check, const struct model_use *use)
{
	const struct moment *fork = model_fork(check->model, use->event->process);
	struct moment moment = use_moment(use);
	struct finding *finding;

	if (!use->object->inherited)
		return;
	if (use->destroys) {
		destroy_inherited(check, use, fork);
		return;
	}
	finding = findings_add(check->findings, RULE_FORK_003,
			       findings_key(use->verb, moment.stack,
					    ((uint64_t)moment.process << 32) | use->object->kind));
	if (!finding)
		return;
	fill_inherited(finding, use, fork);
	describe_inherited(check, finding, use, fork);
}

/* A finding of @rule at @fork, with its place filled in. */
static struct finding *place_fork(struct check *check, enum rule_id rule, bool hazard,
				  const struct trace_event *fork)
{
	struct moment moment = moment_of(fork);
	uint64_t key = findings_key(moment.stack, moment.stack ? 0 : moment.process, 0);
	struct finding *finding = hazard ? findings_add_hazard(check->findings, rule, key)
					 : findings_add(check->findings, rule, key);

	if (!finding)
		return NULL;
	finding_at(finding, &moment);
	finding_text(&finding->where, "%s()", fork->fork->how ? fork->fork->how : "fork");
	return finding;
}

static struct finding *add_fork(struct check *check, enum rule_id rule,
				const struct trace_event *fork)
{
	return place_fork(check, rule, false, fork);
}

/* Did the call create a child with a copy of the memory? */
static bool is_fork(const struct trace_event *fork)
{
	return fork->fork->kind == TRACE_FORKED && !fork->fork->error;
}

/* FORK-001. Whether the child calls exec() does not matter: the harm is done before exec(). */
void fork_001(struct check *check, const struct trace_event *fork)
{
	const struct pinned *pinned = model_pinned(check->model, fork->process);
	enum fork_safety safety;
	struct finding *finding;
	struct moment moment;
	char bytes[32], regions[WORDS_COUNT];

	if (!is_fork(fork) || !pinned->regions)
		return;
	safety = model_fork_safety(check->model, fork->process);
	if (safety == FORK_NOT_KNOWN && !check->findings->fork_not_known)
		findings_note_unchecked(
			check->findings, RULE_FORK_001, true,
			"it is unknown whether the kernel copies registered pages at a fork");
	check->findings->fork_not_known |= safety == FORK_NOT_KNOWN;
	if (safety != FORK_UNSAFE)
		return;
	finding = add_fork(check, RULE_FORK_001, fork);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "Process %u called %s() while %s with %s %s registered: this kernel "
		     "does not copy their pages, and fork support is off (ibv_fork_init(), "
		     "RDMAV_FORK_SAFE=1).",
		     fork->process, fork->fork->how ? fork->fork->how : "fork",
		     words_format_count(pinned->regions, "region", regions),
		     words_format_bytes(pinned->bytes, bytes),
		     pinned->regions == 1 ? "was" : "were");
	moment = moment_of(fork);
	finding_step(finding, "registered last", &pinned->last);
	finding_step(finding, "forked", &moment);
}

/* FORK-002. If the kernel copies, fork support is not needed. */
void fork_002(struct check *check, const struct trace_event *returned)
{
	const struct call *call = returned->call;
	const struct pinned *pinned = model_pinned(check->model, returned->process);
	struct moment moment = moment_of(returned);
	struct finding *finding;
	char id[32], span[32];

	if (call->verb != VERB_fork_init || call->ret != EINVAL ||
	    model_fork_safety(check->model, returned->process) == FORK_COPIES)
		return;
	finding = findings_add(check->findings, RULE_FORK_002,
			       findings_key(call->stack, returned->process, 0));
	if (!finding)
		return;
	finding_at(finding, &moment);
	finding_text(&finding->where, "ibv_fork_init()");
	if (pinned->first.id.thread)
		finding_text(
			&finding->says,
			"ibv_fork_init() returned EINVAL: the first memory had been registered "
			"at %s, %s earlier. Fork support is off.",
			event_id_text(pinned->first.id, id),
			words_format_span(moment.time - pinned->first.time, span));
	else
		finding_text(&finding->says, "ibv_fork_init() returned EINVAL: memory had been "
					     "registered before, by a library or a provider. Fork "
					     "support is off.");
	finding_step(finding, "registered first", &pinned->first);
	finding_step(finding, "called", &moment);
}

static void describe_shared(struct finding *finding, const struct life *mr,
			    const struct trace_event *fork, uint64_t page)
{
	char name[64], id[32];
	struct moment moment = moment_of(fork);

	finding_text(&finding->says,
		     "%s has 0x%" PRIx64 " to 0x%" PRIx64 ", which are not whole pages of %" PRIu64
		     " "
		     "bytes: other data in these pages is missing in the child forked at %s.",
		     object_name_text(mr, name, sizeof(name)), mr->addr, mr->addr + mr->bytes, page,
		     event_id_text(fork->id, id));
	finding_text(&finding->object, "%s", mr->name);
	finding_step(finding, "registered", &mr->created);
	finding_step(finding, "forked", &moment);
}

static void report_shared(struct check *check, const struct life *mr,
			  const struct trace_event *fork, uint64_t page)
{
	struct moment moment = moment_of(fork);
	struct finding *finding;

	if (!mr->pinned || mr->state != LIFE_LIVE || !((mr->addr | mr->bytes) & (page - 1)))
		return;
	finding = findings_group(check->findings, RULE_FORK_004,
				 findings_key(mr->created.stack, mr->process, 0), true);
	if (!finding || finding->says)
		return;
	finding_at(finding, &moment);
	finding_text(&finding->where, "%s()", verb_infos[mr->created.verb].name);
	describe_shared(finding, mr, fork, page);
}

/* FORK-004: one finding for each place that registers. Each region is checked once. */
void fork_004(struct check *check, const struct trace_event *fork)
{
	const struct pinned *pinned = model_pinned(check->model, fork->process);
	const struct process *process = trace_process(check->trace, fork->process);
	struct life **lives;
	ssize_t n;

	if (!is_fork(fork) || !pinned->regions || !process || !process->page_size ||
	    model_fork_safety(check->model, fork->process) != FORK_KEPT)
		return;
	n = model_take_regions(check->model, fork->process, &lives);
	for (ssize_t i = 0; i < n; i++)
		report_shared(check, lives[i], fork, process->page_size);
	if (n >= 0)
		free(lives);
}

struct in_flight {
	bool sends; /* count only requests that will have a completion */
	uint64_t n;
	const struct queue *queue; /* of the first */
	struct queue_request first;
};

static bool count_request(void *arg, const struct queue *queue, const struct queue_request *request)
{
	struct in_flight *in_flight = arg;

	if (queue->doubt || request->done ||
	    (in_flight->sends && (!queue->send || !request->signalled)))
		return false;
	if (!in_flight->n++) {
		in_flight->queue = queue;
		in_flight->first = *request;
	}
	return false;
}

static bool may_fork(const struct fork_event *fork)
{
	return !fork->error &&
	       (fork->kind == TRACE_FORKED ||
		(fork->how && (!strcmp(fork->how, "system") || !strcmp(fork->how, "popen"))));
}

static void describe_in_flight(struct finding *finding, const struct trace_event *fork,
			       const struct in_flight *in_flight, const char *kernel)
{
	struct moment forked = moment_of(fork);
	struct moment posted = { .id = queue_id(&in_flight->first),
				 .verb = VERB_COUNT,
				 .process = fork->process,
				 .stack = in_flight->first.stack,
				 .time = in_flight->first.time };
	char id[32];

	finding_text(&finding->says,
		     "Process %u called %s() while %s %s outstanding, the first since %s%s.",
		     fork->process, fork->fork->how ? fork->fork->how : "fork",
		     WORDS_N(in_flight->n, in_flight->sends ? "send" : "work request"),
		     in_flight->n == 1 ? "was" : "were", event_id_text(posted.id, id), kernel);
	finding_step(finding, "posted", &posted);
	finding_step(finding, "forked", &forked);
}

/*
 * If the kernel copies pages, or fork support is on, this does no harm here. Receives do not count
 * then: a server that forks always has some posted.
 */
static void report_in_flight(struct check *check, const struct trace_event *fork)
{
	bool kept = model_fork_safety(check->model, fork->process) == FORK_KEPT ||
		    model_asked_fork_safety(check->model, fork->process);
	struct in_flight in_flight = { .sends = true };
	struct finding *finding;

	queues_each(check->model, fork->process, count_request, &in_flight);
	finding = in_flight.n ? place_fork(check, RULE_FORK_006, true, fork) : NULL;
	if (!finding)
		return;
	describe_in_flight(finding, fork, &in_flight, "");
	if (kept)
		finding_text(
			&finding->breaks,
			"a buffer is not alone in its pages: fork support hides these from the "
			"child, with everything else in them");
	else
		finding_text(&finding->breaks,
			     "the kernel is older than 5.12 and fork support is off: the first "
			     "write to a page that both processes share moves the page away from "
			     "the device");
}

/* FORK-006 */
void fork_006(struct check *check, const struct trace_event *fork)
{
	struct in_flight in_flight = { 0 };
	struct finding *finding;

	if (!may_fork(fork->fork) || !model_pinned(check->model, fork->process)->regions)
		return;
	if (model_fork_safety(check->model, fork->process) != FORK_UNSAFE) {
		report_in_flight(check, fork);
		return;
	}
	queues_each(check->model, fork->process, count_request, &in_flight);
	finding = in_flight.n ? add_fork(check, RULE_FORK_006, fork) : NULL;
	if (finding)
		describe_in_flight(
			finding, fork, &in_flight,
			": this kernel does not copy registered pages, and fork support is "
			"off");
}

/* The program has not asked for fork support, or too late. */
static void describe_copied(struct finding *finding, const struct trace_event *fork,
			    const struct pinned *pinned)
{
	const struct moment *late = &pinned->late;
	char bytes[32], id[32], regions[WORDS_COUNT];

	finding_text(&finding->says, "Process %u called %s() while %s with %s %s registered, %s",
		     fork->process, fork->fork->how ? fork->fork->how : "fork",
		     words_format_count(pinned->regions, "region", regions),
		     words_format_bytes(pinned->bytes, bytes),
		     pinned->regions == 1 ? "was" : "were",
		     late->id.thread ? "and ibv_fork_init()" : "without ibv_fork_init()");
	if (late->id.thread)
		finding_text(&finding->says,
			     "%s was first called at %s, too late: after a registration it "
			     "protects nothing.",
			     finding->says, event_id_text(late->id, id));
	else
		finding_text(&finding->says, "%s or RDMAV_FORK_SAFE.", finding->says);
	finding_text(&finding->says, "%s This kernel copies these pages for the child.",
		     finding->says);
}

/*
 * FORK-001, where the kernel copies registered pages and the program has not asked for fork
 * support in time, so that it depends on the kernel. If sends are outstanding, FORK-006 says so.
 */
void fork_001_copied(struct check *check, const struct trace_event *fork)
{
	const struct pinned *pinned = model_pinned(check->model, fork->process);
	struct in_flight in_flight = { .sends = true };
	struct finding *finding;
	struct moment moment;

	if (!is_fork(fork) || !pinned->regions ||
	    model_fork_safety(check->model, fork->process) != FORK_COPIES ||
	    model_asked_fork_safety(check->model, fork->process))
		return;
	queues_each(check->model, fork->process, count_request, &in_flight);
	finding = in_flight.n ? NULL : place_fork(check, RULE_FORK_001, true, fork);
	if (!finding)
		return;
	describe_copied(finding, fork, pinned);
	finding_text(&finding->breaks,
		     "the kernel is older than 5.12: if the process writes to a registered page "
		     "while the child exists, it gets a new page, and the device uses the old one");
	moment = moment_of(fork);
	if (pinned->late.id.thread && pinned->late.process == fork->process) {
		finding_step(finding, "registered first", &pinned->first);
		finding_step(finding, "too late", &pinned->late);
	}
	finding_step(finding, "registered last", &pinned->last);
	finding_step(finding, "forked", &moment);
}

/* FORK-007: one finding for each process. */
void fork_007(struct check *check, const struct trace_event *returned)
{
	const struct pinned *pinned = model_pinned(check->model, returned->process);
	struct finding *finding;
	struct moment moment;
	char span[32], regions[WORDS_COUNT];

	if (pinned->streak != CHURN || returned->call->failed ||
	    verb_infos[returned->call->verb].object != OBJECT_mr ||
	    verb_infos[returned->call->verb].effect != EFFECT_CREATE ||
	    model_fork_safety(check->model, returned->process) != FORK_KEPT)
		return;
	finding = findings_group(check->findings, RULE_FORK_007,
				 findings_key(returned->process, 0, 0), true);
	if (!finding || finding->says)
		return;
	moment = pinned->last;
	finding_at(finding, &moment);
	finding_text(&finding->where, "%s()", verb_infos[returned->call->verb].name);
	finding_text(&finding->says,
		     "Process %u registered memory %d times within %s under fork support, and "
		     "then had %s.",
		     moment.process, CHURN,
		     words_format_span(moment.time - pinned->streak_began, span),
		     words_format_count(pinned->regions, "region", regions));
	finding_step(finding, "registered", &moment);
}

/* "context1 (descriptor 5), comp_channel1 (descriptor 7)": those that are alive */
static const struct life *list_staying(const struct check *check, const struct trace_event *fork,
				       char *text, size_t size)
{
	const char *at = fork->fork->staying;
	const struct life *first = NULL;
	uint64_t handle;
	size_t used = 0;
	int fd, length;

	for (; sscanf(at, "%" SCNu64 ":%d%n", &handle, &fd, &length) == 2; at += length) {
		const struct life *life = model_descriptor(check->model, fork->process, handle);

		if (!life)
			continue;
		first = first ? first : life;
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s (descriptor %d)",
						 used ? ", " : "", life->name, fd);
	}
	return first;
}

/* A hazard: the trace does not show what a child closes before exec(), or if it calls exec(). */
static void report_staying(struct check *check, const struct trace_event *fork)
{
	struct moment moment = moment_of(fork);
	const struct life *first;
	struct finding *finding;
	char list[512];

	first = fork->fork->child ? NULL : list_staying(check, fork, list, sizeof(list));
	finding = first ? place_fork(check, RULE_FORK_008, true, fork) : NULL;
	if (!finding)
		return;
	finding_text(&finding->object, "%s", first->name);
	finding_text(&finding->says,
		     "Process %u called %s() while these had lost their FD_CLOEXEC: %s.",
		     fork->process, fork->fork->how, list);
	finding_text(&finding->breaks, "the child executes another program without closing them: "
				       "it keeps the context, its queue pairs and pinned memory");
	finding_step(finding, "created", &first->created);
	finding_step(finding, "forked", &moment);
}

/*
 * Does a child that was created by @how certainly execute another program with all descriptors
 * unchanged?
 */
static bool execs_at_once(const char *how)
{
	return !strcmp(how, "exec") || !strcmp(how, "system") || !strcmp(how, "popen");
}

/* FORK-008 */
void fork_008(struct check *check, const struct trace_event *fork)
{
	struct moment moment = moment_of(fork);
	const struct life *first;
	struct finding *finding;
	char list[512];

	if (!fork->fork->staying || fork->fork->error || !fork->fork->how)
		return;
	if (!execs_at_once(fork->fork->how)) {
		report_staying(check, fork);
		return;
	}
	first = list_staying(check, fork, list, sizeof(list));
	finding = first ? add_fork(check, RULE_FORK_008, fork) : NULL;
	if (!finding)
		return;
	finding_text(&finding->object, "%s", first->name);
	finding_text(&finding->says,
		     "Process %u called %s() and left these open in the new program: %s.",
		     fork->process, fork->fork->how, list);
	finding_step(finding, "created", &first->created);
	finding_step(finding, "left open", &moment);
}
