#pragma once
/*
 * Recorded facts about objects, at any point of the replay. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/model/place.h"
#include "gen/verbs_gen.h"

struct args;
struct call;
struct object;
struct replay;
struct wr;

/*
 * The verb that replays @call: for a verb of newer libraries, an equivalent one that every library
 * has.
 */
enum verb recorded_verb(const struct call *call);

/* The address of a queue pair's connection, or of an address handle; zero where there is none. */
struct ibv_ah_attr recorded_address(const struct args *args, bool connection);

/* Where @av leads; NULL: not known. */
struct place recorded_place(const struct ibv_ah_attr *av);

/* The queue pair that @id was connected to by @time; 0: it is not in the trace. */
uint32_t recorded_peer(const struct replay *r, uint32_t id, int64_t time);

/*
 * The queue pair with number @dest at @av (NULL: not known), to which a failed call would have
 * connected, or which a datagram goes to or comes from: peers_find(), peers_find_datagram().
 */
uint32_t recorded_find_intended(const struct replay *r, uint32_t id, uint32_t dest,
				const struct ibv_ah_attr *av, int64_t time);
uint32_t recorded_datagram(const struct replay *r, uint32_t id, uint32_t number,
			   const struct ibv_ah_attr *av, int64_t time);

/* The device on which @object was created, or NULL. */
const struct object *recorded_device(const struct replay *r, uint32_t object);

/* The name of the recorded device on which @object was created; "" if it is not known. */
const char *recorded_device_name(const struct replay *r, uint32_t object);

/*
 * The process whose memory @process has a copy of, at the same addresses: with --processes its
 * parent; 0: it has memory of its own.
 */
uint32_t recorded_memory_parent(const struct replay *r, uint32_t process);
