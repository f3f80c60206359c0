/*
 * Verdicts
 *
 *	exit status, output     a crash, a report of a sanitizer, a hang, an assertion, silence
 *	the trace               did the failure occur, was its verb tried again?
 *	check of the trace      findings that a run without the failure has not
 */
#include "cli/torture/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/stalls.h"
#include "analyzer/report/places.h"
#include "analyzer/report/waits_text.h"
#include "analyzer/rules/rule.h"
#include "cli/torture/output.h"
#include "cli/torture/sanitizer.h"
#include "cli/torture/trial.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

static const char *const names[VERDICTS] = {
	[VERDICT_CRASH] = "crash",     [VERDICT_CORRUPT] = "corrupt", [VERDICT_HANG] = "hang",
	[VERDICT_MISUSE] = "misuse",   [VERDICT_LEAK] = "leak",       [VERDICT_SILENT] = "silent",
	[VERDICT_HANDLED] = "handled", [VERDICT_MISSED] = "missed",
};

const char *verdict_name(enum verdict verdict)
{
	return names[verdict];
}

enum verdict verdict_find(const char *name)
{
	int verdict = 0;

	while (verdict < VERDICTS && strcmp(names[verdict], name) != 0)
		verdict++;
	return (enum verdict)verdict;
}

bool verdict_is_bad(enum verdict verdict)
{
	return verdict < VERDICT_HANDLED;
}

/* Findings */

/* "COMPL-007 ibv_poll_cq(): status in reap (app.c:80)" */
static void describe_finding(const struct trial *trial, const struct finding *finding, char *text,
			     size_t size)
{
	const struct finding_step *step =
		finding->nsteps ? &finding->steps[finding->nsteps - 1] : NULL;
	char place[SITE_PLACE] = "";

	if (step)
		place_line(&trial->report, step->moment.stack, place, sizeof(place));
	snprintf(text, size, "%s %s%s%s", rules[finding->rule].id, finding->where ?: "",
		 *place ? " in " : "", place);
}

static bool is_judged(const struct finding *finding)
{
	char severity = rules[finding->rule].severity;

	return !finding->site->hazard && !finding->teller && (severity == 'E' || severity == 'W');
}

static bool reference_has(const struct reference *reference, const char *finding)
{
	for (size_t i = 0; i < reference->nfindings; i++)
		if (!strcmp(reference->findings[i], finding))
			return true;
	return false;
}

/* The first report of a sanitizer that runs without the failure do not have; @leak: of memory. */
static bool find_report(const struct reference *reference, const char *errors, bool leak,
			struct judgement *ret)
{
	struct sanitizer_report report;

	while (sanitizer_next(&errors, &report)) {
		char masked[sizeof(report.says)];

		strcpy(masked, report.says);
		output_mask(masked);
		if (report.leak != leak || reference_has(reference, masked))
			continue;
		snprintf(ret->says, sizeof(ret->says), "%s", report.says);
		ret->verdict = leak ? VERDICT_LEAK : VERDICT_CRASH;
		return true;
	}
	return false;
}

/*
 * Does a process end with an error? Then it may leave its objects to the kernel. A process that
 * destroys some of its objects, or ends with success, has forgotten the others.
 */
static bool ends_badly(const struct process *process, int status)
{
	return process && (process->status >= 0 ? process->status : status);
}

/*
 * Is the finding a consequence of a destroy that was made to fail? The object is then left, and so
 * are the objects that it uses, even if the process reports the failure and destroys the rest, or
 * gets no error from librdmacm.
 */
static bool is_consequence(const struct trial *trial, const struct finding *finding)
{
	const struct failure *failure = trial->failure;

	return failure->error && verb_infos[failure->site->verb].effect == EFFECT_DESTROY &&
	       (finding->rule == RULE_LIFE_003 || finding->rule == RULE_LIFE_004 ||
		finding->rule == RULE_CM_001);
}

/* Was a CQ overrun injected? Then the program has not made the CQ too small. */
static bool is_injected(const struct trial *trial, const struct finding *finding)
{
	return finding->rule == RULE_QUEUE_003 && strstr(trial->failure->rule, " overrun");
}

static bool is_excused(const struct trial *trial, const struct finding *finding, int status)
{
	const struct process *process = trace_process(trial->report.trace, finding->process);

	if (is_injected(trial, finding))
		return true;
	if (!ends_badly(process, status))
		return trial->failure->site->by_cm && is_consequence(trial, finding);
	return is_consequence(trial, finding) ||
	       (finding->rule == RULE_LIFE_004 && !trial->cleaned[process->id]);
}

/*
 * "ibv_modify_qp: Success": the program prints errno, which few verbs set if they return an error.
 * Such lines that it prints without a failure, too, do not count.
 */
static bool prints_success(const struct reference *reference, const struct trial *trial,
			   const struct run *run, struct judgement *ret)
{
	char line[160];

	if (!trial->failure->error || reference->success ||
	    !output_find_in_run(run, "Success", line, sizeof(line)))
		return false;
	snprintf(ret->says, sizeof(ret->says), "it prints \"%s\" for %s", line,
		 strerrorname_np(trial->failure->error));
	return true;
}

static bool judge_findings(const struct reference *reference, const struct trial *trial, int status,
			   struct judgement *ret)
{
	char text[sizeof(ret->says)];
	bool leak;

	for (size_t i = 0; i < trial->findings->n; i++) {
		const struct finding *finding = trial->findings->all[i];

		if (!is_judged(finding) || is_excused(trial, finding, status))
			continue;
		describe_finding(trial, finding, text, sizeof(text));
		if (reference_has(reference, text))
			continue;
		leak = finding->rule == RULE_LIFE_004;
		if (ret->verdict <= VERDICT_LEAK && leak)
			continue; /* a worse one is known */
		ret->verdict = leak ? VERDICT_LEAK : VERDICT_MISUSE;
		snprintf(ret->says, sizeof(ret->says), "%s", text);
		if (!leak)
			return true;
	}
	return ret->verdict == VERDICT_LEAK;
}

/* The verdict */

static void describe_crash(const struct trial *trial, int signal, struct judgement *ret)
{
	char place[SITE_PLACE] = "";

	if (trial->stack)
		place_line(&trial->report, trial->stack, place, sizeof(place));
	if (trial->verb == VERB_COUNT)
		snprintf(ret->says, sizeof(ret->says), "SIG%s", sigabbrev_np(signal));
	else
		snprintf(ret->says, sizeof(ret->says), "SIG%s after %s()%s%s", sigabbrev_np(signal),
			 verb_infos[trial->verb].name, *place ? " in " : "", place);
}

/* The process whose wait made the program hang: the first that had not ended by itself. */
static const struct stall *find_hung(const struct stalls *stalls)
{
	const struct stall *found = NULL;

	for (size_t i = 0; i < stalls->n; i++) {
		const struct stall *stall = &stalls->all[i];

		if (stall->process && !stall->well && stall->signal != -1 &&
		    (!found || stall->quiet > found->quiet))
			found = stall;
	}
	return found;
}

/* "process 2 qp1 -> process 1 qp1: IBV_WR_SEND 5:70 for 2.00 s in main (FILE:80)" */
static void describe_hang(const struct trial *trial, struct judgement *ret)
{
	const struct stalls *stalls = facts_stalls(trial->findings->facts);
	const struct stall *stall = stalls ? find_hung(stalls) : NULL;
	char place[SITE_PLACE] = "";
	struct text text = { 0 };

	snprintf(ret->says, sizeof(ret->says), "it did not end");
	if (!stall)
		return;
	if (stall->n) {
		waits_put_link(&text, trial->report.trace, stall_links(stalls, stall));
	} else {
		text_addf(&text, "process %u ", stall->process);
		waits_put_state(&text, trial->report.trace, stall);
	}
	if (stall->stack)
		place_line(&trial->report, stall->stack, place, sizeof(place));
	if (!text.failed && text.at)
		snprintf(ret->says, sizeof(ret->says), "%s%s%s", text.at, *place ? " in " : "",
			 place);
	text_fini(&text);
}

static bool judge_end(const struct reference *reference, const struct trial *trial,
		      const struct run *run, const struct run_end *end, struct judgement *ret)
{
	int signal = trial->signal
			     ?: end->status > 128 && trial_is_crash(end->status - 128)
				? end->status - 128
				: 0;
	char *errors = output_read(run, "err");
	bool known = true;

	if (errors && find_report(reference, errors, false, ret)) {
		/* worse than the signal by which it may have ended the program */
	} else if (errors && signal == SIGABRT &&
		   output_find(errors, "ssertion", ret->says, sizeof(ret->says))) {
		ret->verdict = VERDICT_CORRUPT;
	} else if (signal && !end->late) {
		ret->verdict = VERDICT_CRASH;
		describe_crash(trial, signal, ret);
	} else if (end->late) {
		ret->verdict = VERDICT_HANG;
		describe_hang(trial, ret);
	} else {
		known = false;
	}
	free(errors);
	return known;
}

/* Memory that was not freed, which a sanitizer reports when the program ends. */
static bool judge_memory(const struct reference *reference, const struct run *run,
			 struct judgement *ret)
{
	char *errors = output_read(run, "err");
	bool found = errors && find_report(reference, errors, true, ret);

	free(errors);
	return found;
}

/* Is the output equal to the reference, in the parts that are equal in all runs? */
static bool has_same_output(const struct reference *reference, const struct run *run)
{
	char *output;
	bool same;

	if (!reference->output)
		return true;
	output = output_read(run, "out");
	if (!output)
		return false;
	output_mask(output);
	same = !strcmp(output, reference->output);
	free(output);
	return same;
}

static bool is_failure_silent(const struct reference *reference, const struct trial *trial,
			      const struct run *run, const struct run_end *end)
{
	const struct failure *failure = trial->failure;

	if (end->status || trial->again || failure->site->by_cm ||
	    !(failure->error || failure->status || failure->cm_event))
		return false;
	return has_same_output(reference, run);
}

/* Nothing failed, so the program may not fail either. */
static void judge_chaos(const struct reference *reference, const struct run *run,
			const struct run_end *end, struct judgement *ret)
{
	bool same = has_same_output(reference, run);

	if (end->status || !same)
		ret->verdict = VERDICT_CORRUPT;
	snprintf(ret->says, sizeof(ret->says), "exit %d%s", end->status,
		 end->status ? ", though nothing failed"
		 : same      ? ""
			     : ", but with different output");
}

/* Append what check reports about a program that crashed or hangs. */
static void add_finding(const struct reference *reference, const struct trial *trial, int status,
			struct judgement *ret)
{
	struct judgement found = { .verdict = VERDICT_HANDLED };
	size_t used = strlen(ret->says);

	if (judge_findings(reference, trial, status, &found) && found.verdict == VERDICT_MISUSE)
		snprintf(ret->says + used, sizeof(ret->says) - used, "; %s", found.says);
}

static void judge_exit(const struct reference *reference, const struct trial *trial,
		       const struct run *run, const struct run_end *end, struct judgement *ret)
{
	if (prints_success(reference, trial, run, ret)) {
		ret->verdict = VERDICT_MISUSE;
	} else if (is_failure_silent(reference, trial, run, end)) {
		ret->verdict = VERDICT_SILENT;
		snprintf(ret->says, sizeof(ret->says), "exit 0, as if nothing had failed");
	} else if (end->status) {
		snprintf(ret->says, sizeof(ret->says), "exit %d", end->status);
	} else {
		ret->again = trial->again;
		snprintf(ret->says, sizeof(ret->says), "%s",
			 trial->again ? "tried again, exit 0" : "exit 0");
	}
}

static void judge_trial(const struct reference *reference, const struct trial *trial,
			const struct run *run, const struct run_end *end, struct judgement *ret)
{
	*ret = (struct judgement){ .verdict = VERDICT_HANDLED };
	if (!trial->occurred)
		ret->verdict = VERDICT_MISSED;
	else if (judge_end(reference, trial, run, end, ret))
		add_finding(reference, trial, end->status, ret);
	else if (judge_findings(reference, trial, end->status, ret) ||
		 judge_memory(reference, run, ret))
		return;
	else if (trial->failure->chaos)
		judge_chaos(reference, run, end, ret);
	else
		judge_exit(reference, trial, run, end, ret);
}

int verdict_judge(const struct reference *reference, const struct failure *failure,
		  const struct run *run, const struct run_end *end, struct judgement *ret_judgement)
{
	struct trial trial = { .failure = failure, .verb = VERB_COUNT };
	int err = trial_open(&trial, run);

	if (!err) {
		trial_find_crash(&trial);
		err = trial_read_events(&trial);
	}
	if (!err)
		err = trial_find_request(&trial, run);
	if (!err)
		judge_trial(reference, &trial, run, end, ret_judgement);
	trial_fini(&trial);
	return err;
}

/* Runs without failures */

static int learn_finding(struct reference *reference, const char *text)
{
	char **slot;

	if (reference_has(reference, text))
		return 0;
	slot = vec_push(reference->findings, reference->nfindings);
	if (!slot || !(*slot = strdup(text)))
		return log_err(-ENOMEM, "findings");
	return 0;
}

static int learn_findings(struct reference *reference, const struct trial *trial)
{
	char text[240];
	int err = 0;

	for (size_t i = 0; i < trial->findings->n && !err; i++) {
		if (!is_judged(trial->findings->all[i]))
			continue;
		describe_finding(trial, trial->findings->all[i], text, sizeof(text));
		err = learn_finding(reference, text);
	}
	return err;
}

static int learn_reports(struct reference *reference, const struct run *run)
{
	char *errors = output_read(run, "err");
	const char *at = errors;
	struct sanitizer_report report;
	int err = 0;

	while (at && !err && sanitizer_next(&at, &report)) {
		output_mask(report.says);
		err = learn_finding(reference, report.says);
	}
	free(errors);
	return err;
}

static int learn_output(struct reference *reference, const struct run *run, bool first)
{
	char *output = output_read(run, "out");

	if (!output)
		return log_err(-ENOMEM, "output of the program");
	output_mask(output);
	if (first) {
		reference->output = output;
		return 0;
	}
	if (reference->output && strcmp(output, reference->output)) {
		free(reference->output);
		reference->output = NULL;
	}
	free(output);
	return 0;
}

/* Refuse the program, with the last line that it wrote to stderr. */
static int refuse_program(const struct run *run, const struct run_end *end)
{
	char *errors = output_read(run, "err"), *last = errors;

	for (char *at = errors; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
		last = at;
	if (last)
		last[strcspn(last, "\n")] = '\0';
	if (end->late)
		log_note("torture: the program does not end without a failure either (--timeout)");
	else
		log_note("torture: the program fails without an injected failure: exit status "
			 "%d%s%s",
			 end->status, last && *last ? ": " : "", last ?: "");
	free(errors);
	return -EINVAL;
}

int reference_learn(struct reference *reference, const struct run *run, const struct run_end *end)
{
	struct trial trial = { .failure = NULL };
	bool first = !reference->took;
	char line[160];
	int err;

	if (end->late || end->status)
		return refuse_program(run, end);
	err = trial_open(&trial, run);
	if (!err)
		err = learn_findings(reference, &trial);
	if (!err)
		err = learn_reports(reference, run);
	if (!err)
		err = learn_output(reference, run, first);
	reference->success |= output_find_in_run(run, "Success", line, sizeof(line));
	if (end->took > reference->took)
		reference->took = end->took;
	trial_fini(&trial);
	return err;
}

void reference_fini(struct reference *reference)
{
	for (size_t i = 0; i < reference->nfindings; i++)
		free(reference->findings[i]);
	free(reference->findings);
	free(reference->output);
	*reference = (struct reference){ 0 };
}
