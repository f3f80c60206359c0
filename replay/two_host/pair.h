#pragma once
/*
 * A replay whose other half is replayed on another host, at the same time.
 *
 * Each host has the trace of its own half. Queue pairs that were connected to one of the other
 * host's are connected to that again, and what only its device knows (numbers, keys, addresses)
 * comes over one connection, as does what keeps the order between the two. r->pair is NULL where
 * there is no other half, and all of this does nothing.
 *
 * What is called while events are replayed may be called by any thread that has the replay.
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
	const char *listen, *peer; /* one of them, as meet_parse() reads it */
	const void *key;
	size_t key_length;
	int64_t wait; /* ns, for the other one to be there, and to be ready */
};

/* Find the other replay: 0 or -errno after log_err(). */
int pair_open(struct replay *r);

/* After the trace's control verbs were learned: tell each other, and join. 0 or -errno likewise. */
int pair_meet(struct replay *r);

/* Before the first event: wait until the other one is ready, too. */
int pair_begin(struct replay *r);

/* Before @event is replayed: wait for what the other half did before. After it: tell. */
void pair_before(struct replay *r, const struct trace_event *event);
void pair_after(struct replay *r, const struct trace_event *event);

/*
 * After the last event, while all is there still: wait for the other one's last event. @differs:
 * what this half comes to. 0, or -errno after log_err() where the other one did not get to its end.
 */
int pair_end(struct replay *r, bool differs);

/* Accepts that nothing was opened. @err: why this replay has ended early; 0: it has not. */
void pair_fini(struct replay *r, int err);

/* Is the connection that queue pair @object made at @time (call's begin) with the other host? */
bool pair_has(const struct replay *r, uint32_t object, int64_t time);

/* Does @object, as it is connected now, talk to the other host? */
bool pair_is_joined(const struct replay *r, uint32_t object);

/*
 * Its end there: the number here, waited for, and the largest MTU there; false: it is not joined.
 */
bool pair_connect(struct replay *r, uint32_t object, uint32_t *ret_number, enum ibv_mtu *ret_mtu);

/* Turn recorded address @av of @from into that of the end of @object there. */
void pair_path(struct replay *r, uint32_t object, const struct device *from,
	       struct ibv_ah_attr *av);

/* The same of an address handle; false: it is not the other host's. */
bool pair_address(struct replay *r, const struct device *from, struct ibv_ah_attr *av);

/* Memory of the end of @event's queue pair there: replaces both. */
void pair_remote(struct replay *r, const struct trace_event *event, uint32_t index, uint64_t *addr,
		 uint32_t *rkey);

/* The datagram queue pair that request @wr of @event goes to: its number here; 0: not there. */
uint32_t pair_datagram(struct replay *r, const struct trace_event *event, const struct wr *wr);

/* Is @number at @av (NULL: anywhere) one of the other host's for sure? For datagrams. */
bool pair_has_datagram(const struct replay *r, uint32_t number, const struct ibv_ah_attr *av);

/* The number here of who sent completion @wc of a datagram; 0: nobody of the other host. */
uint32_t pair_source(struct replay *r, const struct wc *wc);
