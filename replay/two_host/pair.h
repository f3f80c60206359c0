#pragma once
/*
 * A replay whose other half is replayed on another host at the same time.
 *
 * Each host has the trace of its own half. Queue pairs that were connected to the other host are
 * connected to it again. QP numbers, keys and addresses, which only the other host's device knows,
 * come over one connection; so does the other replay's progress, which keeps the order of both.
 * r->pair is NULL if there is no other half; these functions then do nothing. A pair is the two
 * replays together, as in --pair; hence pair_*.
 *
 * The functions that are called while events are replayed may be called by any thread with access
 * to the replay.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay;
struct trace_event;
struct device;
struct wc;
struct wr;

/* --listen, --peer */
struct pair_options {
	const char *listen, *peer; /* one of the two is set, in the form of meet_parse() */
	const void *key;
	size_t key_length;
	/* ns in which the other replay must connect, and in which it must become ready */
	int64_t wait;
};

/* Connect to the other replay: 0 or -errno after log_err(). */
int pair_open(struct replay *r);

/*
 * After the trace's control verbs were learned: exchange the tables, and match them. 0 or -errno
 * likewise.
 */
int pair_meet(struct replay *r);

/* Before the first event: wait until the other replay is ready, too. */
int pair_begin(struct replay *r);

/*
 * Before @event is replayed: wait for the other half's earlier events. After it: report progress.
 */
void pair_wait_before(struct replay *r, const struct trace_event *event);
void pair_report_after(struct replay *r, const struct trace_event *event);

/*
 * After the last event, while all objects still exist: wait for the other replay's last event.
 * @differs: this half has divergences. 0, or -errno after log_err() if the other replay did not
 * reach its end.
 */
int pair_end(struct replay *r, bool differs);

/* Accepts that nothing was opened. @err: why this replay has ended early; 0: it has not. */
void pair_fini(struct replay *r, int err);

/*
 * Does the connection that queue pair @object made at @time (the call's begin) lead to the other
 * host?
 */
bool pair_has(const struct replay *r, uint32_t object, int64_t time);

/* Is @object currently connected to the other host? */
bool pair_is_joined(const struct replay *r, uint32_t object);

/*
 * The peer of @object on the other host: waits for its number; @ret_mtu is the largest MTU of that
 * host. False: no such peer.
 */
bool pair_connect(struct replay *r, uint32_t object, uint32_t *ret_number, enum ibv_mtu *ret_mtu);

/* Replace @av, as recorded on device @from, by the address of the other host's end of @object. */
void pair_translate_path(struct replay *r, uint32_t object, const struct device *from,
			 struct ibv_ah_attr *av);

/*
 * Replace the address of an address handle in the same way; false: it does not lead to the other
 * host.
 */
bool pair_translate_address(struct replay *r, const struct device *from, struct ibv_ah_attr *av);

/* Set *@addr and *@rkey to the other host's memory for request @index of post @event. */
void pair_translate_remote(struct replay *r, const struct trace_event *event, uint32_t index,
			   uint64_t *addr, uint32_t *rkey);

/*
 * The datagram queue pair that request @wr of @event goes to: its number on the other host; 0: not
 * on the other host.
 */
uint32_t pair_find_datagram_qp(struct replay *r, const struct trace_event *event,
			       const struct wr *wr);

/* Is @number at @av (NULL: anywhere) certainly one of the other host's? For datagrams. */
bool pair_has_datagram(const struct replay *r, uint32_t number, const struct ibv_ah_attr *av);

/* The number of the sender of completion @wc of a datagram; 0: none of the other host. */
uint32_t pair_find_source(struct replay *r, const struct wc *wc);
