/*
 * Facts and findings as sentences
 */
#include "analyzer/report/sentence.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/model/words.h"
#include "analyzer/report/report.h"
#include "analyzer/rules/add_finding.h"

void sentence_process(struct text *t, struct trace *trace, uint32_t id)
{
	const struct process *process = trace_process(trace, id);
	const char *slash = process && process->exe ? strrchr(process->exe, '/') : NULL;
	char name[PROCESS_TEXT];

	text_addf(t, "%s", process_id_text(id, name));
	if (process && process->exe)
		text_addf(t, " (%s)", slash ? slash + 1 : process->exe);
}

static void put_errno(struct text *t, int error)
{
	const char *name = error > 0 ? strerrorname_np(error) : NULL;

	if (name)
		text_addf(t, "%s", name);
	else if (error == -1)
		text_addf(t, "failure");
	else
		text_addf(t, "%d", error);
}

static void put_failed(struct text *t, const struct fact *fact)
{
	text_addf(t, "%s = ", fact->what ? fact->what : "?");
	put_errno(t, fact->error);
	if (fact->because)
		text_addf(t, ": %s", fact->because);
}

static void put_hung(struct text *t, const struct fact *fact)
{
	char when[32];

	text_addf(t, "%s had not returned %s later, when the %s ended",
		  fact->what ? fact->what : "?", words_format_span(fact->lasted, when),
		  fact->ended ? "process" : "trace");
}

static void put_ended(struct text *t, struct trace *trace, const struct fact *fact)
{
	bool killed = fact->kind == FACT_KILLED;
	const char *signal = killed && fact->error > 0 ? sigabbrev_np(fact->error) : NULL;
	char at[32], last[32], live[WORDS_COUNT];

	sentence_process(t, trace, fact->process);
	if (signal)
		text_addf(t, " by SIG%s", signal);
	if (!killed)
		text_addf(t, " with status %d", fact->error);
	text_addf(t, " at %s", words_format_span(fact->time, at));
	if (fact->live)
		text_addf(t, ", with %s alive", words_format_count(fact->live, "object", live));
	text_addf(t, "; its last verb");
	if (fact->event.thread)
		text_addf(t, ", %s(),", verb_infos[fact->verb].name);
	text_addf(t, " at %s", words_format_span(fact->last, last));
}

void sentence_put_fact(struct text *t, struct trace *trace, const struct fact *fact)
{
	if (fact->kind == FACT_FAILED)
		put_failed(t, fact);
	else if (fact->kind == FACT_HUNG)
		put_hung(t, fact);
	else if (fact->kind == FACT_KILLED || fact->kind == FACT_EXITED)
		put_ended(t, trace, fact);
	else
		text_addf(t, "%s", fact->what ? fact->what : "?");
}

/* (lkey 0x2<mr1 of pd1>) */
static void put_key(struct text *t, char letter, uint32_t number, const char *name)
{
	text_addf(t, " (%ckey 0x%x", letter, number);
	if (name && *name)
		text_addf(t, "<%s>", name);
	text_addf(t, ")");
}

void sentence_request(struct text *t, const struct first_error *error, const struct cause *cause)
{
	const struct first_request *request = &error->request;
	char opcode[32], id[32], when[32];

	if (!request->id.thread) {
		text_addf(t, "its work request is unknown");
		return;
	}
	text_addf(t, "%s", report_opcode(request, opcode));
	if (request->nsge) {
		text_addf(t, " of %s at 0x%" PRIx64, WORDS_N(request->sge.length, "byte"),
			  request->sge.addr);
		put_key(t, 'l', request->sge.lkey, cause ? cause->lkey : NULL);
	}
	if (request->remote_addr || request->rkey) {
		text_addf(t, ", remote 0x%" PRIx64, request->remote_addr);
		put_key(t, 'r', request->rkey, cause ? cause->rkey : NULL);
	}
	text_addf(t, ", wr_id 0x%" PRIx64 ", posted %s, %s earlier", error->wr_id,
		  event_id_text(request->id, id),
		  words_format_span(error->time - request->posted_at, when));
}

void sentence_put_error(struct text *t, struct trace *trace, const struct first_error *error,
			const struct cause *cause)
{
	char status[32];

	text_addf(t, "%s: ", report_status(error->status, status));
	sentence_process(t, trace, error->process);
	text_addf(t, " %s", report_qp(error));
	if (cause && cause->name)
		text_addf(t, " -> %s", cause->name);
	text_addf(t, "; ");
	sentence_request(t, error, cause);
	if (error->flushes)
		text_addf(t, "; %" PRIu64 " flushed after it", error->flushes);
	if (trace_made_fault(trace, error->request.id)) {
		text_addf(t, "; a fault injected by the recorder: %s",
			  trace_made_fault(trace, error->request.id));
		return;
	}
	if (cause && cause->port)
		text_addf(t, "; %s", cause->port);
	if (cause && cause->key)
		text_addf(t, "; %s", cause->key);
	if (cause && cause->peer)
		text_addf(t, "; peer: %s", cause->peer);
}

void sentence_put_finding(struct text *t, const struct finding *finding)
{
	text_addf(t, "%s", finding->says ? finding->says : "");
	if (finding->breaks)
		text_addf(t, " Breaks when %s.", finding->breaks);
	if (finding->settles)
		text_addf(t, " To confirm or rule it out: %s.", finding->settles);
}
