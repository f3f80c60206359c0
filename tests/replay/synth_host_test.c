/* replay/synth/synth_host.c: which addresses are one host, and the host of a moment. */
#include <stdlib.h>

#include "replay/synth/synth_pass.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, OTHER_QP, DEVICE, OTHER_DEVICE, NOBJECTS };

static struct replay replay;
static struct synthesized far;
static struct pass pass;
static struct synth_plan plan, other_plan;
static struct synth_plan *plans[NOBJECTS] = { [QP] = &plan, [OTHER_QP] = &other_plan };
static struct device devices[2];

const struct device *devices_find_role(struct devices *of, const char *name)
{
	(void)of;
	return &devices[!strcmp(name, "other")];
}

static int begin_hosts(void **state)
{
	(void)state;
	nobjects = 0;
	add_object(OBJECT_qp, 1, 0)->parent = DEVICE;
	add_object(OBJECT_qp, 1, 0)->parent = OTHER_DEVICE;
	add_object(OBJECT_device, 1, 0);
	add_object(OBJECT_device, 1, 0)->name = "other";
	plan = (struct synth_plan){ .object = QP, .type = IBV_QPT_RC };
	other_plan = (struct synth_plan){ .object = OTHER_QP, .type = IBV_QPT_UD };
	far = (struct synthesized){ .plans = plans };
	replay = (struct replay){ .nreplicas = NOBJECTS };
	pass = (struct pass){ .r = &replay, .far = &far };
	return 0;
}

static int end_hosts(void **state)
{
	(void)state;
	free(far.hosts);
	return 0;
}

FIXTURE(begin_hosts, end_hosts);

static struct ibv_ah_attr at_lid(uint16_t lid)
{
	return (struct ibv_ah_attr){ .dlid = lid };
}

static struct ibv_ah_attr at_gid(uint8_t last, uint16_t lid)
{
	return (struct ibv_ah_attr){ .is_global = 1,
				     .dlid = lid,
				     .grh.dgid.raw = { 0xfe, [15] = last } };
}

static uint32_t find_host(const struct synth_plan *of, struct ibv_ah_attr av)
{
	return synth_host_find(&pass, of, &av);
}

TEST(an_address_is_a_host_of_a_device)
{
	(void)state;
	assert_int_equal(find_host(&plan, at_lid(5)), 1);
	assert_int_equal(find_host(&plan, at_lid(6)), 2);
	assert_int_equal(find_host(&plan, at_lid(5)), 1);
	assert_int_equal(find_host(&other_plan, at_lid(5)), 3);
	assert_int_equal(far.nhosts, 3);
	assert_ptr_equal(far.hosts[0].device, &devices[0]);
	assert_ptr_equal(far.hosts[2].device, &devices[1]);
	assert_int_equal(far.hosts[0].lid, 5);
	assert_int_equal(far.hosts[0].longest, 4096);
	assert_false(far.hosts[0].global);
}

TEST(a_gid_decides_if_both_have_one_else_the_lid)
{
	(void)state;
	assert_int_equal(find_host(&plan, at_gid(1, 5)), 1);
	assert_int_equal(find_host(&plan, at_gid(2, 5)), 2);
	assert_int_equal(find_host(&plan, at_gid(1, 9)), 1);
	assert_int_equal(find_host(&plan, at_lid(9)), 1);
	assert_true(far.hosts[0].global);
	assert_int_equal(far.hosts[0].gid.raw[15], 1);
	assert_int_equal(find_host(&plan, at_lid(8)), 3);
	assert_int_equal(find_host(&plan, at_gid(7, 8)), 3); /* now it has a GID */
	assert_int_equal(find_host(&plan, at_gid(6, 8)), 4);
}

TEST(an_address_without_a_lid_is_no_global_one)
{
	(void)state;
	assert_int_equal(find_host(&plan, at_gid(1, 0)), 1);
	assert_int_equal(find_host(&plan, at_lid(0)), 2);
	assert_int_equal(find_host(&plan, at_lid(0)), 2);
}

TEST(the_longest_message_of_a_host_stays)
{
	(void)state;
	find_host(&plan, at_lid(5));
	far.hosts[0].longest = 8192;
	find_host(&plan, at_lid(5));
	assert_int_equal(far.hosts[0].longest, 8192);
}

TEST(a_sender_without_an_address_is_the_host_that_is_known)
{
	const struct ibv_ah_attr lid = at_lid(6), gid = at_gid(4, 0), nowhere = { 0 };

	(void)state;
	assert_int_equal(synth_host_at(&pass, &plan, NULL), 1);
	assert_int_equal(synth_host_at(&pass, &plan, &lid), 2);
	assert_int_equal(synth_host_at(&pass, &plan, &gid), 3);
	assert_int_equal(synth_host_at(&pass, &plan, &nowhere), 1);
	assert_int_equal(synth_host_at(&pass, &other_plan, &lid), 4);
	assert_int_equal(synth_host_at(&pass, &other_plan, NULL), 4); /* the last one */
}

TEST(a_circle_of_parents_has_no_device)
{
	(void)state;
	objects[QP].parent = OTHER_QP;
	objects[OTHER_QP].parent = QP;
	assert_int_equal(find_host(&plan, at_lid(5)), 1);
	assert_ptr_equal(far.hosts[0].device, &devices[0]);
}

TEST(a_plan_has_the_host_of_its_last_link)
{
	struct synth_link links[3] = { { .host = 2 }, { .host = 0 }, { .host = 1 } };

	(void)state;
	find_host(&plan, at_lid(5));
	find_host(&plan, at_lid(6));
	plan.links = links;
	plan.nlinks = 3;
	assert_null(synth_host_now(&pass, &plan));
	assert_null(synth_plan_now(&pass, QP));
	plan.at = 1;
	assert_ptr_equal(synth_host_now(&pass, &plan), &far.hosts[1]);
	assert_ptr_equal(synth_plan_now(&pass, QP), &plan);
	plan.at = 2; /* the link was in the trace */
	assert_null(synth_host_now(&pass, &plan));
	assert_null(synth_plan_now(&pass, QP));
	plan.at = 3;
	assert_ptr_equal(synth_host_now(&pass, &plan), &far.hosts[0]);
	assert_ptr_equal(synth_plan_now(&pass, OTHER_QP), &other_plan);
	assert_null(synth_plan_now(&pass, DEVICE));
	assert_null(synth_plan_now(&pass, NOBJECTS));
}
