/*
 * "covers ADDRESS", "covers key KEY", "registered": regions and windows
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/key.h"
#include "analyzer/model/pinned.h"
#include "analyzer/model/window.h"
#include "analyzer/model/words.h"
#include "cli/query/answer.h"

static const struct column columns[] = {
	{ "process", COLUMN_NUMBER }, { "region", COLUMN_TEXT },
	{ "from", COLUMN_TEXT },      { "bytes", COLUMN_COUNT },
	{ "lkey", COLUMN_TEXT },      { "rkey", COLUMN_TEXT },
	{ "access", COLUMN_TEXT },    { "made", COLUMN_TEXT },
	{ "gone", COLUMN_TEXT },      { 0 },
};

/* A window covers the range that it was bound to. */
static bool window_holds(const struct key *key, uint64_t addr, uint64_t length)
{
	uint64_t offset = addr - key->bind.addr;

	return key->bind.at.id.thread && !key->bind.ends && offset <= key->bind.length &&
	       length <= key->bind.length - offset;
}

/* When the key was made, or its window was bound. */
static const struct moment *key_began(const struct key *key)
{
	bool bound = key->kind == OBJECT_mw && key->bind.at.id.thread;

	return bound ? &key->bind.at : &key->created;
}

static bool is_wanted_key(const struct answer *answer, const struct key *key)
{
	const struct question *question = answer->question;

	if (!answer_ranges(answer, key_began(key)->time))
		return false;
	if (question->process && key->process != question->process)
		return false;
	if (question->kind == QUESTION_registered)
		return key->kind == OBJECT_mr;
	if (question->by_key)
		return (key->lkey && key->lkey == question->number) ||
		       (key->rkey && key->rkey == question->number);
	if (key->kind == OBJECT_mw)
		return window_holds(key, question->number, question->length);
	return key->any || key_holds(key, question->number, question->length);
}

static void add_hex(struct table *table, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	table_text(table, number ? text : NULL);
}

/* When a key ended, or its window was invalidated. */
static const char *name_end(const struct view *view, const struct key *key, char text[VIEW_TEXT])
{
	enum window_state state = key->kind == OBJECT_mw && key->state != KEY_DEAD
					  ? window_state(view->model, key)
					  : WINDOW_BOUND;
	char when[VIEW_TEXT];

	if (key->state == KEY_DEAD && key->invalid.at.id.thread && !key->invalid.failed)
		return view_moment(view, &key->invalid.at, text);
	if (key->state == KEY_DEAD)
		return view_moment(view, &key->destroyed, text) ?: "yes";
	if (state == WINDOW_UNBOUND)
		return view_moment(view, &key->bind.at, text);
	if (state == WINDOW_BOUND || !view_moment(view, &key->invalid.at, when))
		return NULL;
	snprintf(text, VIEW_TEXT, "%s%.*s", state == WINDOW_INVALIDATING ? "perhaps: " : "",
		 VIEW_TEXT - 10, when);
	return text;
}

static void add_key(struct table *table, const struct view *view, const struct key *key)
{
	bool window = key->kind == OBJECT_mw;
	char text[VIEW_TEXT];

	answer_process(table, key->process);
	table_text(table, words_describe_key(view->trace, key, text, sizeof(text)));
	add_hex(table, window ? key->bind.addr : key->addr);
	table_number(table, (int64_t)(window ? key->bind.length : key->length));
	add_hex(table, key->lkey);
	add_hex(table, key->rkey);
	table_text(table, name_access(window ? key->bind.access : key->access, text));
	table_text(table, view_moment(view, key_began(key), text));
	table_text(table, name_end(view, key, text));
}

/* Is the key known to cover memory? */
static bool is_bound(const struct view *view, const struct key *key)
{
	enum window_state state =
		key->kind == OBJECT_mw ? window_state(view->model, key) : WINDOW_BOUND;

	return state == WINDOW_BOUND || state == WINDOW_INVALIDATING;
}

/* Add the keys of a list that are @bound or not, newest first. Returns their number plus @n. */
static uint64_t add_keys(struct answer *answer, const struct view *view, struct table *table,
			 const struct key_list *keys, bool bound, uint64_t n)
{
	for (const struct key *key = keys->newest; key; key = key->older)
		if (is_wanted_key(answer, key) &&
		    (key->state == KEY_DEAD || is_bound(view, key) == bound) &&
		    answer_shows(answer, n++))
			add_key(table, view, key);
	return n;
}

static uint64_t list_keys(struct answer *answer, const struct view *view,
			  const struct key_list *keys, const char *name)
{
	struct table *table = table_new(name, columns);
	uint64_t n = add_keys(answer, view, table, keys, true, 0);

	answer_table(answer, table);
	answer_more(answer, n);
	return n;
}

/* Windows with the requested key that are not bound at that time. */
static uint64_t list_unbound(struct answer *answer, const struct view *view)
{
	const struct keys *keys = model_keys(view->model);
	struct table *table = table_new("invalidated or not bound", columns);
	uint64_t n = add_keys(answer, view, table, &keys->live, false, 0);

	n = add_keys(answer, view, table, &keys->replaced, false, n);
	answer_table(answer, table);
	answer_more(answer, n);
	return n;
}

void answer_covers(struct answer *answer, const struct view *view)
{
	const struct keys *keys = model_keys(view->model);
	uint64_t live = list_keys(answer, view, &keys->live, "registered");
	uint64_t before = list_unbound(answer, view);

	before += list_keys(answer, view, &keys->dead, "deregistered before");
	if (!live && !before)
		answer_note(answer, "nothing in the trace");
	else if (!live)
		answer_note(answer, "nothing at that time; earlier ones are listed above");
}

static void add_limit(struct table *table, const struct process *process)
{
	if (!process->page_size)
		table_text(table, "not known");
	else if (process->ipc_lock == 1)
		table_text(table, "none (CAP_IPC_LOCK)");
	else if (process->memlock == PROCESS_UNLIMITED)
		table_text(table, "unlimited");
	else {
		char text[32];

		table_text(table, words_format_bytes(process->memlock, text));
	}
}

static void list_processes(struct answer *answer, const struct view *view)
{
	static const struct column sums[] = { { "process", COLUMN_NUMBER },
					      { "regions", COLUMN_COUNT },
					      { "pinned", COLUMN_BYTES },
					      { "RLIMIT_MEMLOCK", COLUMN_TEXT },
					      { 0 } };
	struct table *table = table_new("pinned", sums);
	const struct process *process;

	for (uint32_t id = 1; (process = trace_process(view->trace, id)); id++) {
		const struct pinned *pinned = model_pinned(view->model, id);

		if (answer->question->process && id != answer->question->process)
			continue;
		if (!pinned->regions)
			continue;
		answer_process(table, id);
		table_number(table, pinned->regions);
		table_number(table, (int64_t)pinned->bytes);
		add_limit(table, process);
	}
	answer_table(answer, table);
}

void answer_registered(struct answer *answer, const struct view *view)
{
	list_processes(answer, view);
	if (!list_keys(answer, view, &model_keys(view->model)->live, "registered"))
		answer_note(answer, "%s",
			    answer->from ? "no memory was registered from then on"
					 : "the trace has no registered memory");
}
