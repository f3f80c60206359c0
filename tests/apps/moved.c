/*
 * One function makes calls at two lines and is called from two others: which of these calls came
 * with the change that is the argument? line: the other line is used, too, in each round; caller:
 * so is the first, from another function; depth: the second queue pair has less room; more: it is
 * made twice in each round.
 */
#include "tests/apps/self.h"

enum { ROUNDS = 100 };

static const char *change = "";
static struct ibv_qp *spare;

static bool is_change(const char *name)
{
	return !strcmp(change, name);
}

static struct ibv_mr *register_one(bool late)
{
	if (late)
		return ibv_reg_mr(self.pd, self.buffer, 64, 0); /* late */
	return ibv_reg_mr(self.pd, self.buffer, 64, 0);         /* first */
}

static void open_all(void)
{
	struct ibv_qp_init_attr attr = { .cap = { 8, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp *first;

	self_open(8);
	attr.send_cq = attr.recv_cq = self.cq;
	first = NEED(ibv_create_qp(self.pd, &attr)); /* large */
	attr.cap.max_send_wr = is_change("depth") ? 2 : 4;
	spare = NEED(ibv_create_qp(self.pd, &attr)); /* small */
	MUST(ibv_destroy_qp(first));
	MUST(ibv_dereg_mr(NEED(register_one(false)))); /* opened */
}

static void run_round(void)
{
	if (is_change("line"))
		MUST(ibv_dereg_mr(NEED(register_one(true))));
	for (int n = is_change("caller") ? 1 : is_change("more") ? 2 : 0; n; n--)
		MUST(ibv_dereg_mr(NEED(register_one(false)))); /* round */
	MUST(self_post(1, IBV_SEND_SIGNALED));
	self_poll(1);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		change = argv[1];
	open_all();
	for (int i = 0; i < ROUNDS; i++)
		run_round();
	MUST(ibv_destroy_qp(spare));
	self_close();
	return 0;
}
