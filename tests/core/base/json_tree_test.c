/*
 * Reading JSON
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/json_tree.h"
#include "tests/test.h"

static const struct json_node *find_member(const struct json_node *node, const char *name)
{
	return json_find_member(node, name, strlen(name));
}

TEST(values_have_their_kinds)
{
	static const char json[] =
		" {\"i\":-9223372036854775808, \"r\":1.5e3,\"t\":\"a\\u00fc\\n\","
		"\"n\":null,\"b\":true,\"a\":[1,[2,3],{}],\"o\":{\"x\":7}}\n";
	const struct json_node *node;
	struct json_node *root;

	assert_int_equal(json_parse(json, strlen(json), &root), 0);
	assert_int_equal(root->kind, JSON_OBJECT);
	assert_int_equal(root->count, 7);
	assert_true(find_member(root, "i")->number == INT64_MIN);
	assert_int_equal(find_member(root, "r")->kind, JSON_REAL);
	assert_string_equal(find_member(root, "t")->text, "a\xc3\xbc\n");
	assert_int_equal(find_member(root, "n")->kind, JSON_NULL);
	assert_int_equal(find_member(root, "b")->number, 1);
	node = find_member(root, "a");
	assert_int_equal(node->count, 3);
	assert_int_equal(json_find_element(json_find_element(node, 1), 1)->number, 3);
	assert_int_equal(json_find_element(node, 2)->kind, JSON_OBJECT);
	assert_null(json_find_element(node, 3));
	assert_memory_equal(node->raw, "[1,[2,3],{}]", node->raw_length);
	assert_int_equal(find_member(find_member(root, "o"), "x")->number, 7);
	assert_null(find_member(root, "x"));
	assert_null(find_member(node, "x"));
	free(root);
}

TEST(texts_are_unescaped)
{
	static const char json[] =
		"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\ud83d\\ude00\",\"\\u0000b\",\"\"]";
	const struct json_node *node;
	struct json_node *root;

	assert_int_equal(json_parse(json, strlen(json), &root), 0);
	node = json_first(root);
	assert_string_equal(node->text, "\"\\/\b\f\n\r\t");
	node = json_next(node);
	assert_string_equal(node->text, "\xf0\x9f\x98\x80");
	node = json_next(node);
	assert_int_equal(node->length, 2);
	node = json_next(node);
	assert_string_equal(node->text, "");
	assert_null(json_next(node));
	free(root);
}

TEST(what_is_not_json_is_refused)
{
	static const char *const texts[] = {
		"",
		"{",
		"}",
		"[1",
		"[1,]",
		"{\"a\"}",
		"{\"a\":}",
		"{a:1}",
		"[01]",
		"[-]",
		"[1.]",
		"[1e]",
		"[+1]",
		"[\"a]",
		"[\"\\x\"]",
		"[\"\\u12\"]",
		"[\"\\ud83d\"]",
		"[\"\\ude00\"]",
		"[\"\n\"]",
		"[\"\xff\"]",
		"[nul]",
		"[9223372036854775808]",
		"[] []",
		"1",
		"\"a\"",
		"[1 2]",
		"{\"a\":1,}",
		"[,]",
	};
	struct json_node *root = (void *)-1;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(json_parse(texts[i], strlen(texts[i]), &root), -EBADMSG);
	assert_ptr_equal(root, (void *)-1);
}

TEST(depth_has_a_bound)
{
	enum { DEEP = 100000 };
	char *json = malloc(DEEP);
	struct json_node *root;

	memset(json, '[', DEEP);
	assert_int_equal(json_parse(json, DEEP, &root), -EBADMSG);
	free(json);
}

TEST(of_members_of_one_name_the_last_counts)
{
	static const char json[] = "{\"a\":1,\"a\":2}";
	struct json_node *root;

	assert_int_equal(json_parse(json, strlen(json), &root), 0);
	assert_int_equal(find_member(root, "a")->number, 2);
	free(root);
}
