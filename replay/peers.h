#pragma once
/*
 * Which queue pair of the trace talks to which.
 *
 * Given all queue pairs and their connections, finds the one that a number meant.
 * Numbers are reused after a destroy, so the time decides, and whether the
 * connection goes both ways. One thread.
 */
#include <stdint.h>

struct peers;

int peers_new(struct peers **ret_peers);

/* Accepts NULL. */
void peers_free(struct peers *peers);

/* Queue pair @id (object) was @number from @created to @destroyed. Returns 0 or -ENOMEM. */
int peers_add(struct peers *peers, uint32_t id, uint32_t number, int64_t created,
	      int64_t destroyed);

/* It was connected to number @dest. Returns 0 or -ENOMEM. */
int peers_connect(struct peers *peers, uint32_t id, uint32_t dest);

/*
 * The queue pair that @id meant by number @dest at @time; @id 0 asks for a
 * datagram's. Returns its object, or 0: it is not in the trace.
 */
uint32_t peers_find(const struct peers *peers, uint32_t id, uint32_t dest, int64_t time);
