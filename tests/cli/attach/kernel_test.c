#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "cli/attach/kernel.h"
#include "tests/test.h"

/* A message that is written from its beginning to its end. */
static union {
	char bytes[1024];
	struct nlmsghdr header;
} message;
static uint32_t used;

static uint32_t begin_attribute(uint16_t type)
{
	struct nlattr *attr = (void *)(message.bytes + used);

	attr->nla_type = type;
	used += NLA_HDRLEN;
	return used - NLA_HDRLEN;
}

static void end_attribute(uint32_t at)
{
	struct nlattr *attr = (void *)(message.bytes + at);

	attr->nla_len = (uint16_t)(used - at);
	used = NLA_ALIGN(used);
}

static void put_bytes(uint16_t type, const void *from, size_t n)
{
	uint32_t at = begin_attribute(type);

	memcpy(message.bytes + used, from, n);
	used += (uint32_t)n;
	end_attribute(at);
}

static void put_number(uint16_t type, uint32_t value)
{
	put_bytes(type, &value, sizeof(value));
}

static void put_qp(uint32_t number, uint32_t pid)
{
	uint32_t entry = begin_attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	uint8_t state = IBV_QPS_RTS;

	put_number(RDMA_NLDEV_ATTR_RES_LQPN, number);
	put_number(RDMA_NLDEV_ATTR_RES_RQPN, 0x99);
	put_bytes(RDMA_NLDEV_ATTR_RES_STATE, &state, 1);
	if (pid)
		put_number(RDMA_NLDEV_ATTR_RES_PID, pid);
	end_attribute(entry);
}

/* Two queue pairs of process 5, one of 6, one of the kernel. */
static int set_up(void **state)
{
	uint32_t table;

	(void)state;
	memset(&message, 0, sizeof(message));
	used = NLMSG_HDRLEN;
	put_bytes(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0", 5);
	table = begin_attribute(RDMA_NLDEV_ATTR_RES_QP);
	put_qp(0x11, 5);
	put_qp(0x12, 6);
	put_qp(0x13, 0);
	put_qp(0x14, 5);
	end_attribute(table);
	message.header.nlmsg_len = used;
	message.header.nlmsg_type = 0x100;
	message.header.nlmsg_flags = NLM_F_MULTI;
	return 0;
}
FIXTURE(set_up, NULL);

TEST(objects_of_the_process_are_kept)
{
	struct kernel kernel = { 0 };

	assert_int_equal(kernel_parse(&message, used, KERNEL_QP, 5, &kernel), 1);
	assert_int_equal(kernel.n, 2);
	assert_string_equal(kernel.objects[0].device, "rxe0");
	assert_int_equal(kernel.objects[0].number, 0x11);
	assert_int_equal(kernel.objects[0].peer, 0x99);
	assert_int_equal(kernel.objects[0].state, IBV_QPS_RTS);
	assert_int_equal(kernel.objects[1].number, 0x14);
	kernel_fini(&kernel);
}

TEST(table_of_another_kind_is_ignored)
{
	struct kernel kernel = { 0 };

	assert_int_equal(kernel_parse(&message, used, KERNEL_CQ, 5, &kernel), 1);
	assert_int_equal(kernel.n, 0);
}

TEST(last_message_ends_the_answer)
{
	struct kernel kernel = { 0 };

	message.header.nlmsg_type = NLMSG_DONE;
	assert_int_equal(kernel_parse(&message, used, KERNEL_QP, 5, &kernel), 0);
	assert_int_equal(kernel.n, 0);
}

TEST(error_of_the_kernel_is_returned)
{
	struct kernel kernel = { 0 };
	struct nlmsgerr error = { .error = -EPERM };

	message.header.nlmsg_type = NLMSG_ERROR;
	memcpy(message.bytes + NLMSG_HDRLEN, &error, sizeof(error));
	assert_int_equal(kernel_parse(&message, used, KERNEL_QP, 5, &kernel), -EPERM);
}

/* Whatever a length is, nothing outside of the message is read (with SAN=address). */
TEST(wrong_lengths_are_survived)
{
	for (uint32_t at = 0; at + 2 <= used; at += 2) {
		static const uint16_t lengths[] = { 0, 1, 3, 4, 5, 0x7fff, 0xffff };

		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			struct kernel kernel = { 0 };
			char *copy = malloc(used);

			memcpy(copy, message.bytes, used);
			memcpy(copy + at, &lengths[i], sizeof(lengths[i]));
			kernel_parse(copy, used, KERNEL_QP, 5, &kernel);
			kernel_fini(&kernel);
			free(copy);
		}
	}
}

TEST(cut_messages_are_refused)
{
	struct kernel kernel = { 0 };

	for (uint32_t n = 1; n < used; n++)
		assert_int_equal(kernel_parse(&message, n, KERNEL_QP, 5, &kernel), -EPROTO);
	assert_int_equal(kernel.n, 0);
}
