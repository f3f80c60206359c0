#pragma once
/*
 * Changes of traffic: more ranks, other sizes, two kinds of traffic at once. Not thread-safe.
 *
 * Each returns 0; or -errno after log_err(), whose message names what the user must change.
 */
#include "replay/load/load.h"

/*
 * Create @factor times as many ranks: patterns are continued. A new sender has the track of one of
 * its class. Senders that belong to no pattern are dropped if they have at most a twentieth of all
 * requests and bytes (a job exchanges addresses when it starts), and counted; else -ENOTSUP.
 */
int load_scale_ranks(struct load *load, uint32_t factor);

/* Multiply the bytes of all requests but atomics. -ERANGE: a size would not fit into 31 bits. */
int load_scale_sizes(struct load *load, double factor);

/*
 * Add the ranks of @other, and stretch both so that their numbers of requests are in the ratio @own
 * : @others. The total rate is the sum of both rates; the shorter traffic begins again until the
 * longer ends. @other is empty afterwards. For more than two, @own is the sum of the earlier
 * weights.
 */
int load_mix(struct load *load, double own, struct load *other, double others);
