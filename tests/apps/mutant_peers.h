#pragma once
/*
 * Mistakes that show at the other end: what it is when a request comes, and what is waited for
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "tests/apps/mutant.h"

/* The peer over time */

/* Retries are soon over. */
static void be_impatient(void)
{
	connected_with.timeout = 8;
	connected_with.retry_cnt = (uint8_t)(1 + roll_dice(2));
}

static void be_patient(void)
{
	connected_with.timeout = 14;
	connected_with.retry_cnt = 7;
}

static void reopen_impatient(struct pair *p)
{
	close_pair(p);
	be_impatient();
	open_pair(p, IBV_QPT_RC);
	be_patient();
}

/* Without the receive that it may need: the peer does not respond. */
static void send_in_vain(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge), *bad;

	if (roll_dice(2))
		wr.opcode = IBV_WR_SEND;
	p->signals++;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
	drain_pair(p);
}

static void send_to_destroyed(struct pair *p)
{
	reopen_impatient(p);
	for (uint32_t n = roll_dice(3); n; n--)
		exchange_messages(p);
	MUST(ibv_destroy_qp(p->qp[1]));
	p->qp[1] = NULL;
	send_in_vain(p);
}

static void send_to_failed(struct pair *p)
{
	reopen_impatient(p);
	for (uint32_t n = roll_dice(3); n; n--)
		exchange_messages(p);
	to_err(p->qp[1]);
	send_in_vain(p);
}

/* One end is ready, the other still in INIT. */
static void send_before_ready(struct pair *p)
{
	struct ibv_qp *unready = make_qp(p, pd, 0), *ready = make_qp(p, pd, 64);

	to_init(unready);
	to_init(ready);
	for (int i = 0; i < 2; i++)
		MUST(ibv_destroy_qp(p->qp[i]));
	p->qp[0] = ready;
	p->qp[1] = unready;
	be_impatient();
	MUST(to_rtr(ready, unready->qp_num, own_address(context, 0)));
	to_rts(ready);
	send_in_vain(p);
	MUST(to_rtr(unready, ready->qp_num, own_address(context, 0)));
	be_patient();
}

/* The number is that of an older queue pair of the peer, which made a new one since then. */
static void send_to_stale_number(struct pair *p)
{
	struct ibv_qp *made = make_qp(p, pd, 0);
	uint32_t number = p->qp[1]->qp_num;

	MUST(ibv_destroy_qp(p->qp[1]));
	MUST(ibv_destroy_qp(p->qp[0]));
	p->qp[1] = made;
	p->qp[0] = make_qp(p, pd, 64);
	be_impatient();
	for (int i = 0; i < 2; i++)
		to_init(p->qp[i]);
	MUST(to_rtr(p->qp[0], number, own_address(context, 0)));
	MUST(to_rtr(made, p->qp[0]->qp_num, own_address(context, 0)));
	for (int i = 0; i < 2; i++)
		to_rts(p->qp[i]);
	send_in_vain(p);
	be_patient();
}

static void be_refused_rights(struct pair *p)
{
	struct ibv_qp_attr attr = { 0 };
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge);

	MUST(ibv_modify_qp(p->qp[1], &attr, IBV_QP_ACCESS_FLAGS));
	send_wrong(p, &wr);
}

/* Waits, which a signal ends */

enum { WAIT_US = 1200000 };

static void end_soon(void)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { 1, WAIT_US - 1000000 } }, NULL);
}

/* By ibv_get_cq_event(), or by poll(2) or epoll(7) on its descriptor. */
static void wait_for_event(struct pair *p)
{
	struct pollfd fd = { .fd = p->channel->fd, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	struct ibv_cq *cq;
	void *unused;
	int set;

	switch (roll_dice(3)) {
	case 0:
		break;
	case 1:
		poll(&fd, 1, -1);
		break;
	default:
		set = epoll_create1(0);
		MUST(epoll_ctl(set, EPOLL_CTL_ADD, p->channel->fd, &event));
		epoll_wait(set, &event, 1, -1);
	}
	ibv_get_cq_event(p->channel, &cq, &unused);
}

/* A message, whose completions nobody polls. */
static void leave_message(struct pair *p, unsigned int flags)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge), *bad;

	wr.opcode = IBV_WR_SEND;
	wr.send_flags = flags;
	await_message(p, 1);
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
}

/* A message whose only completion is in the CQ when it returns: its event has been received. */
static void leave_arrived(struct pair *p)
{
	struct ibv_cq *cq;
	void *unused;

	MUST(ibv_req_notify_cq(p->cq, 0));
	leave_message(p, 0);
	MUST(ibv_get_cq_event(p->channel, &cq, &unused));
	ibv_ack_cq_events(cq, 1);
}

static void arm_late(struct pair *p)
{
	have_channel(p);
	for (uint32_t n = roll_dice(3); n; n--)
		exchange_by_event(p);
	leave_arrived(p);
	MUST(ibv_req_notify_cq(p->cq, 0));
	end_soon();
	wait_for_event(p);
}

static void arm_for_solicited(struct pair *p)
{
	have_channel(p);
	for (uint32_t n = roll_dice(3); n; n--)
		exchange_by_event(p);
	MUST(ibv_req_notify_cq(p->cq, 1));
	leave_message(p, roll_dice(2) ? IBV_SEND_SIGNALED : 0);
	end_soon();
	wait_for_event(p);
}

static void arm_once(struct pair *p)
{
	have_channel(p);
	for (uint32_t n = 1 + roll_dice(3); n; n--)
		exchange_by_event(p);
	leave_message(p, IBV_SEND_SIGNALED);
	end_soon();
	wait_for_event(p);
}

static void never_arm(struct pair *p)
{
	close_pair(p);
	open_pair(p, IBV_QPT_RC);
	have_channel(p);
	for (uint32_t n = roll_dice(3); n; n--)
		exchange_messages(p);
	leave_message(p, IBV_SEND_SIGNALED);
	end_soon();
	wait_for_event(p);
}

static void poll_forever(struct pair *p)
{
	end_soon();
	for (struct ibv_wc wc;;)
		ibv_poll_cq(p->cq, 1, &wc);
}

/* The completion of a request that has none is waited for. */
static void wait_for_unsignalled(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_access(p, &sge), *bad;

	for (uint32_t n = roll_dice(3); n; n--)
		exchange_messages(p);
	wr.send_flags = 0;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
	poll_forever(p);
}

/* A receive waits for a plain WRITE. */
static void wait_for_write(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	await_message(p, 1);
	wr = plain_write(p, &sge);
	send_wrong(p, &wr);
	poll_forever(p);
}

/* Each end waits for the first message of the other. */
static void wait_for_each_other(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		for (uint32_t n = 1 + roll_dice(3); n; n--)
			await_message(p, i);
	poll_forever(p);
}

/* With rnr_retry 7 the message is repeated forever. */
static void wait_for_receive(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge), *bad;

	wr.opcode = IBV_WR_SEND;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
	poll_forever(p);
}

/* The peer's queue pair is gone, and with a timeout of 0 nothing reports that. */
static void wait_without_timeout(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	close_pair(p);
	connected_with.timeout = 0;
	open_pair(p, IBV_QPT_RC);
	connected_with.timeout = 14;
	MUST(ibv_destroy_qp(p->qp[1]));
	p->qp[1] = NULL;
	wr = plain_access(p, &sge);
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
	poll_forever(p);
}
