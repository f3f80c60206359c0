/*
 * The results of a replay: counts, divergences, and events left out
 *
 * Up to KEPT_MAX causes are stored, further ones are counted; a consequence is counted with its
 * cause. Events left out and tolerated differences are counted by reason.
 *
 * Not here: which divergence is a consequence (outcome_cause.c), counters (outcome_count.c), output
 * (outcome_text.c, outcome_json.c).
 */
#include "replay/report/outcome_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "replay/report/pace.h"

int outcome_new(struct outcome **ret_outcome)
{
	struct outcome *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	if (outcome_count_init(r)) {
		outcome_free(r);
		return -ENOMEM;
	}
	*ret_outcome = r;
	return 0;
}

static void free_divergence(struct divergence *d)
{
	free((char *)d->field);
	free((char *)d->recorded);
	free((char *)d->replayed);
}

void outcome_free(struct outcome *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nkept; i++)
		free_divergence(&r->kept[i].first);
	for (size_t i = 0; i < r->ninjected; i++)
		free_divergence(&r->injected[i].d);
	free(r->injected);
	for (size_t i = 0; i < r->nskips; i++)
		free(r->skips[i].why);
	for (size_t i = 0; i < r->nnotes; i++)
		free(r->notes[i]);
	for (size_t i = 0; i < r->ngaps; i++)
		free(r->gaps[i]);
	free(r->gaps);
	free(r->kept);
	free(r->skips);
	free(r->notes);
	inferred_fini(&r->inferred);
	alive_objects_free(r->moment);
	free(r->part);
	free(r->path);
	free(r->device);
	outcome_count_fini(r);
	outcome_cause_fini(&r->causes);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void outcome_set_trace(struct outcome *r, const char *path, struct trace *trace)
{
	free(r->path);
	r->path = strdup(path);
	r->trace = trace;
}

void outcome_set_device(struct outcome *r, const char *names)
{
	free(r->device);
	r->device = strdup(names);
}

void outcome_set_other_device(struct outcome *r)
{
	__atomic_store_n(&r->other_device, true, __ATOMIC_RELAXED);
}

bool outcome_is_other_device(const struct outcome *r)
{
	return __atomic_load_n(&r->other_device, __ATOMIC_RELAXED);
}

void outcome_set_compiled(struct outcome *r)
{
	__atomic_store_n(&r->is_compiled, true, __ATOMIC_RELAXED);
}

bool outcome_is_compiled(const struct outcome *r)
{
	return __atomic_load_n(&r->is_compiled, __ATOMIC_RELAXED);
}

/* Space for one more element at the end of an array; false if out of memory. */
static bool make_room(void **array, size_t n, size_t each)
{
	void *more;

	if (n & (n - 1)) /* extended at powers of two only */
		return true;
	more = reallocarray(*array, n ? n * 2 : 1, each);
	if (!more)
		return false;
	*array = more;
	return true;
}

static void copy_divergence(struct divergence *to, const struct divergence *d)
{
	*to = *d;
	to->field = strdup(d->field);
	to->recorded = strdup(d->recorded);
	to->replayed = strdup(d->replayed);
}

/* Add a cause; its number is its index in the list, even if the list is full. */
static uint64_t add_cause(struct outcome *r, const struct divergence *d)
{
	uint64_t number = r->ncauses++;

	r->classes[d->class]++;
	if (r->nkept < KEPT_MAX && make_room((void **)&r->kept, r->nkept, sizeof(*r->kept))) {
		r->kept[r->nkept] = (struct cause){ 0 };
		copy_divergence(&r->kept[r->nkept++].first, d);
	}
	__atomic_fetch_add(&r->ndivergences, 1, __ATOMIC_RELAXED);
	return number;
}

static void name_object(struct cause *cause, uint32_t object)
{
	if (!object)
		return;
	for (uint32_t i = 0; i < cause->nobjects; i++)
		if (cause->objects[i] == object)
			return;
	if (cause->nobjects < OBJECTS_NAMED)
		cause->objects[cause->nobjects++] = object;
	else
		cause->more_objects = true;
}

static void add_consequence(struct outcome *r, uint64_t number, uint32_t object)
{
	struct cause *cause = number < r->nkept ? &r->kept[number] : NULL;

	if (number >= CAUSE_TOLERATED || (cause && cause->tolerated)) {
		tolerate_line(r->tolerate, cause ? cause->line : number - CAUSE_TOLERATED)
			->consequences++;
		return;
	}
	r->nconsequences++;
	if (!cause)
		return;
	cause->consequences++;
	name_object(cause, object);
}

/*
 * The cause of a flush, or of a missing completion, may be polled later than this symptom, and then
 * replaces it. A status about the other end is replaced only by that end's own completion. Returns
 * the stored symptom if @d is its cause.
 */
static struct cause *find_symptom(struct outcome *r, uint64_t number, const struct divergence *d)
{
	struct cause *cause = number < r->nkept ? &r->kept[number] : NULL;
	const struct divergence *first = cause ? &cause->first : NULL;

	if (!cause || cause->tolerated || !first->symptom || d->symptom || !d->breaks)
		return NULL;
	if (first->remote && (d->object == first->object || d->verb != first->verb))
		return NULL;
	return cause;
}

/* Make @d the cause in place of its symptom. Returns the object that the consequence is at. */
static uint32_t replace_symptom(struct outcome *r, uint64_t number, const struct divergence *d)
{
	struct cause *cause = find_symptom(r, number, d);
	uint32_t object;

	if (!cause)
		return d->object;
	object = cause->first.object;
	r->classes[cause->first.class]--;
	r->classes[d->class]++;
	free_divergence(&cause->first);
	copy_divergence(&cause->first, d);
	return object;
}

/*
 * The cause with @number is a symptom of @d, which @line tolerates: count it and its consequences
 * as consequences of @d.
 */
static void tolerate_symptom(struct outcome *r, uint64_t number, size_t line,
			     const struct divergence *d)
{
	struct cause *cause = find_symptom(r, number, d);

	if (!cause)
		return;
	cause->tolerated = true;
	cause->line = line;
	tolerate_line(r->tolerate, line)->consequences += 1 + cause->consequences;
	r->nconsequences -= cause->consequences;
	r->classes[cause->first.class]--;
	__atomic_fetch_sub(&r->ndivergences, 1, __ATOMIC_RELAXED);
}

/* Close the report, for the first reason given. */
static void stop_report(struct outcome *r, const char *why)
{
	if (!r->state.stopped)
		r->why_stopped = why;
	__atomic_store_n(&r->state.stopped, true, __ATOMIC_RELAXED);
	pace_end();
}

void outcome_stop(struct outcome *r, const char *why)
{
	pthread_mutex_lock(&r->lock);
	stop_report(r, why);
	pthread_mutex_unlock(&r->lock);
}

void outcome_set_tolerate(struct outcome *r, struct tolerate *tolerate)
{
	r->tolerate = tolerate;
}

void outcome_set_fail_fast(struct outcome *r)
{
	r->fail_fast = true;
}

/* Take the lock before reporting something. False: the report is closed, the lock not taken. */
static bool begin_report(struct outcome *r)
{
	pthread_mutex_lock(&r->lock);
	if (!outcome_stopped(r))
		return true;
	pthread_mutex_unlock(&r->lock);
	return false;
}

const char *divergence_verb(const struct divergence *d)
{
	return d->verb < VERB_COUNT ? verb_infos[d->verb].name : "no verb";
}

/* The matching line of --tolerate; -1: none. */
static int find_tolerance(struct outcome *r, const struct divergence *d)
{
	const struct object *o = r->trace ? trace_object(r->trace, d->object) : NULL;

	return tolerate_find(r->tolerate, &(struct tolerate_query){
						  .verb = divergence_verb(d),
						  .field = d->field,
						  .event = d->event,
						  .object = o ? o->name : "",
						  .process = o ? o->process : 0,
					  });
}

static enum skip_kind print_skip_kind(enum verb verb)
{
	switch (verb) {
	case VERB_post_send:
	case VERB_post_recv:
	case VERB_post_srq_recv:
	case VERB_post_wq_recv:
	case VERB_wr_complete:
	case VERB_wr_abort:
		return SKIP_POST;
	case VERB_poll_cq:
	case VERB_start_poll:
	case VERB_next_poll:
		return SKIP_COMPLETION;
	default:
		return SKIP_CALL;
	}
}

/* Make the injected error @i the cause of @d. */
static uint64_t blame_injected(struct outcome *r, struct injected_error *i,
			       const struct divergence *d)
{
	struct divergence first = i->d;
	char text[32], *replayed = NULL;
	int line = find_tolerance(r, &first);
	uint64_t cause;

	if (line >= 0)
		return CAUSE_TOLERATED + (uint64_t)line;
	if (asprintf(&replayed, "the same, injected; then %s %s: %s is recorded %s, replayed %s",
		     event_id_text(d->event, text), divergence_verb(d), d->field, d->recorded,
		     d->replayed) < 0)
		replayed = NULL;
	first.replayed = replayed ? replayed : "the same, injected";
	cause = add_cause(r, &first);
	free(replayed);
	return cause;
}

/* A cause that is an injected error becomes a divergence by its consequence @d (NULL: none). */
static uint64_t resolve_cause(struct outcome *r, uint64_t cause, const struct divergence *d)
{
	struct injected_error *i;

	if (cause == OUTCOME_NO_CAUSE || cause < CAUSE_INJECTED || cause >= CAUSE_TOLERATED)
		return cause;
	i = &r->injected[cause - CAUSE_INJECTED];
	if (!i->cause && d)
		i->cause = 1 + blame_injected(r, i, d);
	return i->cause ? i->cause - 1 : OUTCOME_NO_CAUSE;
}

void outcome_note_injected(struct outcome *r, const struct divergence *d)
{
	if (!begin_report(r))
		return;
	if (outcome_cause_of(&r->causes, d->object, 0) == OUTCOME_NO_CAUSE &&
	    make_room((void **)&r->injected, r->ninjected, sizeof(*r->injected))) {
		r->injected[r->ninjected] = (struct injected_error){ 0 };
		copy_divergence(&r->injected[r->ninjected].d, d);
		outcome_cause_note(&r->causes, d->object, CAUSE_INJECTED + r->ninjected++, true);
		__atomic_store_n(&r->diverged, true, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&r->lock);
}

static void add_divergence(struct outcome *r, const struct divergence *d)
{
	uint64_t cause = resolve_cause(r, outcome_cause_of(&r->causes, d->object, d->peer), d);
	bool completion = print_skip_kind(d->verb) == SKIP_COMPLETION;
	int line = find_tolerance(r, d);

	if (cause == OUTCOME_NO_CAUSE && completion)
		cause = outcome_cause_last(&r->causes, d->object);
	if (line >= 0 && cause == OUTCOME_NO_CAUSE)
		cause = CAUSE_TOLERATED + (uint64_t)line;
	else if (line >= 0)
		tolerate_symptom(r, cause, (size_t)line, d);
	else if (cause == OUTCOME_NO_CAUSE)
		cause = add_cause(r, d);
	else
		add_consequence(r, cause, replace_symptom(r, cause, d));
	__atomic_store_n(&r->diverged, true, __ATOMIC_RELAXED);
	if (d->breaks || completion)
		outcome_cause_note(&r->causes, d->object, cause, d->breaks);
}

void outcome_add_divergence(struct outcome *r, const struct divergence *d)
{
	if (!begin_report(r))
		return;
	add_divergence(r, d);
	if (r->fail_fast && r->ndivergences && !(r->tolerate && d->symptom))
		stop_report(r, "ended at the first divergence (--fail-fast)");
	pthread_mutex_unlock(&r->lock);
}

void outcome_relate_objects(struct outcome *r, uint32_t from, uint32_t to)
{
	pthread_mutex_lock(&r->lock);
	outcome_cause_add_edge(&r->causes, from, to);
	pthread_mutex_unlock(&r->lock);
}

static bool has_diverged(const struct outcome *r)
{
	return __atomic_load_n(&r->diverged, __ATOMIC_RELAXED);
}

static void report_causes(struct outcome *r, uint32_t object,
			  void (*tell)(struct outcome_causes *, uint32_t))
{
	if (!has_diverged(r))
		return;
	pthread_mutex_lock(&r->lock);
	tell(&r->causes, object);
	pthread_mutex_unlock(&r->lock);
}

void outcome_note_agreement(struct outcome *r, uint32_t object)
{
	report_causes(r, object, outcome_cause_note_agreement);
}

void outcome_note_repair(struct outcome *r, uint32_t object)
{
	report_causes(r, object, outcome_cause_note_repair);
}

bool outcome_is_explained(struct outcome *r, uint32_t object)
{
	bool explained;

	if (!has_diverged(r))
		return false;
	pthread_mutex_lock(&r->lock);
	explained =
		resolve_cause(r, outcome_cause_of(&r->causes, object, 0), NULL) != OUTCOME_NO_CAUSE;
	pthread_mutex_unlock(&r->lock);
	return explained;
}

static void inherit_cause(struct outcome *r, uint32_t object, uint64_t cause)
{
	if (cause != OUTCOME_NO_CAUSE)
		outcome_cause_note(&r->causes, object, cause, true);
}

void outcome_inherit_cause(struct outcome *r, uint32_t object, uint32_t from)
{
	pthread_mutex_lock(&r->lock);
	inherit_cause(r, object, outcome_cause_of(&r->causes, from, 0));
	pthread_mutex_unlock(&r->lock);
}

static struct skip *find_skip(struct outcome *r, enum verb verb, const char *why)
{
	for (size_t i = 0; i < r->nskips; i++)
		if (r->skips[i].verb == verb && !strcmp(r->skips[i].why, why))
			return &r->skips[i];
	return NULL;
}

static void add_skip(struct outcome *r, struct event_id event, enum verb verb, const char *why)
{
	struct skip *skip = find_skip(r, verb, why);
	char *copy;

	r->nskipped[print_skip_kind(verb)]++;
	if (skip) {
		skip->n++;
		return;
	}
	copy = strdup(why);
	if (copy && make_room((void **)&r->skips, r->nskips, sizeof(*r->skips)))
		r->skips[r->nskips++] = (struct skip){ event, verb, copy, 1 };
	else
		free(copy);
}

void outcome_note_skipped(struct outcome *r, struct event_id event, enum verb verb, uint32_t object,
			  const char *why)
{
	uint64_t cause;

	if (!begin_report(r))
		return;
	cause = resolve_cause(r, outcome_cause_of(&r->causes, object, 0), NULL);
	if (cause == OUTCOME_NO_CAUSE)
		add_skip(r, event, verb, why);
	else
		add_consequence(r, cause, object);
	pthread_mutex_unlock(&r->lock);
}

static void add_note(struct outcome *r, char *text)
{
	for (size_t i = 0; text && i < r->nnotes; i++)
		if (!strcmp(r->notes[i], text)) {
			free(text);
			return;
		}
	if (text && make_room((void **)&r->notes, r->nnotes, sizeof(*r->notes)))
		r->notes[r->nnotes++] = text;
	else
		free(text);
}

void outcome_note(struct outcome *r, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	pthread_mutex_lock(&r->lock);
	add_note(r, text);
	pthread_mutex_unlock(&r->lock);
}

void outcome_note_gap(struct outcome *r, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	pthread_mutex_lock(&r->lock);
	if (text && make_room((void **)&r->gaps, r->ngaps, sizeof(*r->gaps)))
		r->gaps[r->ngaps++] = text;
	else
		free(text);
	pthread_mutex_unlock(&r->lock);
}

bool outcome_is_whole(const struct outcome *r)
{
	return !r->nskips && !r->ngaps && !r->state.stopped;
}

void outcome_set_inferred(struct outcome *r, struct inferred_list *list)
{
	inferred_fini(&r->inferred);
	r->inferred = *list;
	*list = (struct inferred_list){ 0 };
}

void outcome_set_alive(struct outcome *r, struct alive_objects *moment)
{
	alive_objects_free(r->moment);
	r->moment = moment;
}

void outcome_set_rounds(struct outcome *r, const struct rounds *rounds)
{
	r->rounds = *rounds;
}

double outcome_seconds(const struct outcome *r)
{
	return r->replayed;
}

int outcome_set_part(struct outcome *r, const char *part)
{
	char *copy = strdup(part);

	if (!copy)
		return -ENOMEM;
	free(r->part);
	r->part = copy;
	return 0;
}

static void add_tolerated(struct outcome *r, const char *reason)
{
	size_t i = 0;

	while (i < r->ntolerated && r->tolerated[i].reason != reason)
		i++;
	if (i == REASONS_MAX)
		return;
	r->tolerated[i].reason = reason;
	r->tolerated[i].n++;
	if (i == r->ntolerated)
		r->ntolerated++;
}

void outcome_note_tolerated(struct outcome *r, const char *reason)
{
	if (!begin_report(r))
		return;
	add_tolerated(r, reason);
	pthread_mutex_unlock(&r->lock);
}

void outcome_set_times(struct outcome *r, double recorded, double compiled, double replayed)
{
	r->recorded = recorded;
	r->compiled = compiled;
	r->replayed = replayed;
}

void outcome_note_wait(struct outcome *r, int64_t ns)
{
	r->waited = ns;
}

uint64_t outcome_divergences(const struct outcome *r)
{
	return r->ndivergences;
}

size_t outcome_count_kept(const struct outcome *r)
{
	return r->nkept;
}

const struct divergence *outcome_nth_divergence(const struct outcome *r, size_t i)
{
	return r->kept[i].tolerated ? NULL : &r->kept[i].first;
}

uint64_t outcome_consequences(const struct outcome *r)
{
	return r->nconsequences;
}
