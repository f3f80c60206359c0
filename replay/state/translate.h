#pragma once
/*
 * Translation of recorded handles, addresses, keys and numbers to those of the replay.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

struct replay;
struct trace_event;
struct replica;
struct replica_qp;

enum { TRANSLATE_USED = 16 }; /* no call uses more objects; a table of queues does not count */

/* The translation of the arguments of one call. */
struct translation {
	struct replay *r;
	const struct trace_event *event;
	int64_t time;
	const uint64_t *args; /* the call's arguments translated so far; NULL: not for a call */
	/* out: why something has no counterpart in the replay; NULL if everything has */
	const char *missing;
	uint32_t missing_object; /* the missing object, if the trace has it; else 0 */
	/* out: objects whose handles are among the translated arguments */
	uint32_t used[TRANSLATE_USED];
	unsigned int nused;
	char text[256];
	const char *needless;   /* out: why the call need not be made; NULL: it is */
	struct ibv_qp_cap *cap; /* the capabilities of a new queue pair, or NULL */
	struct ibv_qp_cap asked;
};

/* A handle or an address; a build_resolve of core/store/read/build.h. */
uint64_t translate_field(void *arg, const struct field_info *field, uint64_t recorded);

/* Translate the parts of @args that descriptors do not describe: numbers, ports, keys. */
void translate_call(struct translation *t, uint64_t *args);

/* Translate the addresses of memory in @args. */
void translate_memory(struct translation *t, uint64_t *args);

/*
 * Set @t->missing if an object among the arguments was destroyed since they were translated, by
 * another thread while this one waited.
 */
void translate_check_used(struct translation *t);

/*
 * Request the sizes that the program requested, not the granted ones. False: done before.
 */
bool translate_lower(struct translation *t);

/*
 * A buffer at @addr under local key *@key of @process; the key is replaced.
 * Gives @length bytes of scratch memory if the key is not known.
 */
uint64_t translate_local(struct replay *r, uint32_t process, uint64_t addr, uint64_t length,
			 uint32_t *key);

/*
 * The replay's address for the @length bytes at @addr under local key @key. NULL if the region does
 * not exist, or is not memory.
 */
void *translate_host(struct replay *r, uint32_t process, uint64_t addr, uint64_t length,
		     uint32_t key);

/* An address under remote key *@key of @process; the key is replaced. */
uint64_t translate_remote(struct replay *r, uint32_t process, uint64_t addr, uint32_t *key);

/*
 * If a region that a request of the post uses is missing, set @t->missing: the post is left out
 * then, and its queue pair @qp (NULL: of a shared queue) is not used any more.
 */
void translate_check_post(struct translation *t, const struct replica_qp *qp);

/* The same for one key, local or @remote, of @process. */
void translate_check_key(struct translation *t, uint32_t process, bool remote, uint32_t key);

/* The replay's key for remote key @key of @process. */
uint32_t translate_rkey(struct replay *r, uint32_t process, uint32_t key);

/*
 * The process of the peer of queue pair @qp; if the peer is unknown and there are two processes,
 * the other process.
 */
uint32_t translate_peer_process(const struct replay *r, const struct replica_qp *qp,
				uint32_t process);

/* The replay's number of the datagram queue pair that had number @qpn at @time. */
uint32_t translate_qpn(struct replay *r, uint32_t qpn, int64_t time);

/*
 * Does @process use an object of the process that it was forked from, without a process of its own
 * in the replay? A call that failed so in the recording would succeed in the replay: it is left out
 * with the reason translate_inherited.
 */
bool translate_is_inherited(const struct replay *r, uint32_t object, uint32_t process);
extern const char translate_inherited[];

/* Does the replay have an object of @kind at address @handle? */
bool translate_has_object(const struct replay *r, const void *handle, enum object_kind kind);

/* A file in place of all files that XRC domains were opened with; -1 if it cannot be created. */
int translate_xrc_file(void);
