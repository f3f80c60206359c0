#pragma once
/*
 * Requests, as keys see them: which element, and which remote key, does not fit?
 *
 * One thread.
 */
#include "analyzer/model/lives.h"

struct model;

/* Look at the keys of a post on @queue, which is alive and its process's own. 0 or -ENOMEM. */
int keys_post(struct model *model, const struct trace_event *event, struct life *queue);

/* Request @i of a post uses an address handle of another protection domain. */
void keys_tell_ah(struct model *model, const struct trace_event *event, const struct life *queue,
		  const struct life *ah, uint32_t i);

/* What the other end must allow, of enum ibv_access_flags, for an operation; 0: it names no key. */
uint32_t keys_needed(int opcode);

/*
 * Are all keys of the domain of @queue known that were made by verbs? They may be older than the
 * recording if the domain is.
 */
bool keys_saw_all(struct model *model, const struct life *queue);

/* A completion in error may be that of a request with an unknown key. */
void keys_error(struct model *model, const struct trace_event *event, const struct wc *wc);
