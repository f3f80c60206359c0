/* analyzer/model/device_list.c and LIFE-009 over stored traces. */
#include "tests/analyzer/story.h"
#include "tests/test.h"

/* The device in a list returned by ibv_get_device_list(). */
static struct ibv_device a_device = { .name = "mlx5_0", .dev_name = "uverbs0" };
static struct ibv_device *a_list[] = { &a_device, NULL }, *another_list[] = { &a_device, NULL };

static void get_list(struct story *s, struct ibv_device **list)
{
	static int one = 1;

	story_do(s, 0, VERB_get_device_list, 50, W(list), W(&one));
}

static void free_list(struct story *s, struct ibv_device **list)
{
	story_do(s, 0, VERB_free_device_list, 51, 0, W(list));
}

static void open_device(struct story *s)
{
	a_context.device = &a_device;
	story_do(s, 0, VERB_open_device, 52, W(&a_context), W(&a_device));
	a_context.device = NULL;
}

static void use_device(struct story *s)
{
	story_do(s, 0, VERB_get_device_index, 53, 0, W(&a_device));
}

/* A process that sends, and retrieves @n lists after that. */
static uint64_t count_hazards(int n, bool sends, bool frees)
{
	struct story s;
	uint64_t hazards;

	story_with_cq(&s);
	create_qp(&s);
	if (sends)
		story_post(&s, 0, VERB_post_send, &a_qp, 1, IBV_WR_SEND,
			   (struct event_sge){ 0x1000, 8, 0x10 });
	for (int i = 0; i < n; i++) {
		get_list(&s, a_list);
		if (frees)
			free_list(&s, a_list);
	}
	destroy_qp(&s, 0);
	destroy_cq(&s, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	hazards = s.findings->hazards[RULE_LIFE_004];
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_LIFE_004)
			assert_string_equal(s.findings->all[i]->says,
					    "process 1 called ibv_get_device_list() 4 times after "
					    "its first send, and freed none of these lists.");
	story_end(&s);
	return hazards;
}

TEST(lists_are_retrieved_again_and_again)
{
	assert_int_equal(count_hazards(4, true, false), 1);
	assert_int_equal(count_hazards(3, true, false), 0);
	assert_int_equal(count_hazards(4, true, true), 0);
	assert_int_equal(count_hazards(8, false, false), 0); /* of its start */
}

TEST(a_device_of_a_freed_list_is_used)
{
	const struct finding *f;
	struct story s;

	story_begin(&s);
	get_list(&s, a_list);
	free_list(&s, a_list); /* 1:4 */
	use_device(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_009);
	assert_string_equal(f->object, "mlx5_0");
	assert_non_null(strstr(f->says, "after ibv_free_device_list() at 1:4"));
	story_end(&s);
}

TEST(each_device_of_a_freed_list_is_known)
{
	static struct ibv_device other = { .name = "mlx5_1", .dev_name = "uverbs1" };
	struct ibv_device *both[] = { &other, &a_device, NULL };
	const struct finding *f;
	struct story s;
	int two = 2;

	story_begin(&s);
	story_do(&s, 0, VERB_get_device_list, 50, W(both), W(&two));
	free_list(&s, both);
	use_device(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_009);
	assert_string_equal(f->object, "mlx5_0");
	story_end(&s);
}

TEST(only_the_last_64_freed_lists_are_known)
{
	static struct ibv_device devices[65];
	const struct finding *f;
	struct story s;

	story_begin(&s);
	for (int i = 0; i < 65; i++) {
		struct ibv_device *list[] = { &devices[i], NULL };

		snprintf(devices[i].name, sizeof(devices[i].name), "mlx5_%d", i);
		get_list(&s, list);
		free_list(&s, list);
	}
	story_do(&s, 0, VERB_get_device_index, 53, 0, W(&devices[0]));
	story_do(&s, 0, VERB_get_device_index, 54, 0, W(&devices[1]));
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_009);
	assert_string_equal(f->object, "mlx5_1");
	story_end(&s);
}

TEST(a_device_may_be_used_while_a_list_has_it)
{
	struct story s;

	story_begin(&s);
	use_device(&s); /* of a list older than the trace */
	get_list(&s, a_list);
	get_list(&s, another_list);
	free_list(&s, a_list);
	use_device(&s);
	free_list(&s, another_list);
	get_list(&s, a_list);
	use_device(&s);
	story_finds_nothing(&s);
}

TEST(a_device_may_be_used_while_it_is_open)
{
	struct story s;

	story_begin(&s);
	get_list(&s, a_list);
	open_device(&s);
	free_list(&s, a_list);
	use_device(&s);
	close_context(&s);
	use_device(&s);
	story_check(&s, NULL);
	story_only(&s, RULE_LIFE_009);
	story_end(&s);
}
