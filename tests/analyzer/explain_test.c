/* analyzer/explain/explain.c: everything that has a name in the header is explained. */
#include <errno.h>
#include <string.h>

#include "analyzer/explain/explain.h"
#include "tests/test.h"

static void assert_whole(const struct explanation *e)
{
	assert_non_null(e);
	assert_true(strlen(e->means) > 15);
	assert_true(strlen(e->causes) > 5);
	assert_non_null(e->look);
	assert_true(strlen(e->source) > 5);
}

TEST(every_status_is_explained)
{
	const struct enum_info *info = enum_find("ibv_wc_status");

	assert_true(info->nvalues >= 24);
	for (unsigned int i = 0; i < info->nvalues; i++) {
		const struct explanation *e = explain_status((int)info->values[i].value);

		assert_whole(e);
		assert_true(strlen(e->side) > 5);
		assert_int_equal(explain_find_status(info->values[i].name), info->values[i].value);
	}
}

TEST(every_event_is_explained)
{
	const struct enum_info *info = enum_find("ibv_event_type");

	assert_true(info->nvalues >= 20);
	for (unsigned int i = 0; i < info->nvalues; i++) {
		const struct explanation *e = explain_event((int)info->values[i].value);

		assert_whole(e);
		assert_true(strlen(e->side) > 5);
		assert_int_equal(explain_find_event(info->values[i].name), info->values[i].value);
	}
}

static const char *cause_of(const char *line, unsigned int excluded, char text[64])
{
	size_t length;
	const char *cause = explain_cause(line, excluded, &length);

	if (!cause)
		return NULL;
	assert_true(length < 64);
	memcpy(text, cause, length);
	text[length] = '\0';
	return text;
}

TEST(a_cause_may_be_limited_to_some_requests)
{
	const unsigned int read = EXPLAIN_READ, write = EXPLAIN_WRITE;
	char text[64];

	assert_string_equal(cause_of("any\nnext", ~0u, text), "any");
	assert_string_equal(cause_of("{read} of reads\nnext", 0, text), "of reads");
	assert_string_equal(cause_of("{read} of reads\nnext", write, text), "of reads");
	assert_null(cause_of("{read} of reads\nnext", read, text));
	assert_string_equal(cause_of("{read write} of both", read, text), "of both");
	assert_null(cause_of("{read write} of both", read | write, text));
	assert_null(cause_of("{first} at first", EXPLAIN_FIRST, text));
	assert_null(cause_of("{receive send atomic ud} x",
			     EXPLAIN_RECEIVE | EXPLAIN_SEND | EXPLAIN_ATOMIC | EXPLAIN_UD, text));
}

/* An unknown word would limit a cause to nothing. */
TEST(limits_of_causes_have_words_that_are_known)
{
	const struct enum_info *info = enum_find("ibv_wc_status");
	char text[512];
	size_t n;

	for (unsigned int i = 0; i < info->nvalues; i++) {
		const char *line = explain_status((int)info->values[i].value)->causes;

		for (; *line; line += n + !!line[n]) {
			n = strcspn(line, "\n");
			if (*line != '{')
				continue;
			memcpy(text, line, n);
			text[n] = '\0';
			assert_null(explain_cause(text, ~0u, &(size_t){ 0 }));
		}
	}
}

static const struct {
	const char *verbs, *errnos, *means, *causes, *look, *source;
} rows[] = {
#define ERRNO(verbs, errnos, ...) { verbs, #errnos, __VA_ARGS__ },
#include "analyzer/explain/errnos.def"
#undef ERRNO
};

static bool next_word(const char **list, char word[64])
{
	size_t n = strcspn(*list, " ");

	assert_true(n < 64);
	memcpy(word, *list, n);
	word[n] = '\0';
	*list += n + !!(*list)[n];
	return n;
}

static bool is_class(const char *word)
{
	return !strcmp(word, "any") || !strcmp(word, "create") || !strcmp(word, "destroy");
}

/* A name that is misspelt, or occurs in two rows, would never be found. */
TEST(every_verb_and_errno_of_a_row_finds_that_row)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *verbs = rows[i].verbs;
		char verb[64], error[64];

		while (next_word(&verbs, verb)) {
			const char *errnos = rows[i].errnos;

			if (!is_class(verb))
				assert_true(verb_find(verb) >= 0);
			while (next_word(&errnos, error)) {
				int number = explain_find_errno(error);
				const struct explanation *e;

				assert_true(number > 0 && number < EXPLAIN_ERRNOS);
				if (is_class(verb))
					continue;
				e = explain_errno((enum verb)verb_find(verb), number);
				assert_whole(e);
				assert_string_equal(e->causes, rows[i].causes);
				assert_true(explain_has_own((enum verb)verb_find(verb), number));
			}
		}
	}
}

TEST(a_verb_without_a_row_has_that_of_its_class)
{
	const struct explanation *e = explain_errno(VERB_destroy_flow_action, EBUSY);

	assert_whole(e);
	assert_false(explain_has_own(VERB_destroy_flow_action, EBUSY));
	assert_null(explain_errno(VERB_query_port, EBUSY));
	assert_whole(explain_errno(VERB_query_port, EIO));
	assert_null(explain_errno(VERB_wr_send, EINVAL)); /* returns nothing */
	assert_null(explain_errno(VERB_close_device, EBUSY));
}

TEST(names_are_found_in_each_form)
{
	assert_int_equal(explain_find_status("RNR_RETRY_EXC_ERR"), 13);
	assert_int_equal(explain_find_status("ibv_wc_rnr_retry_exc_err"), 13);
	assert_int_equal(explain_find_status("13"), 13);
	assert_int_equal(explain_find_status("24"), -1);
	assert_int_equal(explain_find_status(""), -1);
	assert_int_equal(explain_find_event("qp_fatal"), 1);
	assert_int_equal(explain_find_errno("ENOTSUP"), EOPNOTSUPP);
	assert_int_equal(explain_find_errno("einval"), EINVAL);
	assert_int_equal(explain_find_errno("22"), EINVAL);
	assert_int_equal(explain_find_errno("0"), -1);
	assert_int_equal(explain_find_errno("EFLY"), -1);
}
