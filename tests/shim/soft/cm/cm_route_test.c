/*
 * Binding and resolving addresses with and without a network: cm_route_test.txt
 *
 * What is on this machine, what the network reaches, and the ports are the test's. Each operation
 * is tried with each address, in each state that allows it, and once in another one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>

#include "shim/soft/cm/cm_event.h"
#include "shim/soft/cm/cm_route.h"
#include "shim/soft/fabric/uplink.h"
#include "tests/transcript.h"

static const char *const texts[] = {
	"0.0.0.0",   "127.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4",
	"239.1.1.1", "::",        "::1",      "fd00::1",  "fd00::3",
};

static struct text out;
static struct uplink uplink;
static const struct uplink *network;
static int port_result, listen_result, away_result;

const struct uplink *__wrap_uplink_get(void);
bool __wrap_uplink_reaches(const union ibv_gid *dgid);
bool __wrap_cm_addr_is_local(const struct cm_addr *addr);
void __wrap_cm_addr_set_source(struct cm_addr *src, const struct cm_addr *dst);
int __wrap_cm_away_start(void);
int __wrap_cm_id_bind_port(struct cm_id *id);
struct cm_event *__wrap_cm_id_event(struct cm_id *id, int type, int status);
struct cm_name __wrap_cm_id_name(const struct cm_id *id);
int __wrap_cm_port_listen(uint32_t slot, const struct cm_name *owner, uint32_t backlog);
void __wrap_cm_port_share(uint32_t slot, const struct cm_name *owner, bool reuse, bool afonly);

static void show_address(const char *name, const struct cm_addr *addr)
{
	char text[INET6_ADDRSTRLEN] = "-";

	if (addr->family)
		inet_ntop(addr->family, addr->ip, text, sizeof(text));
	text_addf(&out, " %s %s", name, text);
}

static struct cm_addr make_address(const char *text)
{
	struct cm_addr addr = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };

	assert_int_equal(inet_pton(addr.family, text, addr.ip), 1);
	return addr;
}

static bool is_text(const struct cm_addr *addr, const char *text)
{
	const struct cm_addr other = make_address(text);

	return cm_addr_has_same_ip(addr, &other);
}

const struct uplink *__wrap_uplink_get(void)
{
	return network;
}

bool __wrap_uplink_reaches(const union ibv_gid *dgid)
{
	struct cm_addr addr = { .family = AF_INET };

	cm_addr_set_ip(&addr, dgid->raw);
	show_address("(reaches", &addr);
	text_addf(&out, ")");
	return network && is_text(&addr, "10.0.0.3");
}

/* 10.0.0.1 is the network's address, and 10.0.0.2 another one. */
bool __wrap_cm_addr_is_local(const struct cm_addr *addr)
{
	return cm_addr_is_loopback(addr) || is_text(addr, "10.0.0.1") ||
	       is_text(addr, "10.0.0.2") || is_text(addr, "::1") || is_text(addr, "fd00::1");
}

void __wrap_cm_addr_set_source(struct cm_addr *src, const struct cm_addr *dst)
{
	show_address("(source for", dst);
	text_addf(&out, ")");
	*src = make_address(src->family == AF_INET ? "10.9.9.9" : "fd00::9");
}

int __wrap_cm_away_start(void)
{
	text_addf(&out, " (start)");
	return away_result;
}

int __wrap_cm_id_bind_port(struct cm_id *id)
{
	show_address("(port of", &id->src);
	text_addf(&out, ")");
	return port_result;
}

struct cm_event *__wrap_cm_id_event(struct cm_id *id, int type, int status)
{
	(void)id;
	text_addf(&out, " (event %d %d)", type, status);
	return NULL;
}

struct cm_name __wrap_cm_id_name(const struct cm_id *id)
{
	return (struct cm_name){ .serial = id->serial };
}

int __wrap_cm_port_listen(uint32_t slot, const struct cm_name *owner, uint32_t backlog)
{
	text_addf(&out, " (listen %u %u %u)", slot, owner->serial, backlog);
	return listen_result;
}

void __wrap_cm_port_share(uint32_t slot, const struct cm_name *owner, bool reuse, bool afonly)
{
	text_addf(&out, " (share %u %u %d %d)", slot, owner->serial, reuse, afonly);
}

static struct cm_id make_id(enum cm_state state, const char *src)
{
	struct cm_id id = { .state = state, .port = 3, .serial = 5 };

	if (src)
		id.src = make_address(src);
	return id;
}

/* The result, and what has changed. */
static void show_id(int err, const struct cm_id *id)
{
	text_addf(&out, ": %d state %d", err, id->state);
	show_address("src", &id->src);
	show_address("dst", &id->dst);
	text_addf(&out, "%s%s", id->device ? " device" : "", id->afonly ? " afonly" : "");
	if (id->peer.node == (uint32_t)CM_REMOTE)
		text_addf(&out, " away %02x%02x", id->peer.away[14], id->peer.away[15]);
	text_addf(&out, "\n");
}

static void bind_each(void)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct cm_addr addr = make_address(texts[i]);
		struct cm_id id = make_id(CM_IDLE, NULL);

		text_addf(&out, "bind %s", texts[i]);
		show_id(cm_route_bind(&id, &addr), &id);
	}
}

static void resolve_each(const char *from, enum cm_state state)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct cm_addr dst = make_address(texts[i]), src = { 0 };
		struct cm_id id = make_id(state, state == CM_IDLE ? NULL : from);

		if (from)
			src = make_address(from);
		text_addf(&out, "resolve %s from %s in %d", texts[i], from ?: "-", state);
		show_id(cm_route_resolve_addr(&id, &src, &dst), &id);
	}
}

static void try_addresses(void)
{
	bind_each();
	resolve_each(NULL, CM_IDLE);
	resolve_each("10.0.0.1", CM_IDLE);
	resolve_each("0.0.0.0", CM_BOUND);
	resolve_each("::", CM_BOUND);
}

static void try_listen(enum cm_state state, uint32_t backlog)
{
	struct cm_id id = make_id(state, state == CM_BOUND ? "10.0.0.1" : NULL);

	text_addf(&out, "listen %u in %d", backlog, state);
	show_id(cm_route_listen(&id, backlog), &id);
}

static void try_states(void)
{
	struct cm_addr addr = make_address("10.0.0.1"), none = { 0 };

	for (enum cm_state state = CM_IDLE; state <= CM_LISTENING; state++) {
		struct cm_id id = make_id(state, "127.0.0.1");

		text_addf(&out, "bind in %d", state);
		show_id(cm_route_bind(&id, &addr), &id);
		id = make_id(state, "127.0.0.1");
		text_addf(&out, "resolve in %d", state);
		show_id(cm_route_resolve_addr(&id, &none, &addr), &id);
		id = make_id(state, "127.0.0.1");
		text_addf(&out, "route in %d", state);
		show_id(cm_route_resolve_route(&id), &id);
		try_listen(state, 1);
	}
}

static void try_listens(void)
{
	static const uint32_t backlogs[] = { 0, 1, 1024, 1025, UINT32_MAX };

	for (size_t i = 0; i < sizeof(backlogs) / sizeof(*backlogs); i++)
		try_listen(CM_BOUND, backlogs[i]);
}

TEST(addresses_without_a_network)
{
	try_addresses();
	try_states();
	try_listens();
}

TEST(addresses_with_a_network)
{
	struct cm_addr addr = make_address("10.0.0.1");

	cm_addr_to_gid(&addr, uplink.addr.s6_addr);
	network = &uplink;
	text_addf(&out, "\nwith a network\n");
	try_addresses();
	try_listens();
}

TEST(failures_leave_an_identifier_as_it_was)
{
	text_addf(&out, "\nfailures\n");
	port_result = -EADDRINUSE;
	bind_each();
	try_listen(CM_IDLE, 1);
	resolve_each(NULL, CM_IDLE);
	port_result = 0;
	listen_result = -EADDRINUSE;
	try_listen(CM_BOUND, 1);
	listen_result = 0;
	away_result = -EAGAIN;
	try_listen(CM_BOUND, 1);
	resolve_each("0.0.0.0", CM_BOUND);
}

/* Each option of an identifier, with values of each length. */
static void set_option(struct cm_id id, uint32_t level, uint32_t name, uint32_t value, uint32_t len)
{
	const struct rdma_ucm_set_option cmd = {
		.level = level, .optname = name, .optval = (uintptr_t)&value, .optlen = len
	};
	int err;

	text_addf(&out, "option %u %u = %u (%u) in %d of %d", level, name, value, len, id.state,
		  id.qp_type);
	err = cm_route_set_option(&id, &cmd);
	text_addf(&out, ": %d tos %u timeout %u reuse %d afonly %d %d\n", err, id.tos,
		  id.ack_timeout, id.reuse, id.afonly, id.afonly_set);
}

TEST(options_are_set_once_their_values_are_valid)
{
	static const uint32_t values[] = { 0, 1, 31, 32, 256 };
	struct cm_id id;

	text_addf(&out, "\noptions\n");
	for (uint32_t name = RDMA_OPTION_ID_TOS; name <= RDMA_OPTION_ID_ACK_TIMEOUT + 1; name++)
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			id = make_id(CM_BOUND, "10.0.0.1");
			id.has_port = i;
			id.qp_type = IBV_QPT_RC;
			set_option(id, RDMA_OPTION_ID, name, values[i], 4);
			set_option(id, RDMA_OPTION_ID, name, values[i], 1);
			id.state = i % 2 ? CM_LISTENING : CM_IDLE;
			id.qp_type = i % 2 ? IBV_QPT_UD : IBV_QPT_XRC_SEND;
			set_option(id, RDMA_OPTION_ID, name, values[i], 4);
			set_option(id, RDMA_OPTION_ID, name, values[i], 1);
		}
	set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1, 0);
	set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 1, 4);
	set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 1, 0);
	set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH + 1, 1, 0);
	set_option(id, 7, RDMA_OPTION_ID_TOS, 1, 1);
}

TEST_LAST(all_is_as_in_the_transcript)
{
	transcript_expect(__FILE__, &out);
}
