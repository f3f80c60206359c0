/*
 * Functions that answers share: facts, lists, names
 */
#include "cli/query/answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/report/highlight.h"
#include "cli/format.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/store/read/joint.h"

struct table *properties_new(const char *name)
{
	static const struct column columns[] = { { "property", COLUMN_TEXT },
						 { "value", COLUMN_TEXT },
						 { 0 } };

	return table_new(name, columns);
}

void properties_add(struct table *facts, const char *property, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table_text(facts, property);
	table_text(facts, text);
}

/* Print the place and the time of the answer. */
static void print_head(struct answer *answer, const struct view *view, const struct object *object)
{
	char name[VIEW_TEXT], when[VIEW_TEXT];

	if (object) {
		style_put(stdout, STYLE_HEAD);
		print_untrusted(stdout, name_object(answer->trace, object, name));
		style_put(stdout, STYLE_PLAIN);
		printf("%s", view ? ", " : "\n");
	}
	if (view) {
		highlight_text(stdout, view_when(view, when));
		putchar('\n');
	}
}

static void print_head_json(struct answer *answer, const struct view *view,
			    const struct object *object)
{
	char when[VIEW_TEXT];

	if (!answer->begun) {
		printf("{ \"question\": ");
		json_text(answer->text);
		printf(", \"answers\": [");
	}
	printf("%s\n  {\n    \"object\": ", answer->begun ? "," : "");
	json_text(object ? object->name : NULL);
	if (object && trace_nparts(answer->trace) > 1) {
		printf(",\n    \"trace\": ");
		json_text(trace_part_name(answer->trace,
					  trace_part_of(answer->trace, object->process)));
	}
	printf(",\n    \"process\": %u,\n    \"when\": ",
	       object ? trace_part_process(answer->trace, object->process) : 0);
	json_text(view ? view_when(view, when) : NULL);
}

void answer_begin(struct answer *answer, const struct view *view, const struct object *object)
{
	if (answer->json)
		print_head_json(answer, view, object);
	else if (answer->begun)
		putchar('\n');
	if (!answer->json)
		print_head(answer, view, object);
	answer->begun++;
}

void answer_end(struct answer *answer)
{
	if (answer->json)
		printf(",\n    \"notes\": [%s]\n  }", answer->notes.used ? answer->notes.at : "");
	text_cut(&answer->notes, 0);
}

void answer_close(struct answer *answer)
{
	if (answer->json && answer->begun)
		printf("\n] }\n");
	text_fini(&answer->notes);
}

void answer_table(struct answer *answer, struct table *table)
{
	if (answer->json) {
		printf(",\n");
		table_print_json(table);
	} else {
		table_print(table);
	}
	table_free(table);
}

void answer_note(struct answer *answer, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (answer->json) {
		if (answer->notes.used)
			text_add(&answer->notes, ", ", 2);
		text_json(&answer->notes, text, strlen(text));
	} else {
		highlight_text(stdout, text);
		putchar('\n');
	}
}

void answer_more(struct answer *answer, uint64_t n)
{
	char text[FORMAT_TEXT];

	if (answer->most && n > answer->most)
		answer_note(answer, "%s more; --most 0 lists all",
			    format_count(n - answer->most, text));
}

void answer_process(struct table *table, uint32_t process)
{
	char text[PROCESS_TEXT];

	if (ids_find_range(0, process))
		table_text(table, process_id_text(process, text));
	else
		table_number(table, process);
}

const char *name_object(struct trace *trace, const struct object *object, char text[VIEW_TEXT])
{
	char process[96];

	snprintf(text, VIEW_TEXT, "%s of %s", object->name,
		 words_name_process(trace, object->process, process, sizeof(process)));
	return text;
}

const char *name_access(uint32_t access, char text[VIEW_TEXT])
{
	const size_t prefix = strlen("IBV_ACCESS_");
	size_t used = 0;

	snprintf(text, VIEW_TEXT, "0");
	for (uint32_t left = access; left; left &= left - 1) {
		uint32_t bit = left & -left;
		const char *name = enum_name(enum_find("ibv_access_flags"), bit);
		size_t room = VIEW_TEXT - used;
		int n = name ? snprintf(text + used, room, "%s%s", used ? "|" : "", name + prefix)
			     : snprintf(text + used, room, "%s0x%x", used ? "|" : "", bit);

		used += (size_t)n < room ? (size_t)n : 0;
	}
	return text;
}

/* "mr1+0x40", "mr1+0x40, deregistered" */
static void name_key(const struct view *view, const struct key *key, uint64_t addr, char *text,
		     size_t size)
{
	const struct object *region = trace_object(view->trace, key->object);

	snprintf(text, size, "%s+0x%" PRIx64 "%s", region ? region->name : "a region",
		 addr - key->addr, key->state == KEY_DEAD ? ", deregistered" : "");
}

const char *name_memory(const struct view *view, const struct life *queue, const struct sge *sge,
			char text[VIEW_TEXT])
{
	const struct key *key =
		keys_find_lkey(model_keys(view->model), queue->process, queue->context, sge->lkey);

	if (key && key->object)
		name_key(view, key, sge->addr, text, VIEW_TEXT);
	else
		snprintf(text, VIEW_TEXT, "0x%" PRIx64 ", lkey 0x%x", sge->addr, sge->lkey);
	return text;
}

/* The key that the other end of @queue gave it. */
static const struct key *find_remote(const struct view *view, const struct life *queue,
				     uint32_t rkey, const struct peer **ret_other)
{
	const struct peer *other =
		queue->peer ? peer_find_other(model_peers(view->model), queue->peer) : NULL;

	*ret_other = other;
	return other ? keys_find_rkey(model_keys(view->model), other->process, other->context, rkey)
		     : NULL;
}

const char *name_remote(const struct view *view, const struct life *queue,
			const struct queue_request *request, char text[VIEW_TEXT])
{
	const struct peer *other;
	const struct key *key;
	char name[96], process[PROCESS_TEXT];

	snprintf(text, VIEW_TEXT, "-");
	if (request->opcode == QUEUE_RECEIVE || (!request->rkey && !request->remote_addr))
		return text;
	key = find_remote(view, queue, request->rkey, &other);
	if (key) {
		name_key(view, key, request->remote_addr, name, sizeof(name));
		snprintf(text, VIEW_TEXT, "%s %s", process_id_text(other->process, process), name);
	} else {
		snprintf(text, VIEW_TEXT, "0x%" PRIx64 ", rkey 0x%x", request->remote_addr,
			 request->rkey);
	}
	return text;
}
