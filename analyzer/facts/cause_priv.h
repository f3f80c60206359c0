#pragma once
/*
 * Facts about a completion in error. For cause.c and cause_peer.c.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/cause.h"
#include "analyzer/facts/outage.h"
#include "analyzer/model/abi.h"

struct life;
struct peer;

enum { CAUSE_TEXT = 256 };

/* The state when the completion was polled. */
struct noted_error {
	struct cause cause;
	struct event_id event; /* the poll, and the index of the completion */
	uint32_t index;
	int64_t time;
	int64_t slack; /* uncertainty of the other end's clock, ns */
	int status;
	int64_t posted_at;     /* the request; 0 not known */
	struct moment destroy; /* of the other queue pair, returned or not; zeroed: none */
	struct moment rtr;     /* the other end went to RTR; id 0:0: not known */
	int64_t tried;         /* ns for which the request was retried, at least; 0: not known */
	int state;             /* of the other queue pair; or QP_UNKNOWN */
	struct moment moved;   /* the event that led to the state */
	bool empty;            /* its receive queue was empty */
	/* messages that used the last receives of the queue pair, and were not polled */
	uint32_t unpolled;
	/* receives of the SRQ whose queue pairs were destroyed before they were polled */
	uint32_t lost;
	char loser[LIFE_NAME]; /* the last of these queue pairs */
	bool waiting;          /* for the first receive posted after that */
	bool missed;           /* events are missing, so that receive is not known */
	/* receives that the peer had posted when the error was polled, since its last reset */
	uint64_t posted;
	uint32_t dropped;          /* receives that the last reset removed */
	struct moment last_posted; /* the last receive posted */
	uint32_t room;             /* capacity of the receive queue; 0 not known */
	uint64_t queue;            /* handle of the receive queue: QP or SRQ */
	struct moment full;        /* the queue's first completion after all `high` were posted */
	/* largest number of posted receives; 0: the queue was never refilled */
	uint32_t high;
	char srq[LIFE_NAME]; /* the SRQ, and `users`: its queue pairs; "": no SRQ */
	unsigned int users;
	/*
	 * when the SRQ's limit was armed last, and the limit event that has disarmed it; 0:0: none
	 */
	struct moment armed, disarmed;
	/* the queue pair that consumed most receives since `full`; `taken`: how many */
	char user[LIFE_NAME];
	uint64_t taken;
	/* the CQ of its receives, which may have had more completions than entries */
	struct {
		char name[LIFE_NAME]; /* "": the CQ was not full */
		uint32_t entries;
		uint64_t could;
		int64_t polled; /* when it was last polled; 0: never */
	} cq;
	char *disagree; /* why the peer does not accept packets of this end; NULL: it may */
	/* a send of the peer whose completion was not polled: it may have failed; id 0:0: none */
	struct event_id unpolled_send;
	char *unpolled_key;           /* why that send has failed, NULL: not known */
	int rnr_retry, min_rnr_timer; /* -1 not known */
	struct event_id receive;      /* the receive posted first after the error; 0:0: none */
	int64_t received;
	struct outage_victim victim, theirs; /* of this end and of the other; .process 0: none */
	char *answer;  /* what to check if no other reason is known; NULL: nothing */
	char *nowhere; /* the path of this end leads nowhere; NULL: it may lead to the other end */
	/* the peer is not connected to this end: not yet, or to another queue pair */
	struct {
		uint64_t handle; /* 0: it is connected to this end */
		uint32_t number; /* of this end */
		struct moment rtr;
		uint32_t told; /* its dest_qp_num, if it is in RTR or later */
	} astray;
};

struct causes {
	struct trace *trace;
	const struct first_list *errors;
	struct noted_error **all; /* by index in errors->all; NULL: nothing is known */
	size_t n;
	struct outages *outages;
	/* errors that were noted before first_errors_note_poll() got their completions */
	struct noted_error **fresh;
	size_t nfresh;
	unsigned int waiting;
};

/* Replace a sentence. */
void cause_set_text(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Note the current receive queue of the other end, to which @sent messages have come. */
void cause_note_receives(struct noted_error *noted, const struct life *other, uint64_t sent);

/* Note the state of the CQ of those receives. */
void cause_note_cq(struct noted_error *noted, const struct life *other);

/* @peer, which has the destination number of @qp, is not connected to @qp. */
void cause_note_misconnected(struct noted_error *noted, const struct life *qp,
			     const struct peer *peer);

/* A modify has succeeded: it may have connected the other end of @noted. */
void cause_note_modify(const struct causes *causes, struct noted_error *noted,
		       const struct trace_event *event);

/* Complete the sentence about the other end; @own: the error of this end. */
void cause_describe_peer(const struct causes *causes, const struct model *model,
			 struct noted_error *noted, const struct first_error *own);
