/*
 * Texts of one shape have the trees that json_parse() makes of them
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_shape.h"
#include "tests/test.h"

/* As long as the part that decides where a shape is looked for. */
#define BEGIN "{\"some name of 32 characters....\":"

static void assert_same_node(const struct json_node *a, const struct json_node *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->next, b->next);
	assert_int_equal(a->name_length, b->name_length);
	if (a->name || b->name)
		assert_string_equal(a->name, b->name);
	assert_ptr_equal(a->raw, b->raw);
	assert_int_equal(a->raw_length, b->raw_length);
	if (a->kind == JSON_INT || a->kind == JSON_BOOL)
		assert_int_equal(a->number, b->number);
	if (a->kind != JSON_TEXT)
		return;
	assert_int_equal(a->length, b->length);
	assert_memory_equal(a->text, b->text, a->length + 1);
}

static void assert_same_tree(const struct json_node *a, const struct json_node *b)
{
	const struct json_node *of_a = json_first(a), *of_b = json_first(b);

	assert_same_node(a, b);
	for (; of_a; of_a = json_next(of_a), of_b = json_next(of_b))
		assert_same_tree(of_a, of_b);
}

/*
 * The shape of @json. Checks that the tree is right, with and without the previous shape as a
 * guess.
 */
static const struct json_shape *parse_both(const char *json)
{
	static const struct json_shape *guess;
	const struct json_shape *shape = NULL, *same;
	void *room = guess ? malloc(json_shape_bytes(guess, strlen(json))) : NULL;
	struct json_node *root, *plain, *there;

	assert_int_equal(json_parse(json, strlen(json), &plain), 0);
	assert_int_equal(json_shape_parse(json, strlen(json), NULL, NULL, &shape, &root), 0);
	assert_same_tree(root, plain);
	assert_int_equal(json_shape_parse(json, strlen(json), guess, room, &same, &there), 0);
	assert_same_tree(there, plain);
	assert_ptr_equal(same, shape);
	assert_int_equal((void *)there == room, guess && guess == shape);
	if ((void *)there != room)
		free(there);
	free(room);
	free(plain);
	free(root);
	guess = shape;
	return shape;
}

TEST(texts_that_differ_in_values_have_one_shape)
{
	static const char *const texts[] = {
		BEGIN "{\"n\":1,\"list\":[{\"x\":-7},{}],\"t\":\"one\"},\"end\":[]}",
		BEGIN "{\"n\":9223372036854775807,\"list\":[{\"x\":0},{}],\"t\":null},\"end\":[]}",
		BEGIN
		"{\"n\":1.5e3,\"list\":[{\"x\":true},{}],\"t\":\"t\\u00fc \\\"\"},\"end\":[]}",
		BEGIN "{\"n\":false,\"list\":[{\"x\":\"\"},{}],\"t\":12},\"end\":[]}",
	};
	const struct json_shape *shape = parse_both(texts[0]);

	assert_non_null(shape);
	for (size_t i = 1; i < sizeof(texts) / sizeof(*texts); i++)
		assert_ptr_equal(parse_both(texts[i]), shape);
}

TEST(texts_that_differ_otherwise_have_other_shapes)
{
	static const char *const texts[] = {
		"{\"b\":1,\"c\":[2,3]}",  "{\"b\":1,\"c\":[2]}", "{\"b\":1,\"c\":[2,3],\"d\":4}",
		"{\"b\":1, \"c\":[2,3]}", "{\"b\":1,\"e\":4}",   "{\"b\":[1],\"c\":[2,3]}",
		"{\"b\":{},\"c\":[2,3]}", "[1,[2,3]]",
	};
	const struct json_shape *shapes[8];

	for (size_t i = 0; i < 8; i++) {
		shapes[i] = parse_both(texts[i]);
		for (size_t k = 0; shapes[i] && k < i; k++)
			assert_ptr_not_equal(shapes[i], shapes[k]);
	}
	for (size_t i = 0; i < 8; i++)
		assert_ptr_equal(parse_both(texts[i]), shapes[i]);
}

TEST(invalid_texts_are_refused_though_they_begin_alike)
{
	static const char *const texts[] = {
		"{\"f\":1,\"g\":\"x\"",
		"{\"f\":1,\"g\":}",
		"{\"f\":,\"g\":\"x\"}",
		"{\"f\":01,\"g\":\"x\"}",
		"{\"f\":1,\"g\":\"x}",
		"{\"f\":1,\"g\":\"x\"}}",
		"{\"f\":1",
		"{\"f\":-,\"g\":1}",
		"{\"f\":nul,\"g\":1}",
	};
	const struct json_shape *shape;
	struct json_node *root;

	parse_both("{\"f\":1,\"g\":\"x\"}");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(
			json_shape_parse(texts[i], strlen(texts[i]), NULL, NULL, &shape, &root),
			-EBADMSG);
}

/* No more than a few that begin alike are learnt. */
TEST(any_number_of_shapes_is_parsed)
{
	char json[64];

	for (int i = 0; i < 500; i++) {
		snprintf(json, sizeof(json), BEGIN "{\"%c%c\":%d}}", 'a' + i % 17, 'a' + i / 17, i);
		parse_both(json);
	}
}

TEST(places_are_kept)
{
	const struct json_shape *shape = parse_both("{\"h\":[1,2,3]}");

	assert_int_equal(json_shape_place(shape, JSON_PLACES - 1), 0);
	json_shape_set_place(shape, JSON_PLACES - 1, 4);
	assert_int_equal(json_shape_place(parse_both("{\"h\":[4,5,6]}"), JSON_PLACES - 1), 4);
}

/* Numbers of each length, at each distance from the end of the text. */
TEST(numbers_of_any_length)
{
	static const char digits[] = "12345678901234567890123";
	char text[128];

	for (int n = 1; n <= 19; n++)
		for (int behind = 0; behind < 20; behind++) {
			snprintf(text, sizeof(text), "{\"of %d\":%.*s,\"\":\"%.*s\"}", behind, n,
				 digits, behind, digits);
			parse_both(text);
			parse_both(text);
			snprintf(text, sizeof(text), "{\"of %d\":%.*s,\"\":\"%.*s\"}", behind, n,
				 "9999999999999999999", behind, digits);
			if (n < 19)
				parse_both(text);
			snprintf(text, sizeof(text), "{\"end %d\":[%.*s,0,%.*s]}", behind % 3, n,
				 digits, 1 + behind % 18, digits + 1);
			parse_both(text);
		}
}

/* What is not a digit ends the number, whatever the byte is. */
TEST(bytes_beside_digits_are_none)
{
	static const char *const wrong[] = { "/", ":", "\x01", "\x7f", "\xb0", "\xb5", "\xff" };
	const struct json_shape *shape;
	struct json_node *root;
	char text[64];

	parse_both("{\"byte\":1234567890123,\"n\":1}");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		for (int at = 0; at < 16; at++) {
			snprintf(text, sizeof(text), "{\"byte\":%.*s%s%.*s,\"n\":1}", at,
				 "1234567890123456", wrong[i], 16 - at, "1234567890123456");
			assert_int_equal(
				json_shape_parse(text, strlen(text), NULL, NULL, &shape, &root),
				-EBADMSG);
		}
}

/* A tree that is copied has its names when the first one was freed. */
TEST(names_are_those_of_the_shape)
{
	static const char text[] = "{\"outlives\":1,\"its_memory\":2}";
	const struct json_shape *shape[2];
	struct json_node *root[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			json_shape_parse(text, sizeof(text) - 1, NULL, NULL, &shape[i], &root[i]),
			0);
	assert_ptr_equal(shape[0], shape[1]);
	for (int k = 1; k < 3; k++)
		assert_ptr_equal(root[0][k].name, root[1][k].name);
	free(root[0]);
	free(root[1]);
}
