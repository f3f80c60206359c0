/*
 * The state of a reduction that was stopped, in FILE.reduce beside its output
 *
 *	{"format": "verbatim reduce 1", "trace": "t.db", "events": N, "objects": N, "keep": "...",
 *	 "event": "1:60", "i": 0, "field": "...", ..., "step": N, "run": N}
 *
 * The output itself is the smallest trace so far; the state has the name of the whole trace, what
 * exactly must be reproduced, and which items are next. It is removed when the minimum is reached.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/reduce/reduce_priv.h"
#include "core/base/json_tree.h"
#include "core/base/read_file.h"
#include "core/store/outfile.h"
#include "core/wire/log.h"

#define FORMAT_NAME "verbatim reduce 1"

/* "small.db.reduce"; false: the name is too long. */
static bool name_state(const struct reduction *r, char path[TRIAL_PATH])
{
	return snprintf(path, TRIAL_PATH, "%s.reduce", r->set->path) < TRIAL_PATH;
}

static void add_member(struct text *text, const char *name, const char *value)
{
	text_addf(text, "%s\n \"%s\": ", text->used > 1 ? "," : "", name);
	text_json(text, value, strlen(value));
}

static void add_number(struct text *text, const char *name, uint64_t value)
{
	text_addf(text, ",\n \"%s\": %" PRIu64, name, value);
}

static void add_state(const struct reduction *r, struct text *text)
{
	const struct goal *goal = &r->goal;
	char id[32];

	text_char(text, '{');
	add_member(text, "format", FORMAT_NAME);
	add_member(text, "trace", r->source);
	add_number(text, "events", r->first.events);
	add_number(text, "objects", r->first.objects);
	add_member(text, "keep", r->set->keep);
	add_member(text, "event", event_id_text(goal->id, id));
	add_number(text, "i", goal->kind == GOAL_STATUS ? reduce_goal_index(r) : goal->i);
	add_member(text, "field", goal->field);
	add_member(text, "replayed", goal->replayed);
	add_member(text, "request", goal->request);
	add_member(text, "object", goal->object);
	add_number(text, "process", goal->process);
	add_number(text, "made", goal->made);
	add_member(text, "rules", goal->rules.at ?: "");
	add_number(text, "replays", goal->replays);
	add_number(text, "first", goal->first);
	add_number(text, "in_vain", goal->in_vain);
	add_number(text, "step", r->step);
	add_number(text, "run", r->run);
	text_addf(text, "\n}\n");
}

int state_write(const struct reduction *r)
{
	char path[TRIAL_PATH];
	struct text text = { 0 };
	struct outfile out;
	int err;

	if (!name_state(r, path))
		return 0;
	add_state(r, &text);
	err = text.failed ? log_err(-ENOMEM, "reduce") : outfile_open(path, &out);
	if (!err) {
		fputs(text.at, out.file);
		err = outfile_close(&out, 0);
	}
	text_fini(&text);
	return err;
}

void state_remove(const struct reduction *r)
{
	char path[TRIAL_PATH];

	if (name_state(r, path))
		unlink(path);
}

static const struct json_node *find_member(const struct json_node *root, const char *name,
					   enum json_kind kind)
{
	const struct json_node *node = json_find_member(root, name, strlen(name));

	return node && node->kind == kind ? node : NULL;
}

static const char *text_of(const struct json_node *root, const char *name)
{
	const struct json_node *node = find_member(root, name, JSON_TEXT);

	return node ? node->text : "";
}

static uint64_t number_of(const struct json_node *root, const char *name)
{
	const struct json_node *node = find_member(root, name, JSON_INT);

	return node && node->number > 0 ? (uint64_t)node->number : 0;
}

static void restore_goal(struct reduction *r, const struct json_node *root)
{
	struct goal *goal = &r->goal;

	snprintf(goal->field, sizeof(goal->field), "%s", text_of(root, "field"));
	snprintf(goal->replayed, sizeof(goal->replayed), "%s", text_of(root, "replayed"));
	snprintf(goal->request, sizeof(goal->request), "%s", text_of(root, "request"));
	snprintf(goal->object, sizeof(goal->object), "%s", text_of(root, "object"));
	sscanf(text_of(root, "event"), "%u:%" SCNu64, &goal->id.thread, &goal->id.n);
	text_addf(&goal->rules, "%s", text_of(root, "rules"));
	goal->i = (uint32_t)number_of(root, "i");
	goal->process = (uint32_t)number_of(root, "process");
	goal->made = number_of(root, "made");
	goal->replays = number_of(root, "replays");
	goal->first = number_of(root, "first");
	goal->in_vain = number_of(root, "in_vain");
	r->step = number_of(root, "step");
	r->run = number_of(root, "run");
}

/* Is @root the state of the same reduction? */
static bool is_same(const struct reduction *r, const struct json_node *root)
{
	return root->kind == JSON_OBJECT && !strcmp(text_of(root, "format"), FORMAT_NAME) &&
	       !strcmp(text_of(root, "trace"), r->source) &&
	       !strcmp(text_of(root, "keep"), r->set->keep) &&
	       number_of(root, "events") == r->first.events &&
	       number_of(root, "objects") == r->first.objects;
}

bool state_read(struct reduction *r)
{
	char path[TRIAL_PATH], *json;
	struct json_node *root = NULL;
	bool same = false;
	size_t bytes;

	if (!name_state(r, path) || access(r->set->path, R_OK) || read_file(path, &json, &bytes))
		return false;
	if (!json_parse(json, bytes, &root))
		same = is_same(r, root);
	if (same)
		restore_goal(r, root);
	free(root);
	free(json);
	return same;
}
