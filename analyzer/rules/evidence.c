/*
 * Which rules a trace has enough evidence for
 *
 * A rule that needs a complete record cannot be checked when events were lost: a lost creation
 * would make the next use of that address look like an error. Calls that were never recorded (table
 * `coverage`) only hide mistakes, so the rules that need them are checked in part.
 */
#include "analyzer/rules/evidence.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/model/words.h"
#include "core/store/read/coverage.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

static bool needs_evidence(enum rule_id rule, char kind)
{
	return strchr(rules[rule].evidence, kind);
}

/* The name of a blind spot in `coverage`, and the kinds of events that it hides. */
static const struct {
	const char *what;
	char kind;
	bool all; /* without this evidence, findings may be wrong */
	const char *text;
} blind[] = {
	{ "extended-qp", 'd', false, "work requests that were posted by ibv_wr_*()" },
	{ "extended-cq", 'q', false, "completions that were polled by ibv_start_poll()" },
	{ "wq", 'd', false, "receives that were posted to work queues" },
	{ "dm", 'd', false, "copies to and from device memory" },
	{ "providers", 'd', false, "the data path of a provider" },
	{ "imports", 'd', false, "some functions of providers" },
	{ "imports", 'q', false, "some functions of providers" },
	{ "jump", 'd', false, "work requests of verbs that were left by longjmp()" },
	{ "jump", 'q', false, "completions of verbs that were left by longjmp()" },
	{ "thread", 'c', true, "the calls of a thread" },
	{ "vfork", 'c', true, "the calls of a child of vfork() in the memory of its parent" },
	{ "session", 'c', true,
	  "threads and programs started after the directory of the session "
	  "was removed" },
	{ "cut", 'c', false, "some arguments of very long calls" },
};

/*
 * Functions of providers: the kinds of events that a call hides, "" none. The first row that
 * matches counts.
 */
static const struct {
	const char *name; /* a pattern of fnmatch(3) */
	const char *kinds;
	const char *text;
} direct[] = {
	{ "*dv_init_obj", "dq", "gave the program the hardware's queues" },
	{ "efadv_query_qp_wqs", "dq", "gave the program the hardware's queues" },
	{ "efadv_query_cq", "dq", "gave the program the hardware's queues" },
	{ "mlx5dv_devx_*query*", "", NULL },
	{ "mlx5dv_devx_*", "dq", "uses queues that bypass the verbs" },
	{ "mlx5dv_dr_*", "", NULL }, /* steering: no objects that a verb accepts */
	{ "mlx5dv_crypto_*", "", NULL },
	{ "mlx5dv_dek_*", "", NULL },
	{ "mlx5dv_sched_*", "", NULL },
	{ "*dv_*query*", "", NULL },
	{ "*dv_is_*", "", NULL },
	{ "*dv_get_*", "", NULL },
	{ "*dv_set_*", "", NULL },
	{ "*dv_modify_*", "", NULL },
	{ "*dv_map_*", "", NULL },
	{ "*dv_dump_*", "", NULL },
	{ "*dv_qp_ex_from_*", "dq", "builds requests that are not recorded" },
	{ "*dv_*_from_*", "", NULL },
	{ "mlx5dv_pp_*", "", NULL },
	{ "mlx5dv_*_var", "", NULL },
	{ "mlx5dv_vfio_*", "", NULL },
	{ "mlx5dv_dci_*", "", NULL },
	{ "*dv_*mkey*", "", NULL },
	{ "*dv_*_flow_matcher", "", NULL },
	{ "*dv_*_steering_anchor", "", NULL },
	{ "*dv_reserved_qpn*", "", NULL },
	{ "*dv_dm_map_*", "", NULL },
	{ "*dv_qp_cancel_*", "d", "cancels posted requests" },
	{ "*", "c", "creates or destroys objects unrecorded" },
};

static size_t find_direct(const char *name)
{
	size_t i = 0;

	while (fnmatch(direct[i].name, name, 0))
		i++;
	return i;
}

bool evidence_is_bypassed(const char *function)
{
	return strchr(direct[find_direct(function)].kinds, 'q');
}

static void note_direct_call(struct findings *findings, const char *name, bool called, uint64_t n)
{
	const size_t i = find_direct(name);
	char count[WORDS_COUNT];

	findings->blind |= strchr(direct[i].kinds, 'q') != NULL;
	findings->bypassed |= strpbrk(direct[i].kinds, "dq") != NULL;
	for (const char *kind = direct[i].kinds; *kind; kind++) {
		for (int rule = 0; rule < RULE_COUNT; rule++) {
			/* without all objects, findings may be wrong */
			if (*kind != 'c' && !needs_evidence(rule, *kind))
				continue;
			/* posts that we did not see only hide mistakes */
			if (called)
				findings_note_unchecked(findings, rule, *kind == 'd',
							"%s() %s (%s, table coverage)", name,
							direct[i].text,
							words_format_count(n, "call", count));
			else
				findings_note_unchecked(findings, rule, *kind == 'd',
							"%s(), which the program may call, %s",
							name, direct[i].text);
		}
	}
}

/*
 * The recorder was attached to a running program: outstanding requests are not known, nor are
 * objects of kinds that attaching cannot find, such as address handles.
 */
static void note_attached(struct findings *findings)
{
	findings->blind = true;
	for (int rule = 0; rule < RULE_COUNT; rule++)
		findings_note_unchecked(findings, rule, !needs_evidence(rule, 'q'),
					"the program ran already when the recording began");
}

static void note_blind_spot(struct findings *findings, const char *what, uint64_t n)
{
	char count[WORDS_COUNT];

	if (!strcmp(what, "before"))
		note_attached(findings);
	for (size_t i = 0; i < sizeof(blind) / sizeof(blind[0]); i++) {
		if (strcmp(blind[i].what, what))
			continue;
		findings->blind |= blind[i].kind == 'q' || blind[i].all;
		findings->bypassed |= blind[i].kind == 'd' || blind[i].kind == 'q';
		for (int rule = 0; rule < RULE_COUNT; rule++)
			if (blind[i].all || needs_evidence(rule, blind[i].kind))
				findings_note_unchecked(findings, rule, !blind[i].all,
							"%s were not recorded (%s, table coverage)",
							blind[i].text,
							words_format_count(n, "time", count));
	}
}

static void add_spot(void *arg, const struct coverage_sum *sum)
{
	struct findings *findings = arg;

	if (sum->function)
		note_direct_call(findings, sum->function, !strcmp(sum->what, "direct"), sum->times);
	else
		note_blind_spot(findings, sum->what, sum->times);
}

/* Note overwritten events: the remaining events have all control verbs that they need. */
static void note_overwritten(struct findings *findings, uint64_t n)
{
	for (int rule = 0; rule < RULE_COUNT && n; rule++)
		findings_note_unchecked(findings, rule, !needs_evidence(rule, 'q'),
					"%s %s older than the part that was stored",
					WORDS_N(n, "event"), n == 1 ? "is" : "are");
}

/*
 * Not from `coverage`: filtered events are counted when a thread ends, and a copy of a trace may
 * have been made before that.
 */
static void note_filtered(struct trace *trace, struct findings *findings)
{
	const char *filter = trace_meta(trace, "filter");

	if (!filter || !*filter)
		return;
	findings->blind |= strcmp(filter, "plane=data") != 0;
	for (int rule = 0; rule < RULE_COUNT; rule++)
		if (needs_evidence(rule, 'd'))
			findings_note_unchecked(findings, rule, true, "--filter %s left verbs out",
						filter);
}

/* Changes of registered memory are recorded only on request. */
static void note_memory(struct findings *findings)
{
	for (int rule = 0; rule < RULE_COUNT; rule++)
		if (needs_evidence(rule, 'm'))
			findings_note_unchecked(findings, rule, false,
						"that requires a recording with `record --memory`");
}

/* Reads of completions, and the ends of data verbs. */
static void note_strict(struct findings *findings)
{
	static const enum rule_id of_strict[] = { RULE_COMPL_001, RULE_THREAD_001 };

	for (size_t i = 0; i < sizeof(of_strict) / sizeof(*of_strict); i++)
		findings_note_unchecked(findings, of_strict[i], false,
					"that requires a recording with `record --strict`");
}

static const struct {
	const char *name; /* of `record`, and in table meta */
	void (*note)(struct findings *findings);
} options[] = { { "memory", note_memory }, { "strict", note_strict } };

enum { OPTIONS = sizeof(options) / sizeof(*options) };

static bool was_recorded_with(struct trace *trace, const char *option)
{
	const char *value = trace_meta(trace, option);

	return value && *value;
}

static int note_gaps(struct trace *trace, struct findings *findings)
{
	struct trace_loss loss = trace_loss(trace);
	uint64_t lost = loss.events > loss.overwritten ? loss.events - loss.overwritten : 0;

	findings->blind |= loss.events || loss.damaged || loss.interrupted;
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (lost)
			findings_note_unchecked(
				findings, rule, false, "%s %s", WORDS_N(lost, "event"),
				lost <= loss.late ? "came before the recording began"
				: lost == 1       ? "was lost"
						  : "were lost");
		else if (loss.damaged)
			findings_note_unchecked(findings, rule, false, "the trace is damaged");
	}
	note_overwritten(findings, loss.overwritten);
	note_filtered(trace, findings);
	if (loss.interrupted && !loss.events && !loss.damaged)
		findings_note_unchecked(
			findings, RULE_COMPL_003, true,
			"the recorder died: it is unknown whether a destroy returned "
			"later");
	return coverage_visit_sums(trace, add_spot, findings);
}

/* A gap in one of several traces affects all of their rules. */
int evidence_note_gaps(struct trace *trace, struct findings *findings)
{
	bool with[OPTIONS]; /* one of the parts was recorded with the option */
	int err = 0;

	for (size_t k = 0; k < OPTIONS; k++)
		with[k] = was_recorded_with(trace, options[k].name);
	findings->blind = false;
	for (size_t i = 0; i < trace_nparts(trace) && !err; i++) {
		findings->part = trace_part_name(trace, i);
		err = note_gaps(trace_part(trace, i), findings);
		for (size_t k = 0; k < OPTIONS; k++)
			if (with[k] && !was_recorded_with(trace_part(trace, i), options[k].name))
				options[k].note(findings);
	}
	findings->part = NULL;
	for (size_t k = 0; k < OPTIONS; k++)
		if (!with[k])
			options[k].note(findings);
	return err;
}

static const char *signal_text(int signal, char text[32])
{
	snprintf(text, 32, "signal %d", signal);
	return text;
}

enum model_end evidence_end(struct trace *trace, uint32_t id, struct findings *findings)
{
	const struct process *process = trace_process(trace, id);
	const char *ending = process && process->ending ? process->ending : "";
	int status = process ? process->status : -1;
	bool killed = status != -1 || !strcmp(ending, "killed");
	char text[32], name[PROCESS_TEXT];

	if (!strcmp(ending, "exec"))
		return MODEL_REPLACED;
	if (status != -1 && WIFEXITED(status))
		return MODEL_EXITED;
	if (findings->skip[RULE_LIFE_004]) /* not checked at all, and the reason is known */
		return killed ? MODEL_KILLED : MODEL_UNKNOWN;
	if (killed)
		findings_note_unchecked(findings, RULE_LIFE_004, true,
					"%s was killed%s%s, and its objects with it",
					process_id_text(id, name), status == -1 ? "" : " by ",
					status == -1 ? "" : signal_text(WTERMSIG(status), text));
	else
		findings_note_unchecked(findings, RULE_LIFE_004, true,
					"the end of %s was not recorded",
					process_id_text(id, name));
	findings_mark_unchecked_alike(findings, RULE_LIFE_004,
				      killed ? (status == -1 ? 1 : 2 + WTERMSIG(status)) : -1);
	return killed ? MODEL_KILLED : MODEL_UNKNOWN;
}
