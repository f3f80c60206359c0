/*
 * Asynchronous events of a device: each is printed, and a port error followed by a write whose
 * completion is printed, too.
 *
 * 	port_events N [idle]	up to event number N, such as 9, IBV_EVENT_PORT_ACTIVE; or the
 * 				end of the device. idle: no queue pair is connected
 * 	port_events stay	no events: an orderly end after a line of input
 *
 * Prints "ready" when it begins to wait.
 */
#include <errno.h>

#include "tests/apps/app.h"

static char buffer[4096];
static struct ibv_mr *mr;

static void write_once(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 64, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 7,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)buffer + 2048, mr->rkey } },
			   *bad;
	struct ibv_wc wc;
	int err = ibv_post_send(qp, &wr, &bad), n = 0;

	if (err) {
		printf("post: %s\n", strerror(err));
		return;
	}
	while (!n)
		n = ibv_poll_cq(cq, 1, &wc);
	printf("write: %s\n", n < 0 ? "no completion" : ibv_wc_status_str(wc.status));
}

static void print_failure(const char *what, int err)
{
	if (err)
		printf("%s: %s\n", what, strerror(err));
}

static void print_events(struct ibv_context *context, int last, struct ibv_qp *qp,
			 struct ibv_cq *cq)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_COMM_EST };

	while ((int)event.event_type != last && event.event_type != IBV_EVENT_DEVICE_FATAL &&
	       !ibv_get_async_event(context, &event)) {
		puts(ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_PORT_ERR && qp->state == IBV_QPS_RTS)
			write_once(qp, cq);
	}
}

int main(int argc, char **argv)
{
	bool stay = argc > 1 && !strcmp(argv[1], "stay"), idle = argc > 2;
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	setvbuf(stdout, NULL, _IOLBF, 0);
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	if (!idle) {
		connect_to_itself(context, qp);
		write_once(qp, cq);
	}
	puts("ready");
	if (stay) {
		getchar();
	} else {
		print_events(context, argc > 1 ? atoi(argv[1]) : -1, qp, cq);
	}
	print_failure("destroy_qp", ibv_destroy_qp(qp));
	print_failure("dereg_mr", ibv_dereg_mr(mr));
	print_failure("destroy_cq", ibv_destroy_cq(cq));
	print_failure("dealloc_pd", ibv_dealloc_pd(pd));
	print_failure("close_device", ibv_close_device(context));
	return 0;
}
