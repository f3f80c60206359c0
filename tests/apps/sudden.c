/*
 * A queue pair fails without a failed request: the software device is asked for it. Posted requests
 * are flushed; with an argument the program reads the event, first or last. Then it is reconnected
 * and used.
 *
 * 	sudden [first|last]
 */
#include <dlfcn.h>

#include "tests/apps/self.h"

static int (*raise_event)(struct ibv_context *context, const struct ibv_async_event *event);

static void fail_queue_pair(void)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_QP_ACCESS_ERR };

	event.element.qp = self.qp;
	MUST(raise_event(self.context, &event));
}

static void take_event(void)
{
	struct ibv_async_event event;

	MUST(ibv_get_async_event(self.context, &event));
	ibv_ack_async_event(&event);
}

static void reset_queue_pair(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	MUST(ibv_modify_qp(self.qp, &attr, IBV_QP_STATE));
	connect_to_itself(self.context, self.qp);
}

int main(int argc, char **argv)
{
	const char *when = argc > 1 ? argv[1] : "";

	*(void **)&raise_event = NEED(dlsym(RTLD_DEFAULT, "verbatim_soft_event"));
	self_open(16);
	for (int i = 0; i < 3; i++) {
		MUST(self_receive(1));
		MUST(self_receive(2));
		self_send(3);
		self_poll(2);
		fail_queue_pair();
		if (!strcmp(when, "first"))
			take_event();
		self_poll(1);
		if (!strcmp(when, "last"))
			take_event();
		reset_queue_pair();
	}
	self_close();
	return 0;
}
