#pragma once
/*
 * What the files that replay calls of librdmacm (cm*.c) share.
 *
 *	end      an identifier: a recorded one, or the synthesized other end of a connection
 *	arrival  an event that came in the replay and that no recorded call has got yet
 *	place    a recorded address and port, and the port that replaces it
 *
 * The ends of a connection are matched by their addresses: the source of one is the destination of
 * the other. In the replay, a connection request is identified by its source port.
 */
#include <netinet/in.h>

#include "core/base/map.h"
#include "core/store/db/sockaddr.h"
#include "replay/cm/cm.h"
#include "replay/cm/cm_lib.h"
#include "replay/state/state.h"

enum { CM_DATA = 256 }; /* private data: its length is a byte */

/*
 * Reject reasons that a program can give, and a SIDR status for datagrams: InfiniBand
 * specification, 12.6
 */
enum { CM_REJ_CONSUMER = 28, CM_REJ_VENDOR = 35, CM_SIDR_NO_SERVICE = 1 };

struct cm_arrival {
	struct cm_arrival *next;
	enum rdma_cm_event_type type;
	int status;
	struct rdma_conn_param conn; /* of a connection; datagrams: @ud is valid */
	struct rdma_ud_param ud;
	bool datagrams;
	uint8_t data[CM_DATA];
};

struct cm_end {
	/* learned */
	uint32_t object; /* 0: synthesized */
	uint32_t process;
	uint32_t partner; /* object of the other end; 0: not in the trace */
	uint32_t qp;      /* object: its queue pair when it was connected; 0: none */
	char src[SOCKADDR_TEXT], dst[SOCKADDR_TEXT];
	bool passive;   /* it was created by a connection request */
	bool refused;   /* there was no listener at its destination */
	bool lost;      /* the identifier's address was not found */
	bool completed; /* it sent the request, and librdmacm itself completed the connection */
	struct {
		uint32_t qp_num; /* 0: none */
		uint8_t srq;
	} far_queue; /* the queue pair of the other end, as events of this end show it */
	struct cm_end *next_alike;
	/* object: the listener that got its request; 0: this end is not passive, or not known */
	uint32_t listener;
	struct event_id
		call;   /* the rdma_listen() or rdma_connect() that took effect; thread 0: none */
	int64_t called; /* when that call began */
	/* replayed */
	struct rdma_cm_id *id;
	struct cm_arrival *first, **last;
	struct cm_end *asked; /* the other end, while its request has arrived but is not accepted */
	struct cm_end *far;   /* the synthesized other end */
	bool answered;        /* by a synthesized end */
	bool foreign_queue;   /* its queue pair is not in the trace: it has the recorded number */
	bool waits;           /* its connect, with `param' and `data', waits for a listener */
	struct rdma_conn_param param;
	uint8_t data[CM_DATA];
	struct sockaddr_storage *groups; /* multicast groups that the identifier has joined */
	size_t ngroups;
	bool datagrams;
	unsigned int silent; /* number of events that did not arrive */
};

struct cm_channel {
	uint32_t object; /* 0: the replay's own channel, for synchronous identifiers */
	struct rdma_event_channel *channel;
};

struct cm_place {
	char there[SOCKADDR_TEXT];
	bool datagrams; /* a port of RDMA_PS_UDP; another port may have the same number */
	bool refused;
	bool listened;         /* an identifier of the trace listens at it */
	uint16_t port;         /* in the replay, network order */
	struct cm_end *keeper; /* the synthesized end that has this port, or listens at it */
};

/* Used in the first pass, for each recorded thread: its last calls, which may enclose others. */
struct cm_enclosing {
	uint32_t id;        /* object: the identifier of rdma_create_qp() */
	int64_t id_end;     /* when that call ended */
	struct event_id ep; /* rdma_create_ep() */
	int64_t ep_end;
	struct event_id call; /* the waiting call, if the identifier is synchronous */
	int64_t call_end;
	uint32_t connecting; /* object: an identifier that is accepted, or got an event */
	int64_t connecting_end;
};

struct cm {
	struct cm_lib lib;
	bool driven;
	struct cm_end **ends; /* by object */
	uint32_t nends;       /* number of objects, plus one */
	struct cm_end **made;
	size_t nmade;
	struct cm_enclosing *inside; /* by thread */
	size_t ninside;
	struct map waited; /* calls on synchronous identifiers, which got events inside them */
	struct map of_qp;  /* recorded queue pairs of identifiers, to the identifiers (objects) */
	/* queue pairs that librdmacm has connected on an iWARP device of this machine */
	struct map joined;
	/* event_key(): from rdma_connect() to the later rdma_listen() that got its request */
	struct map heard;
	/* calls of rdma_create_ep() whose addresses are in calls inside them */
	struct map inside_ep;
	struct map ports; /* port in the replay, to the address of its struct cm_end */
	struct cm_channel *channels;
	size_t nchannels;
	struct cm_place *places;
	size_t nplaces;
	struct sockaddr_storage *hosts; /* pairs: a recorded IP address, and its replacement */
	size_t nhosts;
	int64_t *last; /* by process: the time of its last event; NULL: not computed yet */
};

/* cm_learn.c */
/* Move queue pair @qp, an object, to its error state; 0: none. */
void cm_fail_queue(struct replay *r, uint32_t qp);
struct cm_end *cm_end_of(const struct replay *r, uint32_t object);
struct cm_end *cm_end_at(struct replay *r, const struct trace_event *event, uint64_t handle,
			 int64_t time);
int cm_pair(struct replay *r);
/*
 * Does a listener of the trace get the request of @end? The listener may have ended before the
 * trace begins.
 */
bool cm_has_listener(const struct replay *r, const struct cm_end *end);
/* Create r->cm if the first pass has not, since it found no calls of librdmacm. 0 or -ENOMEM. */
int cm_learn_begin(struct replay *r);

/* cm_address.c: parse @text, in the form of core/store/db/sockaddr.h */
bool cm_address_parse(const char *text, struct sockaddr_storage *ret_address);
uint16_t *cm_address_port(struct sockaddr_storage *address);
/* Does the address mean the same on each machine: a group, or the wildcard? */
bool cm_address_is_general(const struct sockaddr_storage *address);
/* Does librdmacm find the replay's device by any address of this machine? */
bool cm_address_probe(struct replay *r);
/* The address of device @device on this machine. */
bool cm_address_find_own(struct replay *r, const char *device, struct sockaddr_storage *ret_own);
/* Replace the recorded IP address of @address; its port is unchanged. */
void cm_address_translate(struct replay *r, struct sockaddr_storage *address);
struct cm_place *cm_place_find(struct replay *r, const char *there, bool datagrams, bool refused);
/*
 * Note that the replay uses port @port in place of the recorded address @there; @keeper: the
 * synthesized end that owns the port, or NULL. Returns 0 or -ENOMEM.
 */
int cm_place_note(struct replay *r, const char *there, bool datagrams, bool refused, uint16_t port,
		  struct cm_end *keeper);
/* Note the replacements of addresses in the report. */
void cm_place_report(struct replay *r);

/* cm_end.c: create the identifier of @end in the replay: 0 or -errno. */
int cm_open_end(struct replay *r, struct cm_end *end, struct rdma_event_channel *channel,
		enum rdma_port_space ps);
void cm_close_end(struct replay *r, struct cm_end *end);
/* Note the port that the identifier of @end is bound to. */
int cm_note_port(struct replay *r, struct cm_end *end);
struct rdma_event_channel *cm_channel_of(struct replay *r, uint32_t object);
/* Read all events that have come. */
void cm_read_events(struct replay *r);
struct cm_arrival *cm_arrival_take(struct cm_end *end);
void cm_arrivals_drop(struct cm_end *end);
/* Wait for the next event of @end. False: no event has come by @deadline. */
bool cm_await(struct replay *r, struct cm_end *end, int64_t deadline);
bool cm_await_request(struct replay *r, struct cm_end *end, int64_t deadline);
/* Wait for an event of @type; earlier events of @end are dropped. */
bool cm_await_type(struct replay *r, struct cm_end *end, enum rdma_cm_event_type type,
		   int64_t deadline);
/*
 * The argument names of a connection's parameters: for rdma_connect(), for an event, for datagrams.
 */
struct cm_parameters {
	enum arg private_data, private_data_len, responder_resources, initiator_depth, flow_control,
		retry_count, rnr_retry_count, srq, qp_num;
};

#define CM_PARAMETERS(in)                                                                    \
	{                                                                                    \
		ARG(in.private_data), ARG(in.private_data_len), ARG(in.responder_resources), \
			ARG(in.initiator_depth), ARG(in.flow_control), ARG(in.retry_count),  \
			ARG(in.rnr_retry_count), ARG(in.srq), ARG(in.qp_num)                 \
	}

extern const struct cm_parameters cm_connection, cm_datagrams;

/*
 * Copy the private data, an argument that @of names, to @data; zeros if they were not
 * recorded. Returns its length.
 */
uint8_t cm_copy_private_data(const struct args *args, const struct cm_parameters *of,
			     uint8_t data[CM_DATA], bool *ret_known);

/* cm_event.c */
int cm_get_event(struct replay *r, const struct trace_event *event);

/* A call that is replayed. */
struct cm_task {
	struct replay *r;
	const struct trace_event *event;
	const struct call *call;
	const struct args *args;
	struct cm_end *end; /* NULL: none, or not known */
	const struct cm_lib *lib;
	bool needless; /* out: the call was not needed */
};

/* cm_bind.c: replay a call; @arg, @from, @to: its address. Returns 0, or -1 and errno. */
int cm_bind(struct cm_task *t, enum arg arg);
int cm_resolve(struct cm_task *t, enum arg from, enum arg to, int timeout_ms);
int cm_join(struct cm_task *t);
int cm_leave(struct cm_task *t);

/* cm_call.c */
int cm_call(struct replay *r, const struct trace_event *event);

/* cm_iwarp.c */
bool cm_has_iwarp(const struct replay *r);
/* Why a connection of @end is left out; NULL: it is replayed. */
const char *cm_why_not_connected(const struct replay *r, const struct cm_end *end);
/* rdma_connect() or rdma_accept() of @end was called: 0 or -ENOMEM. */
int cm_note_connected(struct replay *r, const struct cm_end *end);

/* cm_synth.c: a synthesized end; NULL if out of memory */
struct cm_end *cm_synth_new(struct replay *r);
/* Let the other end cause @event, which @end received */
void cm_synth_prepare(struct replay *r, struct cm_end *end, const struct trace_event *event,
		      int64_t deadline);
/*
 * Before @end resolves its destination: make sure that there is a listener. Returns its port, or 0.
 */
uint16_t cm_synth_listen(struct replay *r, struct cm_end *end, const struct sockaddr_storage *dst);
