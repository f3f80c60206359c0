#pragma once
/*
 * Which queue pairs were connected to each other, from the control verbs of a trace: only this
 * module passes them to core/model/peers.h.
 *
 * Not thread-safe until it is complete, thread-safe afterwards.
 */
#include <stdint.h>

#include "core/base/map.h"
#include "core/model/peers.h"
#include "core/store/finish/source_calls.h"

struct objects;

/* A queue pair and its peer during one connection: a row of table `connection`. */
struct connection {
	struct event_id id; /* the call that connected it */
	uint32_t process;
	uint32_t qp;          /* object */
	uint32_t peer;        /* object; 0: not in the trace */
	enum peers_known how; /* how the peer is known */
	uint32_t dest;        /* queue pair number of the peer */
	struct place place;   /* address of the peer's port; zeros: not known */
	int64_t since, until; /* ns; INT64_MAX: to the end of the trace */
	int64_t made;         /* when the call of @id returned; INT64_MAX: never */
};

struct connections {
	struct peers *peers;
	struct connection *list; /* sorted by qp, since */
	size_t count;
	size_t *first; /* by qp: index in @list of its first connection, or where it would be */
	uint32_t nobjects;
	struct place *handles; /* addresses of address handles */
	size_t nhandles;
	struct map handle_of; /* object of an address handle: 1 + its index in @handles */
};

/*
 * Find the connections from the calls of @sources, whose objects are @objects. 0 or -errno after
 * log_err().
 */
int connections_learn(const struct source_calls *sources, size_t n, const struct objects *objects,
		      struct connections *ret);

/* Accepts zeroed connections. */
void connections_fini(struct connections *connections);

/* The last connection of @qp that had begun by @time; NULL: none. */
const struct connection *connections_at(const struct connections *connections, uint32_t qp,
					int64_t time);

/* The first connection of @qp; NULL: it was never connected. */
const struct connection *connections_first(const struct connections *connections, uint32_t qp);

/* The last queue pair with which @qp was connected in both directions by @time; 0: unknown. */
uint32_t connections_peer(const struct connections *connections, uint32_t qp, int64_t time);

/* The destination of address handle @ah, an object; NULL: unknown. */
const struct place *connections_handle(const struct connections *connections, uint32_t ah);

enum { CONNECTION_GID = 2 * PLACE_GID + 1 };

/*
 * Write the GID of a connection into @text as in table `connection`, and return it; NULL: it has
 * none.
 */
const char *connection_gid(const struct connection *connection, char text[CONNECTION_GID]);

/* Rebuild table `connection` from tables `object` and `call`. 0 or -errno after log_err(). */
int connections_build(sqlite3 *db);
