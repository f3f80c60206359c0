/*
 * Calls of librdmacm that succeed and that fail: results and errno are printed,
 * so that two runs can be compared.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

static void say_result(const char *what, long ret)
{
	printf("%s %ld %s\n", what, ret, ret < 0 ? strerrorname_np(errno) : "");
	errno = 4711;
}

static struct sockaddr *make_address(struct sockaddr_in *in, const char *ip, int port)
{
	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	inet_pton(AF_INET, ip, &in->sin_addr);
	return (struct sockaddr *)in;
}

static void one_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	int ret = rdma_get_cm_event(channel, &event);

	say_result("get_cm_event", ret);
	if (ret)
		return;
	printf("%s %d\n", rdma_event_str(event->event), event->status);
	say_result("ack_cm_event", rdma_ack_cm_event(event));
}

int main(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel(), *other;
	struct rdma_conn_param param = { .private_data = "hello", .private_data_len = 5 };
	struct rdma_cm_id *id, *second;
	struct sockaddr_in in;

	if (!channel)
		return 1;
	errno = 4711;
	say_result("create_id", rdma_create_id(channel, &id, &in, RDMA_PS_TCP));
	say_result("bind nowhere", rdma_bind_addr(id, make_address(&in, "203.0.113.1", 0)));
	say_result("resolve_addr",
		   rdma_resolve_addr(id, NULL, make_address(&in, "127.0.0.1", 7999), 1000));
	one_event(channel);
	say_result("resolve_route", rdma_resolve_route(id, 1000));
	one_event(channel);
	say_result("connect to nobody", rdma_connect(id, &param));
	one_event(channel);
	say_result("ports", ntohs(rdma_get_dst_port(id)));
	say_result("create_id", rdma_create_id(channel, &second, NULL, RDMA_PS_UDP));
	say_result("bind", rdma_bind_addr(second, make_address(&in, "127.0.0.1", 7998)));
	say_result("reject nobody", rdma_reject(second, "no", 2));
	other = rdma_create_event_channel();
	say_result("migrate", rdma_migrate_id(second, other));
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	one_event(channel);
	say_result("disconnect", rdma_disconnect(id));
	say_result("destroy_id", rdma_destroy_id(second));
	say_result("destroy_id", rdma_destroy_id(id));
	rdma_destroy_event_channel(other);
	rdma_destroy_event_channel(channel);
	say_result("end", errno);
	return 0;
}
