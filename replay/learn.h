#pragma once
/*
 * What must be known of the whole trace before its first event is replayed.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct args;
struct replay;

/* Objects, memory, connections, ports. Returns 0 or -errno after log_err(). */
int learn_trace(struct replay *r);

/*
 * The process whose memory @process has a copy of, at the same addresses: that which forked it,
 * with --processes; 0: it has memory of its own.
 */
uint32_t learn_memory_parent(const struct replay *r, uint32_t process);

/* The name of the recorded device that @object was made from; "" if it is not known. */
const char *learn_device_name(const struct replay *r, uint32_t object);

/* "fe80:0000:..." or 32 hexadecimal digits. */
bool learn_gid(const char *text, union ibv_gid *ret_gid);

/* The address of a queue pair's connection, or of an address handle; zero where there is none. */
struct ibv_ah_attr learn_address(const struct args *args, bool connection);
