/*
 * Completions that are held back: order, and what becomes visible when. A device that has them all
 * at once; each test is in a child, which has rules of its own.
 */
#include "shim/trace/faults/backlog.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct ibv_cq cq;
static struct backlog backlog;
static struct ibv_wc device[8];
static int on_device;

static int drain_device(struct backlog *b)
{
	for (int i = 0; i < on_device; i++)
		backlog_add(b, &device[i], NULL);
	on_device = 0;
	return 0;
}

static void complete_one(uint64_t wr_id, uint32_t qpn, enum ibv_wc_opcode opcode)
{
	device[on_device++] = (struct ibv_wc){ .wr_id = wr_id, .qp_num = qpn, .opcode = opcode };
}

static void begin_rules(const char *rules)
{
	char path[] = "/tmp/verbatim-backlog.XXXXXX";
	int fd = mkstemp(path);

	HOLDS(fd >= 0 && write(fd, rules, strlen(rules)) == (ssize_t)strlen(rules));
	close(fd);
	plan_load(path);
	unlink(path);
	HOLDS(backlog_is_on());
	backlog_init(&backlog, &cq, drain_device);
}

/* The wr_id of the next visible completion, or 0. */
static uint64_t take_next(void)
{
	struct backlog_item item;

	return backlog_take(&backlog, &item) > 0 ? item.wc.wr_id : 0;
}

static void late_body(void)
{
	begin_rules("late=1000s n=2\n");
	complete_one(1, 17, IBV_WC_SEND);
	complete_one(2, 17, IBV_WC_SEND);
	HOLDS(take_next() == 1 && take_next() == 0);
	HOLDS(backlog_next_due(&backlog) > plan_now() + 900000000000ull);
	backlog.items[0].due = 1; /* the time has passed */
	HOLDS(take_next() == 2 && take_next() == 0);
}

TEST(late_completion_is_visible_when_due)
{
	in_child(late_body);
}

static void order_body(void)
{
	begin_rules("late=1000s n=1\n");
	complete_one(1, 17, IBV_WC_SEND);
	complete_one(2, 17, IBV_WC_SEND);
	complete_one(3, 17, IBV_WC_RECV);
	complete_one(4, 18, IBV_WC_SEND);
	HOLDS(take_next() == 3 && take_next() == 4 && take_next() == 0);
	backlog.items[0].due = backlog.items[1].due = 1;
	HOLDS(take_next() == 1 && take_next() == 2);
}

TEST(order_within_a_queue_is_kept)
{
	in_child(order_body);
}

static void never_body(void)
{
	begin_rules("never opcode=RECV n=2 qp=17\n");
	complete_one(1, 17, IBV_WC_RECV);
	complete_one(2, 18, IBV_WC_RECV);
	complete_one(3, 17, IBV_WC_RECV);
	complete_one(4, 17, IBV_WC_RECV);
	complete_one(5, 17, IBV_WC_RDMA_WRITE);
	HOLDS(take_next() == 1 && take_next() == 2 && take_next() == 5 && take_next() == 0);
	HOLDS(backlog_next_due(&backlog) == UINT64_MAX);
	backlog_purge(&backlog, 17);
	HOLDS(backlog.n == 0);
}

TEST(never_lasts_until_the_queue_pair_is_destroyed)
{
	in_child(never_body);
}

static void error_body(void)
{
	begin_rules("late=1000s n=1\n");
	complete_one(1, 17, IBV_WC_SEND);
	complete_one(2, 17, IBV_WC_RECV);
	device[1].status = IBV_WC_WR_FLUSH_ERR;
	HOLDS(take_next() == 0);
}

TEST(error_waits_for_both_queues)
{
	in_child(error_body);
}
