#pragma once
/*
 * Checks the keys of requests: which element, or which remote key, does not match?
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;

/* Check the keys of a post on @queue, which is alive and belongs to its process. 0 or -ENOMEM. */
int keys_check_post(struct model *model, const struct trace_event *event, struct life *queue);

/* Request @i of a post uses an address handle of another protection domain. */
void keys_report_ah(struct model *model, const struct trace_event *event, const struct life *queue,
		    const struct life *ah, uint32_t i);

/*
 * Are all keys known that verbs created in the protection domain of @queue? If the domain is older
 * than the recording, keys may be, too.
 */
bool keys_has_seen_all(struct model *model, const struct life *queue);

/* A completion in error may be that of a request with an unknown key. */
void keys_note_error(struct model *model, const struct trace_event *event, const struct wc *wc);
