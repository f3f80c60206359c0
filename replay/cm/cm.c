/*
 * Replaying calls of librdmacm: whether they are made, and the files for each kind
 *
 * 	cm_learn.c	which identifiers were connected
 * 	cm_address.c	addresses and ports
 * 	cm_call.c	calls
 * 	cm_bind.c	calls with an address
 * 	cm_event.c	events
 * 	cm_synth.c	the synthesized other end
 * 	cm_iwarp.c	queue pairs of iWARP devices
 * 	cm_lib.c	librdmacm itself
 *
 * Without librdmacm, or without a connection manager for the device, only the verbs inside its
 * calls are replayed.
 */
#include "replay/cm/cm.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/count.h"
#include "core/wire/log.h"
#include "replay/cm/cm_priv.h"

/* Why calls of librdmacm are not replayed; NULL: they are. */
static const char *prepare_library(struct replay *r)
{
	if (r->options->cm == CM_VERBS)
		return "as requested";
	if (cm_lib_load(&r->cm->lib))
		return "librdmacm.so.1 is not installed";
	if (!cm_channel_of(r, 0))
		return "this machine has no connection manager";
	if (!cm_address_probe(r))
		return "the connection manager finds no address of the device";
	return NULL;
}

int cm_begin(struct replay *r)
{
	char n[COUNT_TEXT];
	const char *why;
	int err;

	if (!r->cm_calls && !cm_has_iwarp(r))
		return 0;
	err = cm_learn_begin(r) ?: cm_pair(r);
	if (err)
		return log_err(err, "prepare the calls of librdmacm");
	why = r->pair ? "part of the other host's trace" : prepare_library(r);
	r->cm->driven = !why;
	if (why && r->cm_calls)
		outcome_note(r->outcome,
			     "%s call%s of librdmacm %s not repeated, and neither are their "
			     "events and private data; the verbs inside are replayed (%s)",
			     count_text(r->cm_calls, n), r->cm_calls == 1 ? "" : "s",
			     r->cm_calls == 1 ? "is" : "are", why);
	return 0;
}

int cm_replay(struct replay *r, const struct trace_event *event)
{
	char text[32];
	int err;

	if (!r->cm || !r->cm->driven)
		return 0;
	err = event->call->verb == VERB_rdma_get_cm_event ? cm_get_event(r, event)
							  : cm_call(r, event);
	return err < 0 ? log_err(err, "replay %s at %s", verb_infos[event->call->verb].name,
				 event_id_text(event->id, text))
		       : 0;
}

/* Report how many other ends were synthesized. */
static void report_synth(struct replay *r)
{
	char n[COUNT_TEXT];
	uint64_t made = 0;

	for (uint32_t i = 1; i < r->cm->nends; i++)
		made += r->cm->ends[i] && (r->cm->ends[i]->answered || r->cm->ends[i]->far);
	if (made)
		outcome_note(r->outcome,
			     "synthesized the peer of %s connection%s of librdmacm, with its "
			     "recorded private data",
			     count_text(made, n), made == 1 ? "" : "s");
}

void cm_clear(struct replay *r, uint32_t process)
{
	for (uint32_t i = 1; r->cm && r->cm->driven && i < r->cm->nends; i++)
		if (r->cm->ends[i] && (!process || r->cm->ends[i]->process == process))
			cm_close_end(r, r->cm->ends[i]);
}

void cm_fini(struct replay *r)
{
	struct cm *cm = r->cm;

	if (!cm)
		return;
	if (cm->driven)
		report_synth(r);
	cm_clear(r, 0);
	for (size_t i = 0; i < cm->nmade; i++) {
		cm_close_end(r, cm->made[i]);
		free(cm->made[i]);
	}
	if (cm->driven)
		cm_place_report(r);
	for (size_t i = 0; i < cm->nchannels; i++)
		if (cm->channels[i].channel)
			cm->lib.destroy_event_channel(cm->channels[i].channel);
	for (uint32_t i = 0; cm->ends && i < cm->nends; i++)
		free(cm->ends[i]);
	map_fini(&cm->waited);
	map_fini(&cm->ports);
	map_fini(&cm->of_qp);
	map_fini(&cm->joined);
	map_fini(&cm->inside_ep);
	map_fini(&cm->heard);
	free(cm->ends);
	free(cm->made);
	free(cm->inside);
	free(cm->channels);
	free(cm->places);
	free(cm->hosts);
	free(cm->last);
	free(cm);
	r->cm = NULL;
}
