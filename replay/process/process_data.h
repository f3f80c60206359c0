#pragma once
/*
 * Posts, polls and arming of replayed processes' queues, by the functions that verbs.h calls. Any
 * thread, one at a time on a queue.
 */
#include "replay/process/process_mirror.h"

/* What a command needs, put behind each other into a channel's room. */
struct process_room {
	char *at, *end;
};

/* The part that is not for arguments of a call. */
struct process_room process_room_of(const struct channel *channel);

/* Zeroed; NULL: it is full. */
void *process_room_take(struct process_room *room, size_t size);

/* A channel to the process of an object, for commands; the last must be given back. */
struct channel *process_data_begin(const struct mirror *mirror);
int process_data_ask(struct channel *channel, enum process_command command);
void process_data_end(struct channel *channel);

/* An object of ours at its address in the process of @channel; NULL: that does not have it. */
void *process_data_real(const struct channel *channel, const void *object);

/* Where process_data_begin() and the rest find them. */
struct process_data_doors {
	struct channel *(*begin)(const struct mirror *mirror);
	int (*ask)(struct channel *channel, enum process_command command);
	void (*end)(struct channel *channel);
	bool (*has)(uint64_t address); /* is that memory in all processes? */
	bool (*owns)(const struct channel *channel, const struct mirror *mirror);
};

/* NULL: there are no replayed processes. */
void process_data_open(const struct process_data_doors *doors);

/* Let a copy call the functions here. */
void process_data_hook(struct mirror *mirror);

/* As builder_run(). */
int process_data_build(struct mirror *mirror, struct ibv_send_wr *list, uint32_t n, bool complete);
