/*
 * A verb's arguments from a program, as JSON: for any arguments, the text is valid JSON
 */
#include <stdlib.h>
#include <string.h>

#include "core/store/db/args_json.h"
#include "core/store/read/trace.h"
#include "tests/fuzz/fuzz.h"

static void visit_all(const struct json_node *value)
{
	for (const struct json_node *at = json_first(value); at; at = json_next(at))
		visit_all(at);
}

/* @text is the inside of an object. */
static void must_be_json(struct text *text)
{
	struct args *args;
	int64_t number;

	text_char(text, '}');
	if (text->failed)
		return;
	args = args_new(text->at, text->used);
	if (!args_root(args))
		abort();
	args_get(args, ARG(attr.qp_state), &number);
	args_get_at(args, ARG(ret.handle), 0, &number);
	visit_all(args_root(args));
	args_unref(args);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const struct verb_info *verb = &verb_infos[n > 1 ? bytes[0] % VERB_COUNT : 0];
	struct text text = { 0 };
	struct args_writer json = { .out = &text };
	size_t nwords = n > 2 ? (n - 2) / 8 : 0;
	uint64_t *words = malloc(nwords * 8 + 8);

	memcpy(words, bytes + 2, nwords * 8);
	text_char(&text, '{');
	switch (n > 1 ? bytes[1] % 3 : 0) {
	case 0:
		args_write_members(&json, words, nwords, &verb->args);
		break;
	case 1:
		args_write_made(&json, &verb->ret, words, nwords);
		break;
	default:
		args_write_changed(&json, &verb->args, words, nwords);
	}
	must_be_json(&text);
	args_writer_fini(&json);
	text_fini(&text);
	free(words);
	return 0;
}
