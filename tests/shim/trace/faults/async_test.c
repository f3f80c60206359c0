/*
 * Asynchronous events that the recorder makes: which program's call gets which, and when its
 * descriptor is readable. The device is a pipe: a byte is an event.
 */
#include "shim/trace/faults/async.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static int device[2];
static struct ibv_context context, other;
static struct ibv_qp qp = { .context = &context, .qp_num = 17 };
static struct ibv_cq cq;

static void load_rules(void)
{
	static const char rules[] = "opcode=SEND event=PATH_MIG\n";
	char path[] = "/tmp/async_test.XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, rules, strlen(rules)), strlen(rules));
	close(fd);
	plan_load(path);
	unlink(path);
	assert_true(plan_has(FAULT_EVENT));
}

static void open_device(struct ibv_context *which)
{
	which->async_fd = device[0];
	async_note_opened(which);
	assert_int_not_equal(which->async_fd, device[0]);
	assert_int_equal(fcntl(which->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static int set_up(void **state)
{
	(void)state;
	if (!plan_is_on())
		load_rules();
	assert_int_equal(pipe(device), 0);
	qp.send_cq = &cq;
	open_device(&context);
	open_device(&other);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	async_forget_context(&context);
	async_forget_context(&other);
	assert_int_equal(context.async_fd, device[0]);
	close(device[0]);
	close(device[1]);
	return 0;
}

static void make_event(enum ibv_event_type type, struct ibv_qp *of)
{
	async_inject(&(struct planned_fault){ .fault = { .kind = FAULT_EVENT, .value = type } }, of,
		     NULL);
}

static bool is_readable(const struct ibv_context *of)
{
	struct pollfd fd = { of->async_fd, POLLIN, 0 };

	return poll(&fd, 1, 0) == 1;
}

/* The device's. */
static int read_device(struct ibv_context *of, struct ibv_async_event *event)
{
	char byte;

	assert_int_equal(of->async_fd, device[0]);
	assert_int_equal(read(of->async_fd, &byte, 1), 1);
	*event = (struct ibv_async_event){ .event_type = (enum ibv_event_type)byte };
	return 0;
}

/* The type of the next event, or -errno. */
static int get_event(struct ibv_context *of, struct ibv_async_event *event)
{
	errno = ERANGE;
	if (async_get(read_device, of, event))
		return -errno;
	assert_int_equal(errno, ERANGE);
	return (int)event->event_type;
}

FIXTURE(set_up, tear_down);

TEST(events_come_in_their_order_and_are_acknowledged)
{
	struct ibv_async_event first, second;

	assert_int_equal(get_event(&context, &first), -EAGAIN);
	assert_false(is_readable(&context));
	make_event(IBV_EVENT_PATH_MIG, &qp);
	make_event(IBV_EVENT_PORT_ERR, &qp);
	assert_true(is_readable(&context));
	assert_int_equal(get_event(&context, &first), IBV_EVENT_PATH_MIG);
	assert_ptr_equal(first.element.qp, &qp);
	assert_true(is_readable(&context));
	assert_int_equal(get_event(&context, &second), IBV_EVENT_PORT_ERR);
	assert_int_equal(second.element.port_num, 1);
	assert_int_equal(get_event(&context, &(struct ibv_async_event){ 0 }), -EAGAIN);
	assert_false(is_readable(&context));
	assert_true(async_ack(&second));
	assert_true(async_ack(&first));
	assert_false(async_ack(&first));
}

TEST(each_context_gets_its_own)
{
	struct ibv_async_event event;

	make_event(IBV_EVENT_PATH_MIG, &qp);
	make_event(IBV_EVENT_PORT_ACTIVE, NULL); /* of the context that was opened last */
	assert_int_equal(get_event(&other, &event), IBV_EVENT_PORT_ACTIVE);
	assert_true(async_ack(&event));
	assert_int_equal(get_event(&other, &event), -EAGAIN);
	assert_true(is_readable(&context));
	assert_int_equal(get_event(&context, &event), IBV_EVENT_PATH_MIG);
	assert_true(async_ack(&event));
}

TEST(events_of_an_srq_need_one)
{
	struct ibv_srq srq = { .context = &context };
	struct planned_fault limit = { .fault = { .kind = FAULT_EVENT,
						  .value = IBV_EVENT_SRQ_LIMIT_REACHED } };
	struct ibv_async_event event;

	async_inject(&limit, NULL, NULL);
	async_inject(&limit, &qp, NULL); /* its queue pair has none */
	assert_int_equal(get_event(&context, &event), -EAGAIN);
	async_inject(&limit, NULL, &srq);
	assert_int_equal(get_event(&context, &event), IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, &srq);
	assert_true(async_ack(&event));
	qp.srq = &srq;
	async_inject(&limit, &qp, NULL);
	qp.srq = NULL;
	assert_int_equal(get_event(&context, &event), IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_true(async_ack(&event));
}

TEST(the_devices_events_come_too)
{
	const char byte = IBV_EVENT_SM_CHANGE;
	struct ibv_async_event event;

	assert_int_equal(write(device[1], &byte, 1), 1);
	assert_true(is_readable(&context));
	make_event(IBV_EVENT_PATH_MIG, &qp);
	assert_int_equal(get_event(&context, &event), IBV_EVENT_PATH_MIG);
	assert_true(async_ack(&event));
	assert_int_equal(get_event(&context, &event), IBV_EVENT_SM_CHANGE);
	assert_false(async_ack(&event));
	assert_int_equal(get_event(&context, &event), -EAGAIN);
}

TEST(an_event_needs_its_object)
{
	struct ibv_async_event event;

	make_event(IBV_EVENT_PATH_MIG, NULL);
	make_event(IBV_EVENT_CQ_ERR, NULL);
	make_event(IBV_EVENT_QP_LAST_WQE_REACHED, NULL);
	assert_int_equal(get_event(&other, &event), -EAGAIN);
	make_event(IBV_EVENT_DEVICE_FATAL, NULL);
	assert_int_equal(get_event(&other, &event), IBV_EVENT_DEVICE_FATAL);
	assert_true(async_ack(&event));
}

TEST(destruction_drops_those_that_nobody_got)
{
	struct ibv_async_event event;

	make_event(IBV_EVENT_PATH_MIG, &qp);
	make_event(IBV_EVENT_PORT_ERR, &qp);
	make_event(IBV_EVENT_COMM_EST, &qp);
	async_release(&cq);
	async_release(&qp);
	assert_int_equal(get_event(&context, &event), IBV_EVENT_PORT_ERR);
	assert_true(async_ack(&event));
	assert_int_equal(get_event(&context, &event), -EAGAIN);
}

TEST(lending_nests)
{
	const int program = context.async_fd;

	async_lend();
	async_lend();
	assert_int_equal(context.async_fd, device[0]);
	async_return();
	assert_int_equal(context.async_fd, device[0]);
	async_return();
	assert_int_equal(context.async_fd, program);
}
