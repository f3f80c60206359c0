#pragma once
/*
 * Communication identifiers: an rdma_cm_id of a program.
 *
 * Callers hold the connection manager's lock (cm.c).
 */
#include "shim/soft/cm/cm_objects.h"

/* Create an id in @channel. 0 or -errno. */
int cm_id_new(struct cm_channel *channel, uint16_t ps, uint8_t qp_type, struct cm_id **ret_id);
/* Free a destroyed id, with or without an unsent message, and remove it from its channel. */
void cm_id_free(struct cm_id *id);

/* The id with @handle. -ENOENT, or -EINVAL if it belongs to another channel. */
int cm_id_get(struct cm_channel *channel, uint32_t handle, struct cm_id **ret_id);
struct cm_id *cm_id_by_serial(uint32_t serial);
struct cm_id *cm_id_by_peer(const struct cm_name *peer);
struct cm_name cm_id_name(const struct cm_id *id);
/* Free the id's handle: the program cannot use the id any more. */
void cm_id_drop_handle(struct cm_id *id);

void cm_id_change_channel(struct cm_id *id, struct cm_channel *channel);

/*
 * Add an event to the channel's queue, to be filled in; NULL if it cannot be delivered: the id was
 * never accepted, or out of memory.
 */
struct cm_event *cm_id_event(struct cm_id *id, int type, int status);

/*
 * Remove the next event of @id, or the event of the request that created @id, from @from, and
 * return it.
 */
struct cm_event *cm_id_take_event(struct cm_channel *from, const struct cm_id *id);

/* A request has left the queue: the listener's backlog has space again. */
void cm_id_request_done(const struct cm_event *event);

/* Bind to the port of id->src; if that is 0, choose one. */
int cm_id_bind_port(struct cm_id *id);

/* In a child: forget all ids. */
void cm_id_forget(void);
