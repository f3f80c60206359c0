#pragma once
/*
 * Events of completions that are delivered late.
 *
 * The program gets another descriptor in struct ibv_comp_channel: a thread of the recorder
 * retrieves the device's events, and events are sent to the program when completions become
 * visible. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

struct backlog;
struct backlog_channel;

/* A channel was created: its descriptor is replaced. */
void backlog_channel_add(struct ibv_comp_channel *channel);

/* The entry of @channel; NULL: its events are not held back. */
struct backlog_channel *backlog_channel_find(const struct ibv_comp_channel *channel);

/*
 * While the library uses @channel it must have the device's descriptor, else the program's: lend
 * before, return after that.
 */
void backlog_channel_lend(struct ibv_comp_channel *channel);
void backlog_channel_return(struct ibv_comp_channel *channel);

/*
 * The program is about to destroy @channel: the recorder's thread stops using it, and @channel gets
 * the device's descriptor back. Then call backlog_channel_undo_destroy() or
 * backlog_channel_end_destroy(). NULL: its events are not held back.
 */
struct backlog_channel *backlog_channel_begin_destroy(struct ibv_comp_channel *channel);
void backlog_channel_undo_destroy(struct backlog_channel *channel); /* the destroy has failed */
void backlog_channel_end_destroy(struct backlog_channel *channel);

/*
 * A CQ was created; or will be destroyed: then wait until its events are acknowledged. Both do
 * nothing if the CQ has no channel.
 */
void backlog_channel_add_cq(struct backlog *backlog);
void backlog_channel_remove_cq(struct backlog *backlog);

/* ibv_get_cq_event() and ibv_ack_cq_events(). */
int backlog_channel_get(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			void **ret_context);
void backlog_channel_ack(struct ibv_cq *cq, unsigned int n);
