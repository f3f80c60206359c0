#pragma once
/*
 * Names and counts that writing and reading a model share. Not thread-safe.
 */
#include "replay/load/load.h"

/* "RDMA_WRITE"; NULL: not an opcode of traffic. And the reverse; -1: unknown name. */
const char *model_opcode_name(int opcode);
int model_find_opcode(const char *name);

/* "RC". And the reverse; LOAD_TRANSPORTS: unknown name. */
const char *model_transport_name(enum load_transport transport);
enum load_transport model_find_transport(const char *name);

/* The edges of a pattern among @n ranks. */
size_t model_count_edges(enum load_pattern pattern, uint32_t n);
