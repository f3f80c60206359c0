/*
 * Each command of librdmacm in each state of an identifier: results in cm_command_test.txt
 *
 * For each state, and each command, a client and a listener are brought into that state. The
 * command's result, the events that both channels get, and what queries then answer are shown, the
 * latter as bytes from an offset. Only what differs from the state without a command is shown.
 */
#include "core/base/text.h"
#include "tests/shim/soft/change.h"
#include "tests/shim/soft/cm/commands.h"
#include "tests/transcript.h"

enum { OWN_PORT = 7472, CHILD_UID = 3, REQUEST = 5 };

/* An identifier in the state under test, and its channel. */
struct subject {
	int fd;
	uint32_t id;
};

/* Bytes that are not 0. */
static void show_bytes(struct text *text, const char *name, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++) {
		if (!bytes[i])
			continue;
		text_addf(text, ", %s[%zu] ", name, i);
		for (; i < size && bytes[i]; i++)
			text_addf(text, "%02x", bytes[i]);
	}
}

/* The identifier's number is that of an open channel's table, so it is the same in each run. */
static bool show_event(struct text *text, int fd, const char *name)
{
	struct rdma_ucm_event_resp event;
	char at[32];

	if (get_event(fd, &event) < 0)
		return false;
	snprintf(at, sizeof(at), "%s event %u", name, event.event);
	text_addf(text, ", %s status %d uid %d", at, (int)event.status, (int)event.uid);
	show_bytes(text, at, &event.param, sizeof(event.param));
	return true;
}

/* Messages are in pipes, so they arrive without a delay. */
static void show_events(struct text *text, const struct ends *e)
{
	for (int rounds = 0; rounds < 3; rounds++)
		while (show_event(text, e->a, "a") || show_event(text, e->b, "b"))
			rounds = 0;
}

/* A port that the device has chosen differs in each run. */
static void hide_port(void *sockaddr)
{
	struct sockaddr_in *in = sockaddr;

	if ((in->sin_family == AF_INET || in->sin_family == AF_INET6) &&
	    ntohs(in->sin_port) >= 32768)
		in->sin_port = 0xffff;
}

static void show_query(struct text *text, const struct subject *s, uint32_t option)
{
	COMMAND(c, rdma_ucm_query);
	struct {
		struct rdma_ucm_query_addr_resp addr;
		uint8_t room[256];
	} resp;
	char name[32];
	int err;

	memset(&resp, 0, sizeof(resp));
	snprintf(name, sizeof(name), "query %u", option);
	c.cmd.id = s->id;
	c.cmd.option = option;
	err = ASK(s->fd, c, QUERY, &resp);
	hide_port(&resp.addr.src_addr);
	hide_port(&resp.addr.dst_addr);
	text_addf(text, ", %s = %d", name, err);
	show_bytes(text, name, &resp, sizeof(resp));
}

static void show_route(struct text *text, const struct subject *s)
{
	COMMAND(c, rdma_ucm_query);
	struct rdma_ucm_query_route_resp resp;
	int err;

	memset(&resp, 0, sizeof(resp));
	c.cmd.id = s->id;
	err = ASK(s->fd, c, QUERY_ROUTE, &resp);
	hide_port(&resp.src_addr);
	hide_port(&resp.dst_addr);
	text_addf(text, ", route = %d", err);
	show_bytes(text, "route", &resp, sizeof(resp));
}

static void show_attr(struct text *text, const struct subject *s, int state)
{
	struct ib_uverbs_qp_attr attr = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "attr %d", state);
	text_addf(text, ", %s = %d", name, query_attr(s->fd, s->id, state, &attr));
	attr.sq_psn = attr.rq_psn = 0; /* differ in each run */
	show_bytes(text, name, &attr, sizeof(attr));
}

static void show_subject(struct text *text, const struct subject *s)
{
	show_route(text, s);
	for (uint32_t option = 0; option < 4; option++)
		show_query(text, s, option);
	for (int state = IBV_QPS_RESET; state <= IBV_QPS_ERR + 1; state++)
		show_attr(text, s, state);
}

static void drain_events(const struct ends *e)
{
	struct text text = { 0 };

	show_events(&text, e);
	text_fini(&text);
}

/* What other commands say to its state, at last. */
static void show_state(struct text *text, const struct subject *s)
{
	text_addf(text, ", then resolve route = %d", resolve_route(s->fd, s->id));
	text_addf(text, ", then ready = %d", ready_qp(s->fd, s->id));
	text_addf(text, ", then disconnect = %d", disconnect_id(s->fd, s->id));
	text_addf(text, ", then listen = %d", listen_at(s->fd, s->id, 3));
	text_addf(text, ", then destroy = %d", destroy_id(s->fd, s->id));
}

static int take_request(struct ends *e, struct subject *s)
{
	struct rdma_ucm_event_resp event = next_event(e->b);

	*s = (struct subject){ e->b, event.id };
	return (int)event.event;
}

static int subject_is(struct subject *s, int fd, uint32_t id)
{
	*s = (struct subject){ fd, id };
	return 0;
}

static int notify_id(const struct subject *s, uint32_t event)
{
	COMMAND(c, rdma_ucm_notify);

	c.cmd.id = s->id;
	c.cmd.event = event;
	return PUT(s->fd, c, NOTIFY);
}

static int migrate_id(const struct subject *s, int from)
{
	COMMAND(c, rdma_ucm_migrate_id);
	struct rdma_ucm_migrate_resp resp = { 0 };
	int err;

	c.cmd.id = s->id;
	c.cmd.fd = (uint32_t)from;
	err = ASK(from, c, MIGRATE_ID, &resp);
	return err < 0 ? err : (int)resp.events_reported;
}

/* An address of this family, cut. */
static int bind_size(const struct subject *s, uint16_t family, uint16_t size, uint16_t reserved)
{
	COMMAND(c, rdma_ucm_bind);

	c.cmd.id = s->id;
	c.cmd.addr_size = size;
	c.cmd.reserved = reserved;
	c.cmd.addr.ss_family = family;
	return PUT(s->fd, c, BIND);
}

static int resolve_size(const struct subject *s, uint16_t src_size, uint16_t dst_size)
{
	COMMAND(c, rdma_ucm_resolve_addr);
	struct sockaddr_in6 to = make_address("127.0.0.1", PORT);

	c.cmd.id = s->id;
	c.cmd.src_size = src_size;
	c.cmd.dst_size = dst_size;
	c.cmd.src_addr.ss_family = AF_INET;
	memcpy(&c.cmd.dst_addr, &to, sizeof(struct sockaddr_in));
	return PUT(s->fd, c, RESOLVE_ADDR);
}

static int set_byte(const struct subject *s, int name, uint8_t value)
{
	return set_option(s->fd, s->id, name, &value, sizeof(value));
}

static int set_number(const struct subject *s, int name, int value)
{
	return set_option(s->fd, s->id, name, &value, sizeof(value));
}

static int set_path(const struct subject *s, uint32_t flags, uint32_t len)
{
	COMMAND(c, rdma_ucm_set_option);
	struct ib_path_rec_data path[2] = { { .flags = 0 }, { .flags = flags } };

	c.cmd.id = s->id;
	c.cmd.level = RDMA_OPTION_IB;
	c.cmd.optname = RDMA_OPTION_IB_PATH;
	c.cmd.optval = (uintptr_t)&path;
	c.cmd.optlen = len;
	return PUT(s->fd, c, SET_OPTION);
}

static int join_ip(const struct subject *s, const char *text)
{
	COMMAND(c, rdma_ucm_join_ip_mcast);
	struct rdma_ucm_create_id_resp resp;

	c.cmd.id = s->id;
	c.cmd.uid = 77;
	c.cmd.addr = make_address(text, 0);
	return ASK(s->fd, c, JOIN_IP_MCAST, &resp);
}

static struct rdma_ucm_conn_param longest_param(void)
{
	struct rdma_ucm_conn_param param = param_of("");

	param.private_data_len = 255;
	memset(param.private_data, 'x', 255);
	param.responder_resources = 255;
	param.initiator_depth = 255;
	param.retry_count = 255;
	param.rnr_retry_count = 255;
	param.srq = 1;
	param.flow_control = 1;
	return param;
}

static int set_up_state(struct ends *e, struct subject *s, int ps, int n, const char **ret_name)
{
	int i = 0, ret = 0;

	*ret_name = NULL;
#define S(name, action)                             \
	if (i <= n) {                               \
		ret = (action);                     \
		*ret_name = i++ == n ? name : NULL; \
		if (i <= n && i != REQUEST)         \
			drain_events(e);            \
	}
	/* the identifier of the client passes through these states */
	S("new", (s->id = create_id(s->fd, ps, 1), e->id = s->id, 0))
	S("bound", bind_ip(s->fd, s->id, "127.0.0.1", OWN_PORT))
	S("address resolved", resolve_ip(s->fd, s->id, "127.0.0.1", PORT))
	S("route resolved", resolve_route(s->fd, s->id))
	S("connecting", connect_with(s->fd, s->id, param_of("hello")))
	S("request", take_request(e, s))
	S("accepted", accept_with(s->fd, s->id, CHILD_UID, param_of("welcome")))
	S("answered", subject_is(s, e->a, e->id))
	S("established", ready_qp(s->fd, s->id))
	S("disconnected", disconnect_id(s->fd, s->id))
	S("listening", subject_is(s, e->b, e->listener))
#undef S
	return ret;
}

/* Give that command; its name, or NULL if there are no more. */
static const char *give_command(struct ends *e, struct subject *s, int n, int *ret)
{
	int i = 0;

#define C(name, action)          \
	if (n == i++) {          \
		*ret = (action); \
		return name;     \
	}
	C("nothing", 0)
	C("bind", bind_ip(s->fd, s->id, "127.0.0.1", 7473))
	C("bind to any address", bind_ip(s->fd, s->id, "0.0.0.0", 7473))
	C("bind to any IPv6 address", bind_ip(s->fd, s->id, "::", 7473))
	C("bind to the listener's port", bind_ip(s->fd, s->id, "127.0.0.1", PORT))
	C("bind to another host", bind_ip(s->fd, s->id, "192.0.2.1", 7473))
	C("bind to 1 byte", bind_size(s, AF_INET, 1, 0))
	C("bind to 2 bytes", bind_size(s, AF_UNIX, 2, 0))
	C("bind to 15 bytes", bind_size(s, AF_INET, 15, 0))
	C("bind to 16 bytes", bind_size(s, AF_INET, 16, 0))
	C("bind to 27 bytes", bind_size(s, AF_INET6, 27, 0))
	C("bind to 28 bytes", bind_size(s, AF_INET6, 28, 0))
	C("bind to 128 bytes", bind_size(s, AF_INET6, 128, 0))
	C("bind to 129 bytes", bind_size(s, AF_INET6, 129, 0))
	C("bind with more", bind_size(s, AF_INET, 16, 1))
	C("resolve 15 bytes", resolve_size(s, 0, 15))
	C("resolve 16 bytes", resolve_size(s, 0, 16))
	C("resolve from 1 byte", resolve_size(s, 1, 16))
	C("resolve from 2 bytes", resolve_size(s, 2, 16))
	C("resolve from 16 bytes", resolve_size(s, 16, 16))
	C("resolve 129 bytes", resolve_size(s, 0, 129))
	C("resolve from 129 bytes", resolve_size(s, 129, 16))
	C("resolve", resolve_ip(s->fd, s->id, "127.0.0.1", PORT))
	C("resolve 127.0.0.9", resolve_ip(s->fd, s->id, "127.0.0.9", PORT))
	C("resolve any address", resolve_ip(s->fd, s->id, "0.0.0.0", PORT))
	C("resolve IPv6", resolve_ip(s->fd, s->id, "::1", PORT))
	C("resolve any IPv6 address", resolve_ip(s->fd, s->id, "::", PORT))
	C("resolve a group", resolve_ip(s->fd, s->id, "239.1.2.3", PORT))
	C("resolve another host", resolve_ip(s->fd, s->id, "192.0.2.1", PORT))
	C("resolve route", resolve_route(s->fd, s->id))
	C("listen", listen_at(s->fd, s->id, 5))
	C("connect", connect_with(s->fd, s->id, param_of("again")))
	C("connect with much", connect_with(s->fd, s->id, longest_param()))
	C("accept", accept_with(s->fd, s->id, CHILD_UID, param_of("yes")))
	C("accept with much", accept_with(s->fd, s->id, CHILD_UID, longest_param()))
	C("ready", ready_qp(s->fd, s->id))
	C("reject", reject_with(s->fd, s->id, "no"))
	C("disconnect", disconnect_id(s->fd, s->id))
	C("destroy", destroy_id(s->fd, s->id))
	C("destroy an unknown one", destroy_id(s->fd, 999))
	C("notify of a connection", notify_id(s, IBV_EVENT_COMM_EST))
	C("notify of an error", notify_id(s, IBV_EVENT_QP_FATAL))
	C("migrate", migrate_id(s, s->fd))
	C("type of service", set_byte(s, RDMA_OPTION_ID_TOS, 7))
	C("type of service as a number", set_number(s, RDMA_OPTION_ID_TOS, 7))
	C("reuse", set_number(s, RDMA_OPTION_ID_REUSEADDR, 1))
	C("no reuse", set_number(s, RDMA_OPTION_ID_REUSEADDR, 0))
	C("one family", set_number(s, RDMA_OPTION_ID_AFONLY, 1))
	C("timeout 31", set_byte(s, RDMA_OPTION_ID_ACK_TIMEOUT, 31))
	C("timeout 32", set_byte(s, RDMA_OPTION_ID_ACK_TIMEOUT, 32))
	C("unknown option", set_number(s, 9, 1))
	C("path", set_path(s, IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL,
			   2 * sizeof(struct ib_path_rec_data)))
	C("path of other flags", set_path(s, IB_PATH_GMP, 2 * sizeof(struct ib_path_rec_data)))
	C("first path only", set_path(s, IB_PATH_GMP, sizeof(struct ib_path_rec_data)))
	C("part of a path", set_path(s, IB_PATH_GMP, 9))
	C("join", join_ip(s, "239.1.2.3"))
	C("join IPv6", join_ip(s, "ff02::1234"))
	C("join no group", join_ip(s, "127.0.0.1"))
#undef C
	(void)e;
	return NULL;
}

static const char *try_command(struct text *text, int ps, int state, int n, const char **ret_state)
{
	struct ends e = { .a = new_channel(), .b = new_channel() };
	struct subject s = { .fd = e.a };
	const char *name;
	int ret = 0;

	e.listener = make_listener(e.b, ps, 2, 10);
	text_addf(text, "set up = %d", set_up_state(&e, &s, ps, state, ret_state));
	if (n)
		drain_events(&e);
	name = *ret_state ? give_command(&e, &s, n, &ret) : NULL;
	text_addf(text, ", command = %d", ret);
	show_events(text, &e);
	if (name) {
		show_subject(text, &s);
		show_state(text, &s);
		show_events(text, &e);
	}
	close_channel(e.a);
	close_channel(e.b);
	return name;
}

static const char *try_state(struct text *text, int ps, int state)
{
	static struct change_result results[80];
	const char *name, *state_name;
	struct text one = { 0 };
	size_t n = 0;

	for (int i = 0; (name = try_command(&one, ps, state, i, &state_name)); i++) {
		if (!i)
			text_addf(text, "%s, %s: %s\n", ps == RDMA_PS_TCP ? "TCP" : "UDP",
				  state_name, one.at);
		change_add(results, &n, name, one.at);
		text_cut(&one, 0);
	}
	text_fini(&one);
	change_show_all(text, results, n);
	return state_name;
}

GROUP(fabric_setup, fabric_teardown);

TEST(each_command_in_each_state)
{
	struct text text = { 0 };

	for (int state = 0; try_state(&text, RDMA_PS_TCP, state);)
		state++;
	for (int state = 0; try_state(&text, RDMA_PS_UDP, state);)
		state++;
	transcript_expect(__FILE__, &text);
}
