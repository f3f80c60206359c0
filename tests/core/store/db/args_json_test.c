/*
 * Words of arguments that end anywhere, with memory behind them that cannot be read: no function
 * reads beyond, or takes more words than there are, and what is written is JSON nevertheless.
 */
#include "core/store/db/args_json.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/json_tree.h"
#include "core/wire/desc.h"
#include "tests/test.h"

enum { WORDS = 40, PATTERNS = 6 };

static uint64_t *end; /* of the memory that can be read */
static size_t page;

static int map_pages(void **state)
{
	char *at;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	end = (void *)(at + page);
	return at == MAP_FAILED || mprotect(end, page, PROT_NONE);
}

static int unmap_pages(void **state)
{
	(void)state;
	return munmap((char *)end - page, 2 * page);
}

GROUP(map_pages, unmap_pages);

/* All 0: no structure is there; all 1, or small: each is; some lengths are longer than the rest. */
static uint64_t word_of(int pattern, unsigned int *seed)
{
	switch (pattern) {
	case 0:
	case 1:
		return (uint64_t)pattern;
	case 2:
		return rand_r(seed) >> 8 & 1;
	case 3:
		return rand_r(seed) >> 8 & 3;
	case 4:
		return rand_r(seed) >> 8 & 15;
	default:
		return rand_r(seed) >> 8 & 1 ? 1 : UINT64_MAX;
	}
}

static ssize_t write_part(struct args_writer *json, int part, const struct verb_info *verb,
			  const uint64_t *words, size_t n)
{
	if (part == 0)
		return args_write_members(json, words, n, &verb->args);
	if (part == 1)
		return args_write_changed(json, &verb->args, words, n);
	return args_write_made(json, &verb->ret, words, n);
}

/* Returns the words that were taken; -1: they were not understood. */
static ssize_t take_words(int part, const struct verb_info *verb, size_t n)
{
	struct text text = { 0 };
	struct args_writer json = { .out = &text };
	struct json_node *nodes;
	ssize_t used;

	text_char(&text, '{');
	used = write_part(&json, part, verb, end - n, n);
	text_char(&text, '}');
	assert_true(used <= (ssize_t)n);
	if (used >= 0) {
		assert_int_equal(json_parse(text.at, text.used, &nodes), 0);
		free(nodes);
	}
	args_writer_fini(&json);
	text_fini(&text);
	return used < 0 ? -1 : used;
}

static bool has_part(const struct verb_info *verb, int part)
{
	return part < 2 || verb->ret.kind == FIELD_OBJ || verb->ret.kind == FIELD_OBJS;
}

/* Words that are enough are enough with more behind them, and too few with one less. */
static void cut_words(int part, const struct verb_info *verb, int pattern, unsigned int seed)
{
	uint64_t words[WORDS];
	ssize_t used, all;

	for (int i = 0; i < WORDS; i++)
		words[i] = word_of(pattern, &seed);
	memcpy(end - WORDS, words, sizeof(words));
	all = take_words(part, verb, WORDS);
	for (size_t n = 0; n < WORDS; n++) {
		memcpy(end - n, words, n * sizeof(*words));
		used = take_words(part, verb, n);
		if (all >= 0 && n >= (size_t)all)
			assert_int_equal(used, all);
	}
}

TEST(words_that_end_anywhere)
{
	for (int v = 0; v < VERB_COUNT; v++)
		for (int part = 0; part < 3; part++)
			for (int pattern = 0; pattern < PATTERNS; pattern++)
				if (has_part(&verb_infos[v], part))
					cut_words(part, &verb_infos[v], pattern, 1 + (unsigned)v);
}
