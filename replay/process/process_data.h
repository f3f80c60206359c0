#pragma once
/*
 * Posting, polling and arming queues of replayed processes, by the functions that verbs.h calls.
 * Any thread, one at a time on a queue.
 */
#include "replay/process/process_mirror.h"

/* The data of a command, allocated one after the other in a channel's buffer. */
struct process_room {
	char *at, *end;
};

/* The part of the channel's buffer that is not for arguments of a call. */
struct process_room process_room_of(const struct channel *channel);

/* Allocate zeroed memory; NULL: the buffer is full. */
void *process_room_take(struct process_room *room, size_t size);

/* Get the channel to the process of an object, for commands; process_data_end() releases it. */
struct channel *process_data_begin(const struct mirror *mirror);
int process_data_ask(struct channel *channel, enum process_command command);
void process_data_end(struct channel *channel);

/*
 * The address of a mirrored object in the process of @channel; NULL: that process does not have it.
 */
void *process_data_real(const struct channel *channel, const void *object);

/* How process_data_begin() and the others find channels and objects. */
struct process_data_callbacks {
	struct channel *(*begin)(const struct mirror *mirror);
	int (*ask)(struct channel *channel, enum process_command command);
	void (*end)(struct channel *channel);
	bool (*has)(uint64_t address); /* is the memory at @address shared by all processes? */
	bool (*owns)(const struct channel *channel, const struct mirror *mirror);
};

/* Use these functions; NULL: there are no replayed processes. */
void process_data_open(const struct process_data_callbacks *doors);

/* Set the functions of @mirror to the functions of this file. */
void process_data_hook(struct mirror *mirror);

/* Build requests as builder_run() does. */
int process_data_build(struct mirror *mirror, struct ibv_send_wr *list, uint32_t n, bool complete);
