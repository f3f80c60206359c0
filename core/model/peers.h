#pragma once
/*
 * Which queue pairs are connected: the only place that decides this.
 *
 * Finds the queue pair to which a number and an address refer, given all queue pairs and their
 * connections. Numbers are reused after a destroy, and two hosts use the same numbers, so the
 * address decides, then whether the connection goes both ways, then the sequence numbers (PSNs),
 * then the time.
 *
 * Unrelated machines have equal numbers, LIDs and link-local GIDs. On two hosts of a merged trace
 * queue pairs are therefore peers only if each was connected to a known address of the other, and
 * one expects the PSN with which the other begins.
 *
 * Not thread-safe until all is known, thread-safe afterwards.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/place.h"

struct peers;

/* How the peer was found; each value is more certain than the one before. */
enum peers_known {
	PEERS_UNKNOWN, /* the peer is not in the trace */
	PEERS_NUMBER,  /* a queue pair had the number; its address is unknown */
	PEERS_ADDRESS, /* the port of the queue pair had the address, too */
	PEERS_BOTH,    /* it was also connected back */
};

struct peers_qp {
	uint32_t id;     /* object, not 0 */
	uint32_t device; /* object; 0 not known */
	uint32_t host;   /* of a merged trace; else 0 */
	uint32_t number;
	int64_t created, destroyed;
};

/* A queue pair was connected. */
struct peers_link {
	uint32_t dest;
	struct place place; /* zeros: not known */
	int64_t time;
};

int peers_new(struct peers **ret_peers);

/* Accepts NULL. */
void peers_free(struct peers *peers);

/* Returns 0 or -ENOMEM; peers_add_place() and peers_connect() likewise. */
int peers_add(struct peers *peers, const struct peers_qp *qp);

/* Add an address of port @port of @device; an unknown address is ignored. */
int peers_add_place(struct peers *peers, uint32_t device, uint8_t port, const struct place *place);

/* Add a connection of queue pair @id; set the port that it uses, 1 by default. */
int peers_connect(struct peers *peers, uint32_t id, const struct peers_link *link);
void peers_use_port(struct peers *peers, uint32_t id, uint8_t port);

/* Set the PSN with which @id begins to send, or that it expects first, in its latest connection. */
void peers_send_psn(struct peers *peers, uint32_t id, uint32_t psn);
void peers_receive_psn(struct peers *peers, uint32_t id, uint32_t psn);

/*
 * The queue pair to which @id was connected at @time: the one with number @dest at @place (NULL:
 * unknown). @id is connected at @time, or was connected earlier. Returns its object, or 0: it is
 * not in the trace. @ret_known may be NULL.
 */
uint32_t peers_find(const struct peers *peers, uint32_t id, uint32_t dest,
		    const struct place *place, int64_t time, enum peers_known *ret_known);

/*
 * The queue pair with @number at @place (NULL: not known) at @time, to or from which datagrams of
 * @id (0: not known) are sent. If several fit equally, @id itself is not chosen: two hosts may use
 * equal numbers. Returns its object, or 0.
 */
uint32_t peers_find_datagram(const struct peers *peers, uint32_t id, uint32_t number,
			     const struct place *place, int64_t time);

/*
 * Was a queue pair certainly connected to @id, although @id was never connected to it? Then the
 * peer of @id is in the trace, whatever number @id was connected to.
 */
bool peers_is_claimed(const struct peers *peers, uint32_t id);

/* Known address @i, from 0, of port @port of @device; NULL past the last. */
const struct place *peers_known_place(const struct peers *peers, uint32_t device, uint8_t port,
				      size_t i);

/* The name of @known as in table `connection`, such as "both"; NULL: unknown. */
const char *peers_known_name(enum peers_known known);
