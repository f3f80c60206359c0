#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void exchange_message(struct pair *p, unsigned int flags)
{
	assert_int_equal(recv_at(&p->b, 1, 0, 8), 0);
	assert_int_equal(send_wr(&p->a,
				 (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .send_flags = flags },
				 sge_of(&p->a, 0, 8)),
			 0);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
}

static void set_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(armed_queue_fires_once)
{
	struct pair *p = *state;
	struct ibv_cq *cq;
	void *context;

	exchange_message(p, 0);
	assert_false(is_readable(p->b.channel->fd));
	assert_int_equal(ibv_req_notify_cq(p->b.cq, 0), 0);
	exchange_message(p, 0);
	exchange_message(p, 0);
	assert_true(is_readable(p->b.channel->fd));
	assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), 0);
	assert_ptr_equal(cq, p->b.cq);
	assert_ptr_equal(context, &p->b);
	assert_false(is_readable(p->b.channel->fd));
	ibv_ack_cq_events(cq, 1);
}

TEST(solicited_only_waits_for_solicited)
{
	struct pair *p = *state;

	assert_int_equal(ibv_req_notify_cq(p->b.cq, 1), 0);
	exchange_message(p, 0);
	assert_false(is_readable(p->b.channel->fd));
	exchange_message(p, IBV_SEND_SOLICITED);
	assert_true(is_readable(p->b.channel->fd));
}

TEST(errors_are_solicited)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 8), 0);
	assert_int_equal(ibv_req_notify_cq(p->b.cq, 1), 0);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_ERR), 0);
	assert_true(is_readable(p->b.channel->fd));
}

TEST(empty_channel_is_eagain)
{
	struct pair *p = *state;
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	set_nonblocking(p->b.channel->fd);
	errno = 0;
	assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	set_nonblocking(p->b.context->async_fd);
	errno = 0;
	assert_int_equal(ibv_get_async_event(p->b.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

TEST(channel_works_with_epoll)
{
	struct pair *p = *state;
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, p->b.channel->fd, &event), 0);
	assert_int_equal(ibv_req_notify_cq(p->b.cq, 0), 0);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
	exchange_message(p, 0);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 1);
	close(epoll);
}

TEST(undelivered_events_go_with_their_queue)
{
	struct pair *p = *state;
	struct ibv_cq *cq = p->b.cq;

	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	exchange_message(p, 0);
	assert_true(is_readable(p->b.channel->fd));
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(cq), 0); /* the destroy does not wait */
	assert_false(is_readable(p->b.channel->fd));
	p->b.cq = ibv_create_cq(p->b.context, 1, NULL, p->b.channel, 0);
}

static bool acked;

static void *ack_late(void *arg)
{
	struct ibv_cq *cq = arg;

	usleep(20000);
	acked = true;
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

TEST(destruction_waits_for_acks)
{
	struct pair *p = *state;
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	assert_int_equal(ibv_req_notify_cq(p->b.cq, 0), 0);
	exchange_message(p, 0);
	assert_int_equal(ibv_get_cq_event(p->b.channel, &cq, &context), 0);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_comp_channel(p->b.channel), EBUSY);
	acked = false;
	pthread_create(&thread, NULL, ack_late, cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_true(acked);
	pthread_join(thread, NULL);
	p->b.cq = ibv_create_cq(p->b.context, 1, NULL, p->b.channel, 0);
}

static struct ibv_srq *make_srq(struct end *e)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_sge sge = sge_of(e, 0, 8);
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_srq *srq = ibv_create_srq(e->pd, &init);
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	return srq;
}

static void expect_async(struct end *e, int type)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(e->context, &event), 0);
	assert_int_equal(event.event_type, type);
	ibv_ack_async_event(&event);
}

/* Without any call of the program: the thread for requests that wait does it. */
TEST(sleeper_is_served_when_the_receiver_is_ready)
{
	struct pair *p = *state;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_req_notify_cq(p->a.cq, 0), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 8), 0);
	assert_int_equal(ibv_get_cq_event(p->a.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

TEST(first_message_before_rts_is_an_event)
{
	struct pair *p = *state;
	struct ibv_async_event event;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->b.qp, 0), 0);
	assert_int_equal(to_rtr(p->b.qp, p->a.qp->qp_num), 0);
	exchange_message(p, 0);
	exchange_message(p, 0);
	assert_int_equal(ibv_get_async_event(p->b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, p->b.qp);
	assert_false(is_readable(p->b.context->async_fd));
	ibv_ack_async_event(&event);
}

TEST(shared_queue_tells_its_limit_and_end)
{
	struct pair *p = *state;
	struct ibv_srq *srq = make_srq(&p->b);

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = make_qp(&p->b, srq);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(send_at(&p->a, 0, 0, 8), 0);
	expect_async(&p->b, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_ERR), 0);
	expect_async(&p->b, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
}
