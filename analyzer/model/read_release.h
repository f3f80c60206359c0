#pragma once
/*
 * Messages at which the peer deregisters memory that may still be read from it.
 *
 *	here	READ r ... SEND m, without a fence	r is outstanding
 *	peer	polls m, deregisters what r reads	m may come before the data of r is read
 *
 * Stored with the send queue of r. Counted only if the thread that polled m deregisters the memory
 * next: nothing else can have told it that r is complete.
 *
 * Not thread-safe.
 */
#include <stdint.h>

#include "analyzer/model/moment.h"

struct key;
struct life;
struct model;
struct queue;
struct trace_event;

struct read_release {
	uint64_t message;         /* the ordinal of the last message of this kind; 0: none */
	uint32_t rkey;            /* of its r */
	struct moment read, send; /* the posts of both */
	uint64_t n;               /* regions that were deregistered; valid from the first on: */
	struct moment first_read, first_send, freed;
	uint32_t region; /* object */
};

/* The last such message that was polled, while nothing else was. */
struct read_release_polled {
	uint32_t process, thread; /* 0: none */
	uint64_t n;               /* of the poll's T:N */
	uint32_t sender;          /* the queue pair of the READ: object */
	uint32_t rkey;
	uint64_t context;
	struct moment read, send;
};

/* The last @taken requests of @sends were posted. */
void read_release_note_post(struct queue *sends, uint32_t taken);

/* A message to @qp was polled. */
void read_release_note_message(struct model *model, const struct trace_event *event,
			       const struct life *qp);

/* The region of @key is about to be deregistered. */
void read_release_note_dereg(struct model *model, const struct trace_event *event,
			     const struct key *key);
