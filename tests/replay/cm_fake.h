#pragma once
/*
 * The surroundings of replay/cm: librdmacm, a device and the report of a replay
 *
 * All of them log the calls that they get, and a test compares the log: "bind 1 192.0.2.7:0" is
 * rdma_bind_addr() of the first identifier. Addresses 192.0.2.* lead to the device. What a call
 * would bring, as RDMA_CM_EVENT_ADDR_RESOLVED, comes at once. The machine has 198.51.100.9,
 * 127.0.0.1 and 192.0.2.7. The trace consists of its objects. Included once by a test.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "replay/cm/cm_priv.h"
#include "replay/report/differ.h"
#include "replay/report/pace.h"
#include "replay/state/cut.h"
#include "replay/state/recorded.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { CM_MOST = 32, CM_EVENTS = 64, FIRST_PORT = 1000, CM_NOW = 5000, CM_TIMEOUT = 1 << 22 };

static char cm_log[8192];
static struct rdma_cm_id cm_ids[CM_MOST]; /* from 1, in the order of their creation */
static unsigned int cm_nids, cm_nchannels, cm_nacked, cm_nwaits;
static struct rdma_event_channel cm_channels[4];
static struct rdma_cm_event cm_events[CM_EVENTS];
static size_t cm_first, cm_last; /* of cm_events, that are still to be got */
static const char *cm_fails;     /* the function that fails, with @cm_error */
static int cm_error;
static bool cm_silent; /* no events come */
static uint16_t cm_port;
static int64_t cm_deadline; /* of the last wait */
static void (*cm_on_wait)(void);

static struct ibv_device cm_ibv_device = { .name = "dev0" };
static struct ibv_context cm_context = { .device = &cm_ibv_device };
static struct device cm_device = { .device = &cm_ibv_device,
				   .context = &cm_context,
				   .name = "dev0" };
static struct replica cm_replicas[OBJECTS_MOST];
static struct replay_options cm_options;
static struct replay replay;
static int64_t cm_last_times[4];
static uint32_t cm_explained; /* the object that has diverged before */

static struct sockaddr_storage cm_own[4];
static struct ifaddrs cm_interfaces[4], *cm_list; /* the first has no address */
static unsigned int cm_nfreed;

static struct {
	int calls, agreed, events;
	struct call there; /* of the last result */
	int64_t ret;
	int err;
} cm_told;

static inline void __attribute__((format(printf, 1, 2))) log_cm(const char *format, ...)
{
	size_t used = strlen(cm_log);
	va_list args;

	if (used)
		used += (size_t)snprintf(cm_log + used, sizeof(cm_log) - used, "; ");
	va_start(args, format);
	vsnprintf(cm_log + used, sizeof(cm_log) - used, format, args);
	va_end(args);
}

/* What has happened since the last of these. */
static inline void expect_log(const char *expected)
{
	assert_string_equal(cm_log, expected);
	*cm_log = 0;
}

static inline int number_of(const struct rdma_cm_id *id)
{
	assert_in_range(id - cm_ids, 1, cm_nids);
	return (int)(id - cm_ids);
}

static inline const char *text_of(const struct sockaddr *address)
{
	static char texts[4][SOCKADDR_TEXT];
	static unsigned int n;

	return address ? sockaddr_text(address, sizeof(struct sockaddr_storage), texts[n++ % 4])
		       : "-";
}

static inline int end_call(const char *name)
{
	if (!cm_fails || strcmp(cm_fails, name))
		return 0;
	errno = cm_error;
	return -1;
}

static inline struct rdma_cm_event *bring_event(enum rdma_cm_event_type type, struct rdma_cm_id *id)
{
	struct rdma_cm_event *event = &cm_events[cm_last++];
	uint64_t one = 1;

	assert_true(cm_last <= CM_EVENTS);
	*event = (struct rdma_cm_event){ .event = type, .id = id };
	assert_int_equal(write(id->channel->fd, &one, sizeof(one)), sizeof(one));
	return event;
}

static inline struct rdma_cm_id *add_id(struct rdma_event_channel *channel, void *context,
					enum rdma_port_space ps)
{
	struct rdma_cm_id *id = &cm_ids[++cm_nids];

	assert_true(cm_nids < CM_MOST);
	*id = (struct rdma_cm_id){
		.channel = channel,
		.context = context,
		.ps = ps,
		.qp_type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
	};
	return id;
}

/* A request comes to the listener @id from port @port. */
static inline struct rdma_cm_event *ask_listener(struct rdma_cm_id *id, uint16_t port)
{
	struct rdma_cm_id *asked = add_id(id->channel, id->context, id->ps);

	asked->verbs = &cm_context;
	((struct sockaddr_in *)&asked->route.addr.dst_storage)->sin_port = htons(port);
	asked->route.addr.dst_addr.sa_family = AF_INET;
	return bring_event(RDMA_CM_EVENT_CONNECT_REQUEST, asked);
}

static inline struct rdma_event_channel *fake_create_event_channel(void)
{
	struct rdma_event_channel *channel = &cm_channels[cm_nchannels];

	if (end_call("create_event_channel"))
		return NULL;
	cm_nchannels++;
	channel->fd = eventfd(0, EFD_SEMAPHORE);
	return channel;
}

static inline void fake_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	cm_nchannels--;
}

static inline int fake_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret_id,
				 void *context, enum rdma_port_space ps)
{
	if (end_call("create_id"))
		return -1;
	*ret_id = add_id(channel, context, ps);
	log_cm("create %u%s", cm_nids, ps == RDMA_PS_UDP ? " udp" : "");
	return 0;
}

static inline int fake_destroy_id(struct rdma_cm_id *id)
{
	log_cm("destroy %d", number_of(id));
	return 0;
}

static inline void take_address(struct rdma_cm_id *id, const struct sockaddr *address)
{
	struct sockaddr_storage *own = &id->route.addr.src_storage;

	if (address)
		memcpy(own, address, sizeof(*own));
	own->ss_family = own->ss_family ?: AF_INET;
	if (!*cm_address_port(own))
		*cm_address_port(own) = htons(cm_port++);
	if (!address || strncmp(text_of(address), "192.0.2.", 8) == 0)
		id->verbs = &cm_context;
}

static inline int fake_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	log_cm("bind %d %s", number_of(id), text_of(address));
	if (end_call("bind_addr"))
		return -1;
	take_address(id, address);
	return 0;
}

static inline int fake_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src,
				    struct sockaddr *dst, int ms)
{
	log_cm("resolve %d %s to %s %d", number_of(id), text_of(src), text_of(dst), ms);
	if (end_call("resolve_addr"))
		return -1;
	take_address(id, src);
	memcpy(&id->route.addr.dst_storage, dst, sizeof(struct sockaddr_storage));
	if (!cm_silent)
		bring_event(RDMA_CM_EVENT_ADDR_RESOLVED, id);
	return 0;
}

static inline int fake_resolve_route(struct rdma_cm_id *id, int ms)
{
	log_cm("route %d %d", number_of(id), ms);
	if (end_call("resolve_route"))
		return -1;
	if (!cm_silent)
		bring_event(RDMA_CM_EVENT_ROUTE_RESOLVED, id);
	return 0;
}

static inline int log_parameters(const char *name, const struct rdma_cm_id *id,
				 const struct rdma_conn_param *p)
{
	const char *data = p->private_data;

	log_cm("%s %d %u/%u %u %u/%u %u qp %u '%.*s'", name, number_of(id), p->responder_resources,
	       p->initiator_depth, p->flow_control, p->retry_count, p->rnr_retry_count, p->srq,
	       p->qp_num, p->private_data_len, data ? data : "");
	return end_call(name);
}

static inline int fake_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	return log_parameters("connect", id, param);
}

static inline int fake_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	return log_parameters("accept", id, param);
}

static inline int fake_establish(struct rdma_cm_id *id)
{
	log_cm("establish %d", number_of(id));
	return end_call("establish");
}

static inline int fake_listen(struct rdma_cm_id *id, int backlog)
{
	log_cm("listen %d %d", number_of(id), backlog);
	return end_call("listen");
}

static inline int fake_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	log_cm("reject %d '%.*s'", number_of(id), length, (const char *)data);
	return end_call("reject");
}

static inline int fake_reject_ece(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	log_cm("reject_ece %d '%.*s'", number_of(id), length, (const char *)data);
	return end_call("reject");
}

static inline int fake_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	log_cm("notify %d %d", number_of(id), (int)event);
	return end_call("notify");
}

static inline int fake_disconnect(struct rdma_cm_id *id)
{
	log_cm("disconnect %d", number_of(id));
	return end_call("disconnect");
}

static inline int fake_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	(void)context;
	log_cm("join %d %s", number_of(id), text_of(addr));
	return end_call("join_multicast");
}

static inline int fake_join_multicast_ex(struct rdma_cm_id *id,
					 struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	(void)context;
	log_cm("join_ex %d %s %u %u", number_of(id), text_of(attr->addr), attr->comp_mask,
	       attr->join_flags);
	return end_call("join_multicast");
}

static inline int fake_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	log_cm("leave %d %s", number_of(id), text_of(addr));
	return end_call("leave_multicast");
}

static inline int fake_get_cm_event(struct rdma_event_channel *channel,
				    struct rdma_cm_event **ret_event)
{
	uint64_t one;

	assert_int_equal(read(channel->fd, &one, sizeof(one)), sizeof(one));
	assert_true(cm_first < cm_last);
	*ret_event = &cm_events[cm_first++];
	assert_ptr_equal((*ret_event)->id->channel, channel);
	return 0;
}

static inline int fake_ack_cm_event(struct rdma_cm_event *event)
{
	assert_ptr_equal(event, &cm_events[cm_nacked]);
	cm_nacked++;
	event->id = NULL; /* it is gone */
	return 0;
}

static inline const char *fake_event_str(enum rdma_cm_event_type type)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
	};

	return names[type];
}

static inline uint16_t fake_get_src_port(struct rdma_cm_id *id)
{
	return *cm_address_port(&id->route.addr.src_storage);
}

static inline uint16_t fake_get_dst_port(struct rdma_cm_id *id)
{
	return *cm_address_port(&id->route.addr.dst_storage);
}

static inline int fake_set_option(struct rdma_cm_id *id, int level, int name, void *value,
				  size_t length)
{
	log_cm("option %d %d %d %zu '%.*s'", number_of(id), level, name, length, (int)length,
	       (char *)value);
	return end_call("set_option");
}

static inline int fake_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	log_cm("migrate %d to %d", number_of(id), (int)(channel - cm_channels));
	return end_call("migrate_id");
}

int getifaddrs(struct ifaddrs **ret_list)
{
	*ret_list = cm_list;
	return cm_list ? 0 : -1;
}

void freeifaddrs(struct ifaddrs *list)
{
	assert_ptr_equal(list, cm_list);
	cm_nfreed++;
}

static inline void begin_interfaces(void)
{
	static const char *const texts[] = { "198.51.100.9:0", "127.0.0.1:0", "192.0.2.7:0" };

	for (unsigned int i = 0; i < 4; i++) {
		cm_interfaces[i].ifa_next = i < 3 ? &cm_interfaces[i + 1] : NULL;
		cm_interfaces[i].ifa_addr = i ? (struct sockaddr *)&cm_own[i] : NULL;
		if (i)
			cm_address_parse(texts[i - 1], &cm_own[i]);
	}
	cm_list = cm_interfaces;
	cm_nfreed = 0;
}

void outcome_note_tolerated(struct outcome *outcome, const char *reason)
{
	(void)outcome;
	log_cm("tolerated %.*s", 30, reason);
}

void outcome_note_skipped(struct outcome *outcome, struct event_id event, enum verb verb,
			  uint32_t object, const char *why)
{
	(void)outcome;
	(void)event;
	(void)verb;
	log_cm("skipped %u %s", object, why);
}

void outcome_count_call(struct outcome *outcome, enum verb verb)
{
	(void)outcome;
	(void)verb;
	cm_told.calls++;
}

_Thread_local struct outcome_tally outcome_tally;

void outcome_count_first(struct outcome *outcome, enum outcome_count what, uint64_t n)
{
	(void)outcome;
	assert_int_equal(what, OUTCOME_EVENTS);
	cm_told.events += (int)n;
}

void outcome_note_agreement(struct outcome *outcome, uint32_t object)
{
	(void)outcome;
	(void)object;
	cm_told.agreed++;
}

void outcome_note_injected(struct outcome *outcome, const struct divergence *d)
{
	(void)outcome;
	log_cm("%u %s %s injected", d->object, d->field, d->recorded);
}

void outcome_relate_objects(struct outcome *outcome, uint32_t from, uint32_t to)
{
	(void)outcome;
	log_cm("related %u to %u", from, to);
}

bool outcome_is_explained(struct outcome *outcome, uint32_t object)
{
	(void)outcome;
	return object && object == cm_explained;
}

void outcome_note(struct outcome *outcome, const char *format, ...)
{
	char text[512];
	va_list args;

	(void)outcome;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_cm("note %s", text);
}

void outcome_add_divergence(struct outcome *outcome, const struct divergence *d)
{
	(void)outcome;
	log_cm("%u %s %s, not %s%s", d->object, d->field, d->replayed, d->recorded,
	       d->breaks ? "" : "?");
}

void differ_check_numbers(struct outcome *outcome, struct event_id event, enum verb verb,
			  uint32_t object, const char *path, int64_t recorded, int64_t replayed)
{
	(void)outcome;
	(void)event;
	(void)verb;
	log_cm("%u %s %d, not %d", object, path, (int)replayed, (int)recorded);
}

void differ_check_texts(struct outcome *outcome, struct event_id event, enum verb verb,
			uint32_t object, const char *path, const char *recorded,
			const char *replayed)
{
	(void)outcome;
	(void)event;
	(void)verb;
	log_cm("%u %s %s, not %s", object, path, replayed, recorded);
}

void differ_report_no_event(struct outcome *outcome, struct event_id event, enum verb verb,
			    uint32_t object, const char *path, const char *recorded)
{
	(void)outcome;
	(void)event;
	(void)verb;
	log_cm("%u %s none, not %s", object, path, recorded);
}

void differ_check_result(struct outcome *outcome, struct event_id event, const struct call *call,
			 int64_t ret, int err)
{
	(void)outcome;
	(void)event;
	cm_told.there = *call;
	cm_told.ret = ret;
	cm_told.err = err;
}

void cut_connection(struct replay *r, uint32_t id, uint32_t from, const char *why)
{
	(void)r;
	log_cm("cut %u for %u: %s", id, from, why);
}

int64_t pace_now(void)
{
	return CM_NOW;
}

/* Two waits, and the time is over. */
bool pace_wait(unsigned int *turns, int64_t deadline)
{
	cm_deadline = deadline;
	cm_nwaits++;
	if (cm_on_wait)
		cm_on_wait();
	return ++*turns <= 2;
}

void trace_last_times(struct trace *trace, int64_t *last, uint32_t nprocesses)
{
	(void)trace;
	memcpy(last, cm_last_times, nprocesses * sizeof(*last));
}

const struct device *devices_nth_used(const struct devices *devices, unsigned int i)
{
	(void)devices;
	return i ? NULL : &cm_device;
}

const struct device *devices_of(const struct devices *devices, const struct ibv_context *context)
{
	(void)devices;
	assert_ptr_equal(context, &cm_context);
	return &cm_device;
}

static bool cm_was_iwarp;

bool devices_was_iwarp(const struct devices *devices, const char *name)
{
	(void)devices;
	assert_string_equal(name, "recorded0");
	return cm_was_iwarp;
}

const char *recorded_device_name(const struct replay *r, uint32_t object)
{
	(void)r;
	(void)object;
	return "recorded0";
}

/* Calls of the trace. */
static struct call cm_calls[CM_EVENTS];
static struct trace_event cm_trace[CM_EVENTS];
static size_t cm_ncalls;

/* The n-th takes from 10 * n to 10 * n + 5 ns. @in, @out: their arguments, or NULL. */
static inline struct trace_event *add_call(enum verb verb, uint32_t object, const char *in,
					   const char *out)
{
	struct call *call = &cm_calls[cm_ncalls];
	struct trace_event *event = &cm_trace[cm_ncalls++];
	int64_t begin = 10 * (int64_t)cm_ncalls;

	assert_true(cm_ncalls < CM_EVENTS);
	*call = (struct call){ .verb = verb, .begin = begin, .end = begin + 5, .object = object };
	call->args = in ? args_new(in, strlen(in)) : NULL;
	call->out = out ? args_new(out, strlen(out)) : NULL;
	*event = (struct trace_event){
		.kind = TRACE_CALL,
		.id = { 1, cm_ncalls },
		.process = 1,
		.time = begin,
		.call = call,
	};
	return event;
}

static inline int learn_call(struct trace_event *event)
{
	return cm_learn_call(&replay, event, event->call->args, event->call->out);
}

/* Forget the calls so far. */
static inline void drop_calls(void)
{
	for (size_t i = 0; i < cm_ncalls; i++) {
		args_unref(cm_calls[i].args);
		args_unref(cm_calls[i].out);
	}
	cm_ncalls = 0;
}

static inline int begin_cm(void **state)
{
	(void)state;
	*cm_log = 0;
	begin_interfaces();
	cm_nids = cm_nchannels = cm_nacked = cm_nwaits = 0;
	cm_first = cm_last = 0;
	cm_fails = NULL;
	cm_error = EINVAL;
	cm_silent = cm_was_iwarp = false;
	cm_port = FIRST_PORT;
	cm_on_wait = NULL;
	cm_explained = 0;
	nobjects = 0;
	memset(cm_replicas, 0, sizeof(cm_replicas));
	memset(&cm_told, 0, sizeof(cm_told));
	memset(&cm_device.attr, 0, sizeof(cm_device.attr));
	cm_ibv_device.transport_type = IBV_TRANSPORT_IB;
	cm_options = (struct replay_options){ .timeout = CM_TIMEOUT };
	replay = (struct replay){ .options = &cm_options,
				  .outcome = (struct outcome *)(void *)&cm_told,
				  .replicas = cm_replicas,
				  .nreplicas = OBJECTS_MOST,
				  .nprocesses = 4 };
	return 0;
}

/* The calls of librdmacm are replayed, with the library of the test. */
static inline void drive_cm(void)
{
	replay.nreplicas = nobjects + 1;
	assert_int_equal(cm_learn_begin(&replay), 0);
	replay.cm->driven = true;
#define SET(name) replay.cm->lib.name = fake_##name;
	CM_LIB(SET)
	SET(join_multicast_ex)
	SET(reject_ece)
#undef SET
}

static inline int end_cm(void **state)
{
	(void)state;
	if (replay.cm) {
		cm_fini(&replay);
		assert_int_equal(cm_nchannels, 0);
	}
	map_fini(&replay.numbers);
	drop_calls();
	return 0;
}
