#pragma once
/*
 * Posts that reach the device later, while the program continues.
 *
 * The program's post returns at once. Its request is copied, with its elements, inline data and
 * header, and a thread posts it when it is due. Later requests of the same queue wait for it. Any
 * thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Does any request wait? Unlike postponed_has_key() this takes no lock, so it may be called by a
 * thread that holds a lock of the provider, between ibv_wr_start() and ibv_wr_complete().
 */
bool postponed_has_any(void);

/*
 * Do requests of @queue wait: the sends of a queue pair; or its receives (postponed_recvs_of()), or
 * a shared queue?
 */
bool postponed_has_key(const void *queue);

/* Functions of the provider. */
typedef int post_send_fn(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
typedef int post_recv_fn(void *, struct ibv_recv_wr *, struct ibv_recv_wr **);

/*
 * Copy one request. A thread posts it by @behind after @ns or later, and after earlier requests. 0
 * or ENOMEM.
 */
int postponed_add_send(struct ibv_qp *qp, const struct ibv_send_wr *wr, uint64_t ns,
		       post_send_fn *behind);
int postponed_add_recv(void *queue, const void *key, const struct ibv_recv_wr *wr, uint64_t ns,
		       post_recv_fn *behind);

/* The key for the receives of a queue pair, whose own address is the key for its sends. */
static inline const void *postponed_recvs_of(const void *queue)
{
	return (const char *)queue + 1;
}

/* Post all requests of @qp now: it is about to fail, and they must be flushed. */
void postponed_release(const struct ibv_qp *qp);

/* @object, a queue pair or a shared queue, is reset or destroyed: forget its requests. */
void postponed_forget(const void *object);
