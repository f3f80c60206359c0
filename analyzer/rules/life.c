/*
 * LIFE: objects used, destroyed and forgotten at the wrong time
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

/* objects of one kind that were left: from this number on, leaked before the program's end */
enum { MANY = 10 };

static bool is_dead(const struct life *object)
{
	return !object->inherited && (object->state == LIFE_GONE || object->state == LIFE_CLOSED);
}

/* A place in the program is a stack; without a stack, the whole process. */
static uint64_t key_of_use(const struct model_use *use)
{
	struct moment moment = use_moment(use);

	return findings_key(use->verb, moment.stack, moment.stack ? 0 : moment.process);
}

static void fill_use(struct finding *finding, const struct model_use *use, const char *used)
{
	struct moment moment = use_moment(use);

	finding_at(finding, &moment);
	finding_set_use(finding, use);
	finding_text(&finding->object, "%s", use->object->name);
	finding_step(finding, "created", &use->object->created);
	finding_step(finding, use->object->state == LIFE_CLOSED ? "closed" : "destroyed",
		     &use->object->destroyed);
	finding_step(finding, used, &moment);
}

/* LIFE-001. A second destroy of an object is LIFE-002. */
void life_001(struct check *check, const struct model_use *use)
{
	const struct life *object = use->object;
	char name[64], when[32], outcome[128], id[32];
	struct finding *finding;
	const char *end = "destroyed";

	if (!is_dead(object) || (use->destroys && object->state == LIFE_GONE))
		return;
	finding = findings_add(check->findings, RULE_LIFE_001, key_of_use(use));
	if (!finding)
		return;
	fill_use(finding, use, "used");
	if (object->state == LIFE_CLOSED)
		end = "left behind";
	finding_text(
		&finding->says, "%s was %s by %s() at %s, %s earlier, and %s() used it again%s.",
		object_name_text(object, name, sizeof(name)), end,
		verb_infos[object->destroyed.verb].name, event_id_text(object->destroyed.id, id),
		words_format_span(use->event->time - object->destroyed.time, when),
		verb_infos[use->verb].name, use_result_text(use, outcome, sizeof(outcome)));
}

/* LIFE-002 */
void life_002(struct check *check, const struct model_use *use)
{
	const struct life *object = use->object;
	char name[64], when[32], outcome[128], id[32];
	struct finding *finding;

	if (!use->destroys || !is_dead(object) || object->state == LIFE_CLOSED)
		return;
	finding = findings_add(check->findings, RULE_LIFE_002, key_of_use(use));
	if (!finding)
		return;
	fill_use(finding, use, use->event->call->failed ? "destroy failed" : "destroyed again");
	finding_text(&finding->says,
		     "%s was destroyed by %s() at %s, and again %s later, although no object had "
		     "been created at its address in between%s.",
		     object_name_text(object, name, sizeof(name)),
		     verb_infos[object->destroyed.verb].name,
		     event_id_text(object->destroyed.id, id),
		     words_format_span(use->event->time - object->destroyed.time, when),
		     use_result_text(use, outcome, sizeof(outcome)));
}

/* "mr1, created by thread 3 at 1:20,"; "qp1, qp2 and 3 more" */
static void list_children(const struct model_destroy *destroy, char *text, size_t size)
{
	size_t used = 0;
	unsigned int shown = destroy->nchildren < MODEL_SHOWN ? destroy->nchildren : MODEL_SHOWN;
	const struct model_child *child = destroy->children;
	char id[32];

	text[0] = '\0';
	if (destroy->nchildren == 1 && child->created.id.thread) {
		snprintf(text, size, "%s, created by thread %u at %s,", child->name,
			 thread_number(child->created.id.thread),
			 event_id_text(child->created.id, id));
		return;
	}
	for (unsigned int i = 0; i < shown && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 child[i].name);
	if (destroy->nchildren > shown && used < size)
		snprintf(text + used, size - used, " and %u more", destroy->nchildren - shown);
}

static void describe_children(struct finding *finding, const struct model_destroy *destroy)
{
	char name[64], children[MODEL_SHOWN * (LIFE_NAME + 2) + 64], groups[WORDS_COUNT];

	object_name_text(destroy->object, name, sizeof(name));
	list_children(destroy, children, sizeof(children));
	if (destroy->failed && destroy->nchildren)
		finding_text(&finding->says,
			     "%s was not destroyed: %s() returned %" PRId64
			     " (%s), since %s still depended on it.",
			     name, verb_infos[destroy->moment.verb].name, destroy->ret,
			     strerror((int)destroy->ret), children);
	else if (destroy->nchildren)
		finding_text(&finding->says,
			     "%s was destroyed while %s still depended on it, and the device "
			     "accepted this.",
			     name, children);
	else
		finding_text(
			&finding->says, "%s was %s while it was attached to %s.", name,
			destroy->failed ? "not destroyed (EBUSY)" : "destroyed",
			words_format_count(destroy->object->ngroups, "multicast group", groups));
}

/* LIFE-003. Closing a context that still has objects is allowed; those are LIFE-004. */
void life_003(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	struct finding *finding;

	if (!destroy->returned || object->kind == OBJECT_context || object->borrowed ||
	    object->kind == OBJECT_cm_id || object->kind == OBJECT_cm_channel) /* CM-001 */
		return;
	if (!destroy->nchildren && !object->ngroups)
		return;
	if (destroy->failed && destroy->ret != EBUSY)
		return;
	finding = check_add_destroy(check, RULE_LIFE_003, destroy);
	if (!finding)
		return;
	describe_children(finding, destroy);
	finding_step(finding, "created", &object->created);
	if (destroy->nchildren)
		finding_step(finding, "blocked since", &destroy->children[0].created);
	finding_step(finding, destroy->failed ? "destroy failed" : "destroyed", &destroy->moment);
}

/* A process that gave up after a failure leaves its objects: its status shows that. */
static void describe_leak_end(struct check *check, const struct model_leak *leak, char *text,
			      size_t size)
{
	const struct process *its = trace_process(check->trace, leak->at.process);
	int status = its && its->status != -1 ? WEXITSTATUS(its->status) : 0;
	char id[32], process[PROCESS_TEXT];

	if (leak->at.id.thread)
		snprintf(text, size, "the context was closed at %s",
			 event_id_text(leak->at.id, id));
	else if (status)
		snprintf(text, size, "%s exited with status %d",
			 process_id_text(leak->at.process, process), status);
	else
		snprintf(text, size, "%s exited", process_id_text(leak->at.process, process));
}

/* ", and with it 1 pd, 2 mrs" */
static void list_lost_with(const struct finding *finding, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int kind = 0; kind < OBJECT_COUNT && used < size; kind++)
		if (finding->with[kind])
			used += (size_t)snprintf(text + used, size - used, "%s%u %s%s",
						 used                        ? ", "
						 : finding->site->count == 1 ? ", and with it "
									     : ", and with them ",
						 finding->with[kind], object_names[kind],
						 finding->with[kind] == 1 ? "" : "s");
}

/* ". 2 connection requests were neither accepted nor rejected: ..." */
static void describe_unanswered(const struct finding *finding, char *text, size_t size)
{
	char n[WORDS_COUNT];

	text[0] = '\0';
	if (finding->unanswered)
		snprintf(text, size,
			 ". %s %s neither accepted nor rejected: the other end got no answer",
			 words_format_count(finding->unanswered, "connection request", n),
			 finding->unanswered == 1 ? "was" : "were");
}

/* "2 identifiers whose RDMA_CM_EVENT_DISCONNECTED had been retrieved were never destroyed: " */
static void describe_disconnected(const struct finding *finding, char *text, size_t size)
{
	text[0] = '\0';
	if (finding->disconnected > 1)
		snprintf(text, size,
			 "%u identifiers whose RDMA_CM_EVENT_DISCONNECTED had been retrieved were "
			 "never destroyed: ",
			 finding->disconnected);
}

static unsigned long number_in(const char *name)
{
	return strtoul(name + strcspn(name, "0123456789"), NULL, 10);
}

/* "pd1 to pd3"; "pd3, pd5, ..., pd11" if others between these are not among them */
static void list_range(const struct finding *finding, uint64_t n, char *text, size_t size)
{
	const char *first = finding->object;

	if (number_in(finding->last) - number_in(first) == n - 1)
		snprintf(text, size, "%s to %s", first, finding->last);
	else if (n == 2)
		snprintf(text, size, "%s and %s", first, finding->last);
	else
		snprintf(text, size, "%s, %s, %s%s", first, finding->second, n > 3 ? "..., " : "",
			 finding->last);
}

/* @root: the last object that the finding is about. */
static void describe_leak(struct check *check, struct finding *finding,
			  const struct model_leak *leak, const struct life *root)
{
	const char *verb = verb_infos[root->created.verb].name;
	char size[32], bytes[64] = "", end[80], with[256], requests[160], ended[160];
	char range[3 * LIFE_NAME + 16];
	uint64_t n = finding->site->count;

	if (finding->bytes)
		snprintf(bytes, sizeof(bytes), n > 1 ? ", %s together" : " of %s",
			 words_format_bytes(finding->bytes, size));
	describe_leak_end(check, leak, end, sizeof(end));
	list_lost_with(finding, with, sizeof(with));
	describe_unanswered(finding, requests, sizeof(requests));
	describe_disconnected(finding, ended, sizeof(ended));
	if (n <= 1) {
		finding_text(&finding->says, "%s%s%s, created by %s(), still existed when %s%s%s.",
			     ended, finding->object, bytes, verb, end, with, requests);
		return;
	}
	list_range(finding, n, range, sizeof(range));
	finding_text(&finding->says,
		     "%s%" PRIu64 " objects%s, created by %s() at one place, still existed "
		     "when %s: %s%s%s.",
		     ended, n, bytes, verb, end, range, with, requests);
}

static void fill_leak(struct finding *finding, const struct model_leak *leak,
		      const struct life *root)
{
	finding->event = leak->at.id.thread ? leak->at.id : root->created.id;
	finding->time = leak->at.time;
	finding->process = root->process;
	finding->thread = finding->event.thread;
	finding_text(&finding->where, "%s()", verb_infos[root->created.verb].name);
	finding_text(&finding->object, "%s", root->name);
	finding_step(finding, "created", &root->created);
	if (leak->at.id.thread)
		finding_step(finding, "closed", &leak->at);
}

/* Objects are found in the order in which they would have to be destroyed. */
static void note_order(struct finding *finding, const struct life *object)
{
	const int64_t made = object->created.time;

	if (!finding->made_first || made < finding->made_first) {
		snprintf(finding->second, sizeof(finding->second), "%s", finding->object);
		finding->made_second = finding->made_first;
		finding_text(&finding->object, "%s", object->name);
		finding->made_first = made;
	} else if (!finding->made_second || made < finding->made_second) {
		memcpy(finding->second, object->name, sizeof(finding->second));
		finding->made_second = made;
	}
	if (made >= finding->made_last) {
		memcpy(finding->last, object->name, sizeof(finding->last));
		finding->made_last = made;
	}
}

/*
 * LIFE-004: one finding for each place that created objects which were never destroyed. Objects
 * that depend on them, or whose destruction failed because of them, are added to the finding.
 */
void life_004(struct check *check, const struct model_leak *leak)
{
	const struct life *object = leak->object, *root = life_root(object);
	struct finding *finding;

	finding = findings_group(check->findings, RULE_LIFE_004,
				 findings_key(((uint64_t)root->process << 32) | root->created.verb,
					      root->created.stack, leak->at.id.thread != 0),
				 root == object);
	if (!finding)
		return;
	if (!finding->nsteps)
		fill_leak(finding, leak, root);
	finding->disconnected += object->kind == OBJECT_cm_id && object->disconnected;
	finding->unanswered += object->kind == OBJECT_cm_id &&
			       object->created.verb == VERB_rdma_get_cm_event &&
			       !object->cm_call.id.thread;
	if (root == object) {
		finding->bytes += object->bytes;
		note_order(finding, object);
	} else if (++finding->with[object->kind] == MANY) {
		finding_step(finding, "the tenth", &object->created);
	}
	describe_leak(check, finding, leak, root);
}

/* LIFE-009 */
void life_009(struct check *check, const struct model_device *device)
{
	const struct call *call = device->event->call;
	struct moment used = moment_of(device->event);
	struct finding *finding = check_add_finding(check, RULE_LIFE_009, &used, NULL, "device");
	char when[32], id[32];

	if (!finding)
		return;
	finding_text(&finding->object, "%s", device->name);
	finding_text(&finding->says,
		     "%s() was given device %s %s after ibv_free_device_list() at %s had freed the "
		     "last list with this device, and no context had opened it.",
		     verb_infos[call->verb].name, device->name,
		     words_format_span(call->begin - device->freed.time, when),
		     event_id_text(device->freed.id, id));
	finding_step(finding, "freed", &device->freed);
	finding_step(finding, "used", &used);
}

static void describe_foreign(struct finding *finding, const struct model_foreign *foreign,
			     const char *context, const char *other)
{
	const struct call *call = foreign->event->call;
	const char *verb = verb_infos[call->verb].name;
	const char *outcome = call->failed ? "the call failed" : "the call succeeded";

	if (foreign->object && foreign->object->kind == foreign->kind)
		finding_text(&finding->says, "%s() with %s of %s was given %s of %s as %s; %s.",
			     verb, foreign->first->name, context, foreign->object->name, other,
			     foreign->path, outcome);
	else if (foreign->object)
		finding_text(&finding->says, "%s() was given %s as %s, but a %s is expected; %s.",
			     verb, foreign->object->name, foreign->path,
			     object_names[foreign->kind], outcome);
	else
		finding_text(&finding->says,
			     "%s() was given 0x%" PRIx64 " as %s, but a %s is expected, and the "
			     "process has created none at this address; %s.",
			     verb, foreign->handle, foreign->path, object_names[foreign->kind],
			     outcome);
}

static const char *context_name(struct check *check, const struct life *life)
{
	const struct life *context = model_context(check->model, life);

	return context ? context->name : "another context";
}

/* LIFE-010 */
void life_010(struct check *check, const struct model_foreign *foreign)
{
	struct moment used = moment_of(foreign->event);
	struct finding *finding =
		check_add_finding(check, RULE_LIFE_010, &used, foreign->object, foreign->path);

	if (!finding)
		return;
	if (!foreign->object)
		finding_text(&finding->object, "%s@%" PRIx64, object_names[foreign->kind],
			     foreign->handle);
	describe_foreign(finding, foreign, context_name(check, foreign->first),
			 foreign->object ? context_name(check, foreign->object) : "");
	finding_step(finding, "created", &foreign->first->created);
	if (foreign->object)
		finding_step(finding, "created", &foreign->object->created);
	finding_step(finding, "used", &used);
}
