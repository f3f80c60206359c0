/*
 * STATE-010: the first write takes two seconds, and the timeout is 1 ms. Its completion comes by an
 * event.
 */
#include <fcntl.h>

#include "tests/apps/self.h"

static char rules[] = "/tmp/state_010-XXXXXX";

/* The device reads them when it is opened. */
static void delay_first(void)
{
	static const char rule[] = "opcode=RDMA_WRITE n=1 delay=2s\n";
	int fd = mkstemp(rules);

	NEED(fd >= 0 && write(fd, rule, sizeof(rule) - 1) == sizeof(rule) - 1);
	close(fd);
	MUST(setenv("VERBATIM_SOFT_FAULTS", rules, 1));
}

static struct ibv_comp_channel *open_with_channel(void)
{
	struct ibv_comp_channel *channel;

	self.context = open_first_device();
	self.pd = NEED(ibv_alloc_pd(self.context));
	channel = NEED(ibv_create_comp_channel(self.context));
	self.cq = NEED(ibv_create_cq(self.context, 8, NULL, channel, 0));
	self.mr = NEED(ibv_reg_mr(self.pd, self.buffer, sizeof(self.buffer),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	self.qp = self_create(SELF_ROOM, 0);
	connect_to_itself(self.context, self.qp);
	return channel;
}

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);
	struct ibv_comp_channel *channel;
	struct ibv_cq *got;
	void *unused;

	if (!good)
		delay_first();
	connected_with.timeout = 8;
	channel = open_with_channel();
	if (!good)
		MUST(unlink(rules));
	MUST(ibv_req_notify_cq(self.cq, 0));
	MUST(self_post(1, IBV_SEND_SIGNALED));
	MUST(ibv_get_cq_event(channel, &got, &unused));
	ibv_ack_cq_events(got, 1);
	MUST(self_poll(1));
	MUST(ibv_destroy_qp(self.qp));
	MUST(ibv_dereg_mr(self.mr));
	MUST(ibv_destroy_cq(self.cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(self.pd));
	MUST(ibv_close_device(self.context));
	return 0;
}
