#pragma once
/*
 * The recorders of a job on one node: they share a session and a trace, which one collector writes.
 *
 * Each is used by one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/wire/session.h"

/* A member; the fields below `session' are the collector's. */
struct node {
	char path[SESSION_PATH]; /* of the node file */
	int door;                /* the node file, locked; -1: not locked */
	int members;             /* locked by each member as long as it runs */
	int messages;            /* the file to which the collector prints */
	int ends;                /* a file of struct node_end, one after the other */
	unsigned int expected;   /* members, of this node; 0: not known */
	struct session session;  /* a member's */

	int ready;            /* a pipe to the member that started the collector */
	uint64_t empty_since; /* CLOCK_MONOTONIC: there are no members; 0: there are */
	off_t ends_read;
};

/* The program of a member has ended, with a status as from waitpid(). */
struct node_end {
	int pid, status;
};

/*
 * Do all ranks of this node share the trace named @pattern (-o)? Yes, if a launcher has started us
 * and the name contains neither rank nor process.
 */
bool node_is_shared(const char *pattern);

/*
 * Join the collector of the trace at @path, or start it: @collect(@arg, node) runs in its process,
 * and returns its exit status. Returns 0; or the exit status.
 */
int node_join(struct node *node, const char *path, int (*collect)(void *arg, struct node *node),
	      void *arg);

/* The name of this node: the launcher's, else the host's. */
void node_name(char name[SESSION_TEXT]);

/* What a node's collector records, as `verbatim top` shows it: @command of each rank. */
void node_describe(const char *command, char text[SESSION_TEXT]);

/*
 * Collector: the session is complete, members can join. From now on the output of this process goes
 * to them. 0 or -errno after log_err().
 */
int node_open(struct node *node, const struct session *session);

/*
 * Collector: are there members, or may expected ones still come? Expected members may come until
 * @linger ns after the other members have ended.
 */
bool node_has_members(struct node *node, const struct session *session, int64_t linger);

/* Collector: the next end of a program; false: none yet. */
bool node_next_end(struct node *node, struct node_end *ret_end);

/* Collector: end, unless a member has come. Members that come later wait for our end. */
bool node_close(struct node *node, const struct session *session);

/* A member's program has ended, and is still a zombie. */
void node_report_end(const struct node *node, const struct node_end *end);

/*
 * Leave the collector. The last member waits until the trace is complete, prints the collector's
 * messages, and returns its exit status; others return 0, and so does the last one if another
 * recorder joins.
 */
int node_leave(struct node *node);
