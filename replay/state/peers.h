#pragma once
/*
 * Which queue pair of the trace talks to which.
 *
 * Given all queue pairs and their connections, finds the one that a number and an
 * address meant. Numbers are reused after a destroy, and two hosts have the same
 * ones, so the address decides, then whether the connection goes both ways, then the
 * time. One thread until all is known, any thread afterwards.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peers;

int peers_new(struct peers **ret_peers);

/* Accepts NULL. */
void peers_free(struct peers *peers);

/*
 * Queue pair @id (object) of @device (object; 0 unknown) was @number from @created to @destroyed.
 * Returns 0 or -ENOMEM.
 */
int peers_add(struct peers *peers, uint32_t id, uint32_t device, uint32_t number, int64_t created,
	      int64_t destroyed);

/* It uses port @port of its device. */
void peers_use_port(struct peers *peers, uint32_t id, uint8_t port);

/* A program was told that port @port of @device (object) has this LID, or this GID. */
int peers_told_lid(struct peers *peers, uint32_t device, uint8_t port, uint16_t lid);
int peers_told_gid(struct peers *peers, uint32_t device, uint8_t port, const union ibv_gid *gid);

/* It was connected to number @dest at @av (NULL: not known). Returns 0 or -ENOMEM. */
int peers_connect(struct peers *peers, uint32_t id, uint32_t dest, const struct ibv_ah_attr *av);

/*
 * Is there a queue pair that was connected to @id, for sure, and that @id was never connected to?
 * The peer of @id is in the trace then, whatever number @id was connected to.
 */
bool peers_claimed(const struct peers *peers, uint32_t id);

/*
 * The queue pair that @id meant by number @dest at address @av (NULL: not known) at @time; @id 0
 * asks for a datagram's. Returns its object, or 0: it is not in the trace.
 */
uint32_t peers_find(const struct peers *peers, uint32_t id, uint32_t dest,
		    const struct ibv_ah_attr *av, int64_t time);

/*
 * Address @i, from 0, that port @port of @device is known by: a LID, or a GID where that is 0.
 * False past the last.
 */
bool peers_place(const struct peers *peers, uint32_t device, uint8_t port, size_t i,
		 uint16_t *ret_lid, union ibv_gid *ret_gid);
