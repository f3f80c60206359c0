#pragma once
/*
 * The messages of a trace, for formats that know processes and messages but no queues.
 *
 * Not thread-safe.
 */
#include <stdint.h>

#include "core/store/read/trace.h"

enum { MESSAGE_RECEIVE = -1, MESSAGE_RETIRED = -1 };

/* A request, when it was posted or has completed. */
struct message {
	uint64_t id; /* unique */
	uint32_t process, thread;
	uint32_t qp;      /* object; 0: not known, as for the post of a receive to an SRQ */
	uint32_t peer;    /* the process at the other end; 0: not known, or a datagram's */
	uint32_t peer_qp; /* object: the queue pair at the other end; 0: not known */
	int opcode;       /* enum ibv_wr_opcode, or MESSAGE_RECEIVE */
	uint64_t bytes;
	int64_t time;
	int status; /* of its completion; MESSAGE_RETIRED: a later one of its queue has completed */
};

struct messages_callbacks {
	void *arg;
	/* called for each event, before its messages */
	void (*event)(void *arg, const struct trace_event *event);
	void (*posted)(void *arg,
		       const struct message *message); /* called for each accepted request */
	/* polled by @message->thread */
	void (*completed)(void *arg, const struct message *message);
};

/* Read all of @trace in time order. 0 or -errno after log_err(). */
int messages_read(struct trace *trace, const struct messages_callbacks *taker);

/* Does a request move bytes to the peer? (operation_reads(): from the peer.) */
bool message_puts(int opcode);

/*
 * Export the messages of one or several traces, read as one, into the new folder @to: completely,
 * or not at all. @write writes into @folder; 0 or -errno after log_err(). Returns an exit status.
 */
struct arguments;
int messages_export(const struct arguments *arguments, const char *to,
		    int (*write)(struct trace *trace, const char *folder));
