#pragma once
/*
 * The tables that the replays of a pair exchange before both begin.
 *
 * Not thread-safe.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/place.h"
#include "replay/device/devices.h"

/* A port of a recorded device, and the port that replaces it. */
struct pair_port {
	struct port here;
	struct place *known; /* the port's known recorded addresses */
	size_t nknown;
};

/*
 * A queue pair from its creation, or from a reset, to the next reset or its destruction: it is
 * connected at most once.
 */
struct pair_life {
	uint32_t object, process; /* object and process in its trace */
	uint32_t number;
	uint32_t port; /* index */
	uint32_t type; /* enum ibv_qp_type */
	bool shared;   /* the queue pair receives with a shared queue */
	bool connected;
	uint32_t dest; /* number of the peer, at address: */
	struct ibv_ah_attr av;
	bool has_rq_psn, has_sq_psn;
	uint32_t rq_psn, sq_psn;
	uint64_t finished; /* requests up to the last one that was answered */
};

/* Memory of the other end that requests of a life accessed, up to the last that succeeded. */
struct pair_use {
	uint32_t life, rkey;
	uint64_t last;
};

/* Messages that a life received, for datagrams those of one sender. Streams are known by index. */
struct pair_stream {
	uint32_t life;
	uint32_t source; /* number of the sender; 0: the life is connected */
	uint64_t received;
};

struct pair_table {
	struct pair_port *ports;
	size_t nports;
	struct pair_life *lives;
	size_t nlives;
	struct pair_use *uses;
	size_t nuses;
	struct pair_stream *streams;
	size_t nstreams;
};

void pair_table_fini(struct pair_table *table);

/* The parts, each sent as a message. */
enum pair_part { PAIR_PORT, PAIR_LIFE, PAIR_USE, PAIR_STREAM, PAIR_PARTS };
enum { PAIR_PART_MOST = 8192 };

size_t pair_table_count(const struct pair_table *table, enum pair_part part);
size_t pair_table_pack(const struct pair_table *table, enum pair_part part, size_t i,
		       uint8_t bytes[PAIR_PART_MOST]);

/* Add a part that the other replay sent: 0, -EBADMSG if it is invalid, -ENOMEM. */
int pair_table_unpack(struct pair_table *table, enum pair_part part, const uint8_t *bytes,
		      size_t length);

/* Are all its indices in range? */
bool pair_table_is_sound(const struct pair_table *table);
