#pragma once
/*
 * Connections. Callers hold the connection manager's lock (cm.c); each function is a command, and
 * returns 0 or -errno like the kernel's.
 */
#include "shim/soft/cm/cm_id.h"

/* The commands, with the structures of the kernel's interface. */
int cm_conn_connect(struct cm_id *id, const struct rdma_ucm_connect *cmd);
int cm_conn_accept(struct cm_id *id, const struct rdma_ucm_accept *cmd);
int cm_conn_reject(struct cm_id *id, const struct rdma_ucm_reject *cmd);
int cm_conn_disconnect(struct cm_id *id);
int cm_conn_notify(struct cm_id *id, uint32_t event);

/* Lengths of private data that programs can send and get (padded with zeros). */
enum {
	REQ_BYTES = 56,
	REP_BYTES = 196,
	REJ_BYTES = 148,
	SIDR_REQ_BYTES = 180,
	SIDR_REP_BYTES = 136,
};

/* Steps that commands and messages share (cm_react.c). */
bool cm_conn_is_ud(const struct cm_id *id);
void cm_conn_enter(struct cm_id *id, enum cm_state state);
void cm_conn_end(struct cm_id *id, enum cm_state state, int event, int status);

/* An MRA arrived: the other machine has received the message, and its program will answer later. */
void cm_conn_extend_wait(struct cm_id *id);

/*
 * Watch the peer's process. If it has ended, its end is reported after the messages that it has
 * sent.
 */
void cm_conn_watch(struct cm_id *id);

/*
 * Send @msg to the peer. -ENOENT: the peer does not exist any more. If its mailbox is full, the
 * message is sent later.
 */
int cm_conn_send(struct cm_id *id, struct cm_msg *msg);
int cm_conn_send_status(struct cm_id *id, enum cm_type type, uint32_t status);

/*
 * There is no listener, or (@full) its backlog is full: the program gets an event, as from a remote
 * host.
 */
void cm_conn_refuse(struct cm_id *id, bool full);

/* Send a held request again (id->held). */
void cm_conn_retry(struct cm_id *id);

/* The peer's process has ended. */
void cm_conn_note_peer_death(struct cm_id *id);

/* The id is destroyed: notify the other end. */
void cm_conn_hang_up(struct cm_id *id);

/* Time limit for an answer, ns. */
extern uint64_t cm_response_ns;
