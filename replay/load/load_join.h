#pragma once
/*
 * Senders that are alike become one class, and the patterns of their edges are found. Not
 * thread-safe.
 */
#include "replay/load/load.h"

/*
 * Join classes with the same transport, and numbers of requests, operations and bytes that differ
 * by at most a tenth; then split off the edges of each class that form a pattern. If no launcher
 * has numbered the ranks, they are numbered along a ring through all of them, if there is one;
 * otherwise starting with the rank that all others send to, or that sends to all. Edges and classes
 * are in the order of ranks.
 * 0 or -errno after log_err().
 */
int load_join(struct load *load);

/* Give @class the edges of @pattern among @n ranks, each @times times; 0 or -ENOMEM. */
int load_make_edges(struct load_class *class, enum load_pattern pattern, uint32_t n,
		    uint32_t times);
