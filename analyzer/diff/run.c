/*
 * The data of one trace that are compared with others
 *
 * 	profile's places	--> functions that call a verb, with the sum of their places
 * 	control verbs		--> the attributes passed, by function; which function made which CQ
 */
#include "analyzer/diff/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/report.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

struct run_reader {
	struct diff_run *run;
	struct trace *trace;
	struct symbols *symbols;
	/* from an object to the site that created it; the upper bits are the index of the place */
	struct map cqs;
	bool no_memory;
};

/* Indices of a site, and of one of its places. */
struct place_index {
	size_t site, place;
};

/* clang-format off */
static const struct attribute_info attribute_infos[] = {
	{ "qp_type", 0 },        { "sq_sig_all", 1 },
	{ "max_send_wr", -1 },   { "max_recv_wr", -1 },
	{ "max_send_sge", 0 },   { "max_recv_sge", 0 },
	{ "max_inline_data", -1 },
	{ "cqe", -1 },           { "wc_flags", 0 },
	{ "max_wr", -1 },        { "max_sge", 0 },
	{ "path_mtu", -1 },      { "max_rd_atomic", -1 },
	{ "max_dest_rd_atomic", -1 },
	{ "timeout", 0 },        { "retry_cnt", 0 },
	{ "rnr_retry", 0 },      { "min_rnr_timer", 0 },
	{ "access", 0 },         { "comp_vector", 0 },
	{ "responder_resources", -1 }, { "initiator_depth", -1 },
	{ "retry_count", 0 },    { "rnr_retry_count", 0 },
	{ "sl", 0 },             { "traffic_class", 0 },
};
/* clang-format on */

const struct attribute_info *attribute_find(const char *name)
{
	for (size_t i = 0; i < sizeof(attribute_infos) / sizeof(attribute_infos[0]); i++)
		if (!strcmp(attribute_infos[i].name, name))
			return &attribute_infos[i];
	return NULL;
}

/* Sites */

/* Clones by the compiler count as the original function: put.constprop.0 */
static size_t length_of(const char *function)
{
	static const char *const clones[] = { ".constprop", ".isra", ".part", ".cold",
					      ".lto_priv" };
	size_t n = strlen(function);

	for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++) {
		const char *at = strstr(function, clones[i]);

		if (at && at > function && (size_t)(at - function) < n)
			n = (size_t)(at - function);
	}
	return n;
}

/* The innermost function of the program; "" if it is not known. */
static char *name_function(struct run_reader *r, uint32_t stack, struct diff_site *place)
{
	struct report report = { .trace = r->trace, .symbols = r->symbols };
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = stack ? report_stack(&report, stack, lines) : 0, i = 0;
	const char *function;

	if (!n)
		return strdup("");
	while (i + 1 < n && symbol_is_of_verbs(&lines[i].symbol))
		i++;
	symbol_text(&lines[i].symbol, place->text, DIFF_PLACE);
	for (unsigned int c = 0; c < DIFF_CALLERS && i + 1 + c < n; c++)
		symbol_text(&lines[i + 1 + c].symbol, place->callers[c], DIFF_PLACE);
	function = lines[i].symbol.function ? lines[i].symbol.function : "";
	return strndup(function, length_of(function));
}

/* The index of the site of @function, which is consumed; SIZE_MAX if out of memory. */
static size_t find_function(struct diff_run *run, enum verb verb, char *function, const char *text)
{
	struct diff_site *site;
	size_t i = 0;

	while (function && i < run->nsites &&
	       (run->sites[i].verb != verb || strcmp(run->sites[i].function, function)))
		i++;
	if (function && i < run->nsites) {
		free(function);
		return i;
	}
	site = function ? vec_push(run->sites, run->nsites) : NULL;
	if (!site) {
		free(function);
		return SIZE_MAX;
	}
	site->verb = verb;
	site->function = function;
	snprintf(site->text, sizeof(site->text), "%s", text);
	return i;
}

bool diff_site_equals(const struct diff_site *a, const struct diff_site *b)
{
	bool same = !strcmp(a->text, b->text);

	for (int c = 0; c < DIFF_CALLERS && same; c++)
		same = !strcmp(a->callers[c], b->callers[c]);
	return same;
}

static size_t find_place(struct diff_site *site, const struct diff_site *place)
{
	struct diff_site *made;
	size_t i = 0;

	while (i < site->nplaces && !diff_site_equals(&site->places[i], place))
		i++;
	if (i < site->nplaces)
		return i;
	made = vec_push(site->places, site->nplaces);
	if (!made)
		return SIZE_MAX;
	*made = *place;
	return i;
}

/* The function that calls @verb at @stack, and the place of the call; false if out of memory. */
static bool find_site(struct run_reader *r, enum verb verb, uint32_t stack,
		      struct place_index *ret_at)
{
	struct diff_run *run = r->run;
	struct diff_site place = { .verb = verb };
	uint64_t key = (uint64_t)stack << 32 | verb, found;
	char *function;

	if (map_get(&run->by_call, key, &found)) {
		*ret_at = (struct place_index){ (uint32_t)found - 1, found >> 32 };
		return true;
	}
	function = name_function(r, stack, &place);
	ret_at->site = find_function(run, verb, function, place.text);
	if (ret_at->site != SIZE_MAX)
		ret_at->place = find_place(&run->sites[ret_at->site], &place);
	if (ret_at->site == SIZE_MAX || ret_at->place == SIZE_MAX ||
	    map_put(&run->by_call, key, (uint64_t)ret_at->place << 32 | (ret_at->site + 1)))
		r->no_memory = true;
	return !r->no_memory;
}

static struct diff_site *site_at(const struct run_reader *r, struct place_index at)
{
	return &r->run->sites[at.site];
}

static struct diff_site *place_at(const struct run_reader *r, struct place_index at)
{
	return &r->run->sites[at.site].places[at.place];
}

static void add_places(struct run_reader *r)
{
	const struct profile *profile = r->run->profile;

	for (size_t i = 0; i < profile->nplaces && !r->no_memory; i++) {
		const struct profile_place *place = &profile->places[i];
		struct place_index at;

		if (!find_site(r, place->verb, place->stack, &at))
			return;
		profile_add_place(&site_at(r, at)->sum, place);
		profile_add_place(&place_at(r, at)->sum, place);
	}
}

/* Attributes */

static int add_value(struct diff_attribute *attribute, const char *text)
{
	char **at;
	size_t i = 0;

	while (i < attribute->n && strcmp(attribute->values[i], text) < 0)
		i++;
	if (i < attribute->n && !strcmp(attribute->values[i], text))
		return 0;
	at = vec_push(attribute->values, attribute->n);
	if (!at)
		return -ENOMEM;
	memmove(&attribute->values[i + 1], &attribute->values[i],
		(attribute->n - 1 - i) * sizeof(*at));
	attribute->values[i] = strdup(text);
	return attribute->values[i] ? 0 : -ENOMEM;
}

static int add_attribute(struct diff_site *site, const char *name, const char *text)
{
	struct diff_attribute *attribute;

	for (size_t i = 0; i < site->nattributes; i++)
		if (site->attributes[i].name == name)
			return add_value(&site->attributes[i], text);
	attribute = vec_push(site->attributes, site->nattributes);
	if (!attribute)
		return -ENOMEM;
	attribute->name = name;
	return add_value(attribute, text);
}

static int add_leaf(struct diff_site *site, const struct json_node *node)
{
	const struct attribute_info *info = node->name ? attribute_find(node->name) : NULL;
	char text[64];

	if (!info || (node->kind != JSON_INT && node->kind != JSON_TEXT))
		return 0;
	if (node->kind == JSON_TEXT)
		snprintf(text, sizeof(text), "%s", node->text);
	else if (!strcmp(info->name, "access") || !strcmp(info->name, "wc_flags"))
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)node->number);
	else
		snprintf(text, sizeof(text), "%lld", (long long)node->number);
	return add_attribute(site, info->name, text);
}

/* Arguments are nested at most three deep. */
static int add_leaves(struct diff_site *site, const struct json_node *parent, int depth)
{
	int err = 0;

	for (const struct json_node *node = json_first(parent); node && !err;
	     node = json_next(node)) {
		if (node->kind != JSON_OBJECT)
			err = add_leaf(site, node);
		else if (depth < 8)
			err = add_leaves(site, node, depth + 1);
	}
	return err;
}

static bool has_attributes(enum verb verb)
{
	return verb_infos[verb].plane == PLANE_CONTROL &&
	       (verb_infos[verb].effect == EFFECT_CREATE || verb_infos[verb].effect == EFFECT_USE);
}

static void read_call(struct run_reader *r, const struct call *call)
{
	const struct profile *profile = r->run->profile;
	struct place_index at;

	if (call->failed || call->end < 0 || !has_attributes(call->verb) || !call->args ||
	    call->begin >= profile->to)
		return;
	if (!find_site(r, call->verb, call->stack, &at))
		return;
	if (args_parse(call->args) < 0 || add_leaves(site_at(r, at), args_root(call->args), 0) ||
	    add_leaves(place_at(r, at), args_root(call->args), 0))
		r->no_memory = true;
	if (verb_infos[call->verb].object == OBJECT_cq && call->object &&
	    verb_infos[call->verb].effect == EFFECT_CREATE &&
	    map_put(&r->cqs, call->object, (uint64_t)at.place << 32 | at.site))
		r->no_memory = true;
}

static int read_calls(struct run_reader *r, uint32_t process)
{
	const struct trace_filter filter = { .process = process, .control_only = true };
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(r->trace, &filter, &cursor);

	if (err)
		return err;
	while (!r->no_memory && (err = cursor_next(cursor, &event)) > 0)
		if (event->kind == TRACE_CALL && !event->inner && !event->carried &&
		    !event->call->ours)
			read_call(r, event->call);
	cursor_close(cursor);
	return err;
}

static void add_cq(struct diff_site *to, const struct profile_cq *cq)
{
	to->polls += cq->polls;
	to->completions += cq->completions;
	to->empty += cq->empty;
	if (cq->most > to->most)
		to->most = cq->most;
	histogram_merge(&to->poll_gap, &cq->gap);
}

/* Polls have no stack: they are attributed to the function that made the completion queue. */
static void add_polls(struct run_reader *r)
{
	const struct profile *profile = r->run->profile;
	uint64_t found;

	for (uint32_t id = 1; id < profile->nobjects; id++) {
		const struct profile_cq *cq = profile->cqs[id];
		struct place_index at;

		if (!cq || !map_get(&r->cqs, id, &found))
			continue;
		at = (struct place_index){ (uint32_t)found, found >> 32 };
		add_cq(site_at(r, at), cq);
		add_cq(place_at(r, at), cq);
	}
}

static int read_run(struct run_reader *r, const struct profile_select *select)
{
	struct trace_loss loss = trace_loss(r->trace);
	int err = profile_trace(r->trace, select, &r->run->profile);

	if (err)
		return err;
	r->run->lossy = loss.events || loss.interrupted;
	add_places(r);
	if (!r->no_memory)
		err = read_calls(r, select ? select->process : 0);
	add_polls(r);
	return r->no_memory ? log_err(-ENOMEM, "compare %s", r->run->path) : err;
}

int diff_run_new(struct trace *trace, const char *path, const struct profile_select *select,
		 struct symbols *symbols, struct diff_run **ret_run)
{
	struct diff_run *run = calloc(1, sizeof(*run));
	struct run_reader r = { .run = run, .trace = trace, .symbols = symbols };
	int err = run ? 0 : log_err(-ENOMEM, "compare %s", path);

	if (err)
		return err;
	run->path = path;
	err = read_run(&r, select);
	map_fini(&r.cqs);
	if (err)
		diff_run_free(run);
	else
		*ret_run = run;
	return err;
}

int diff_run_add_fact(struct diff_run *run, const char *name, const char *value)
{
	struct diff_fact *fact = vec_push(run->facts, run->nfacts);

	if (fact) {
		fact->name = strdup(name);
		fact->value = strdup(value);
	}
	return fact && fact->name && fact->value ? 0 : log_err(-ENOMEM, "fact %s", name);
}

static int add_site_to(struct diff_site *to, const struct diff_site *from)
{
	int err = 0;

	profile_add_place(&to->sum, &from->sum);
	to->polls += from->polls;
	to->completions += from->completions;
	to->empty += from->empty;
	if (from->most > to->most)
		to->most = from->most;
	histogram_merge(&to->poll_gap, &from->poll_gap);
	for (size_t i = 0; i < from->nattributes; i++)
		for (size_t k = 0; k < from->attributes[i].n && !err; k++)
			err = add_attribute(to, from->attributes[i].name,
					    from->attributes[i].values[k]);
	return err;
}

static void fini_place(struct diff_site *place)
{
	for (size_t i = 0; i < place->nattributes; i++) {
		for (size_t k = 0; k < place->attributes[i].n; k++)
			free(place->attributes[i].values[k]);
		free(place->attributes[i].values);
	}
	free(place->attributes);
	histogram_fini(&place->sum.gap);
	histogram_fini(&place->poll_gap);
}

static void free_places(struct diff_site *site)
{
	for (size_t i = 0; i < site->nplaces; i++)
		fini_place(&site->places[i]);
	free(site->places);
	site->places = NULL;
	site->nplaces = 0;
}

static void free_site(struct diff_site *site)
{
	free_places(site);
	fini_place(site);
	free(site->function);
}

int diff_run_join(struct diff_run *run, enum verb verb)
{
	struct diff_site *to = NULL;
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < run->nsites; i++) {
		struct diff_site *site = &run->sites[i];

		if (to && site->verb == verb) {
			err = add_site_to(to, site) ? -ENOMEM : err;
			to->text[0] = '\0';
			free_places(to);
			free_site(site);
			continue;
		}
		run->sites[n] = *site;
		if (site->verb == verb) {
			to = &run->sites[n];
			to->function[0] = '\0';
		}
		n++;
	}
	run->nsites = n;
	return err;
}

void diff_run_free(struct diff_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->nsites; i++)
		free_site(&run->sites[i]);
	for (size_t i = 0; i < run->nfacts; i++) {
		free(run->facts[i].name);
		free(run->facts[i].value);
	}
	free(run->sites);
	free(run->facts);
	map_fini(&run->by_call);
	profile_free(run->profile);
	free(run);
}
