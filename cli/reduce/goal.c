/*
 * What a reduced trace must reproduce
 *
 * 	a finding       `verbatim check` has the rule, of the same object; if the whole replays
 * 	                without a divergence, so does the part: each call returns what it did
 * 	a divergence    `verbatim replay` has it as a cause: event, field, and what came instead
 * 	a status        `verbatim replay` has no divergence and leaves nothing out, and errors get
 * 	                no help (--faults none): so the traffic that is left causes the status
 *
 * A synthesized peer causes whatever was recorded: a part with more such peers than the whole trace
 * proves nothing.
 */
#include "cli/reduce/goal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/rules/rule.h"
#include "cli/suggest.h"
#include "core/base/json_tree.h"
#include "core/store/db/object_name.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"
#include "core/wire/desc.h"

/* How long a trial's replay waits: FACTOR times the longest wait of the last good one + WAIT_NS. */
#define FACTOR      4
#define WAIT_NS     250000000ll
#define IN_VAIN_NS  1000000000ll /* ns: time limit if the goal is that something does not arrive */
#define WAIT_MAX_NS 10000000000ll

/* Reading a goal */

enum { WORDS = 8, WORD = 64 };

struct words {
	char at[WORDS][WORD];
	unsigned int n;
};

static bool is_filler(const char *word)
{
	static const char *const fillers[] = { "of", "at", "on", "is", "the", "finding" };

	for (size_t i = 0; i < sizeof(fillers) / sizeof(*fillers); i++)
		if (!strcasecmp(word, fillers[i]))
			return true;
	return false;
}

/* Words are separated by blanks and "="; false: too many, or too long ones. */
static bool split_words(const char *text, struct words *words)
{
	static const char apart[] = " \t=";

	words->n = 0;
	for (text += strspn(text, apart); *text; text += strspn(text, apart)) {
		size_t n = strcspn(text, apart);

		if (n >= WORD || words->n == WORDS)
			return false;
		memcpy(words->at[words->n], text, n);
		words->at[words->n][n] = '\0';
		words->n += !is_filler(words->at[words->n]);
		text += n;
	}
	return words->n > 0;
}

/* "1:60", "1:60[2]" */
static bool read_event(const char *text, struct goal *goal)
{
	unsigned int thread, i = 0;
	int end = 0, index_end = 0;
	uint64_t n;

	if (sscanf(text, "%u:%" SCNu64 "%n[%u]%n", &thread, &n, &end, &i, &index_end) < 2)
		return false;
	if (!thread || !n || (size_t)(index_end ?: end) != strlen(text))
		return false;
	goal->id = (struct event_id){ thread, n };
	goal->i = i;
	goal->indexed = index_end;
	return true;
}

static int refuse_goal(char complaint[GOAL_COMPLAINT], const char *text)
{
	snprintf(complaint, GOAL_COMPLAINT,
		 "'%.80s' is not one of: 'status of T:N = STATUS', 'divergence at T:N [FIELD]', "
		 "'RULE of OBJECT'",
		 text);
	return -EINVAL;
}

static int read_status(const struct words *words, struct goal *goal, const char *text,
		       char complaint[GOAL_COMPLAINT])
{
	const struct enum_info *info = enum_find("ibv_wc_status");

	if (words->n != 3 || !read_event(words->at[1], goal))
		return refuse_goal(complaint, text);
	for (unsigned int v = 0; v < info->nvalues; v++) {
		const char *name = info->values[v].name;

		if (strcasecmp(name, words->at[2]) != 0 &&
		    strcasecmp(name + strlen("IBV_WC_"), words->at[2]) != 0)
			continue;
		goal->status = (int)info->values[v].value;
		return 0;
	}
	snprintf(complaint, GOAL_COMPLAINT,
		 "unknown completion status '%s'; 'verbatim explain' lists them", words->at[2]);
	return -EINVAL;
}

static int read_divergence(const struct words *words, struct goal *goal, const char *text,
			   char complaint[GOAL_COMPLAINT])
{
	if (words->n > 3 || (words->n > 1 && !read_event(words->at[1], goal)))
		return refuse_goal(complaint, text);
	if (words->n == 3)
		snprintf(goal->field, sizeof(goal->field), "%s", words->at[2]);
	return 0;
}

/* Is @name the identifier or the name of a rule? */
static bool is_rule_name(const char *name)
{
	for (int i = 0; i < RULE_COUNT; i++)
		if (!strcasecmp(rules[i].id, name) || !strcasecmp(rules[i].name, name))
			return true;
	return false;
}

static int refuse_rule(char complaint[GOAL_COMPLAINT], const char *name)
{
	struct suggestion near = { .word = name };

	for (int i = 0; i < RULE_COUNT; i++) {
		suggest_name(&near, rules[i].id);
		suggest_name(&near, rules[i].name);
	}
	suggest_name(&near, "status");
	suggest_name(&near, "divergence");
	snprintf(complaint, GOAL_COMPLAINT,
		 "unknown rule '%.64s'%.64s; 'verbatim explain' lists the rules", name,
		 suggest_text(&near));
	return -EINVAL;
}

static int read_finding(const struct words *words, struct goal *goal, const char *text,
			char complaint[GOAL_COMPLAINT])
{
	struct object_name name = { .process = 0 };

	if (words->n > 2 || strchr(words->at[0], ':'))
		return refuse_goal(complaint, text);
	if (!is_rule_name(words->at[0]))
		return refuse_rule(complaint, words->at[0]);
	snprintf(goal->rule, sizeof(goal->rule), "%s", words->at[0]);
	if (words->n == 2 && (!object_name_read(words->at[1], &name) || *name.trace))
		return refuse_goal(complaint, text);
	snprintf(goal->object, sizeof(goal->object), "%s", name.name);
	goal->process = name.process;
	return 0;
}

int goal_read(const char *text, struct goal *goal, char complaint[GOAL_COMPLAINT])
{
	struct words words;

	*goal = (struct goal){ .kind = GOAL_FINDING };
	if (!split_words(text, &words))
		return refuse_goal(complaint, text);
	if (!strcasecmp(words.at[0], "status")) {
		goal->kind = GOAL_STATUS;
		return read_status(&words, goal, text, complaint);
	}
	if (!strcasecmp(words.at[0], "divergence")) {
		goal->kind = GOAL_DIVERGENCE;
		return read_divergence(&words, goal, text, complaint);
	}
	return read_finding(&words, goal, text, complaint);
}

int goal_find(struct goal *goal, struct trace *trace, char complaint[GOAL_COMPLAINT])
{
	char id[32];
	int found;

	if (goal->kind != GOAL_STATUS)
		return 0;
	found = lookup_completion(trace, goal->id, goal->status, !goal->indexed, goal->i, &goal->i);
	if (found)
		return found < 0 ? found : 0;
	snprintf(complaint, GOAL_COMPLAINT, "%s is not a poll with a completion %s",
		 event_id_text(goal->id, id), enum_name(enum_find("ibv_wc_status"), goal->status));
	return -ENOENT;
}

const char *goal_text(const struct goal *goal, char text[GOAL_COMPLAINT])
{
	char id[32];

	if (goal->kind == GOAL_STATUS)
		snprintf(text, GOAL_COMPLAINT, "completion %s[%u] with %s",
			 event_id_text(goal->id, id), goal->i,
			 enum_name(enum_find("ibv_wc_status"), goal->status));
	else if (goal->kind == GOAL_DIVERGENCE)
		snprintf(text, GOAL_COMPLAINT, "divergence at %s%s%s",
			 goal->id.thread ? event_id_text(goal->id, id) : "any event",
			 *goal->field ? ": " : "", goal->field);
	else
		snprintf(text, GOAL_COMPLAINT, "finding %s%s%s", goal->rule,
			 *goal->object ? " of " : "", goal->object);
	return text;
}

/* Checking a trial */

static void name_replay(const struct goal_how *how, bool no_faults, bool first, const char *path,
			const char *argv[GOAL_ARGUMENTS])
{
	const char *all[] = { "verbatim",  "replay", "--format", "json",
			      "--threads", "serial", "--device", how->device ?: "soft" };
	unsigned int n = sizeof(all) / sizeof(*all);

	memcpy(argv, all, sizeof(all));
	if (how->timeout) {
		argv[n++] = "--timeout";
		argv[n++] = how->timeout;
	}
	if (how->faults || no_faults) {
		argv[n++] = "--faults";
		argv[n++] = how->faults ?: "none";
	}
	if (first)
		argv[n++] = "--fail-fast";
	argv[n++] = "--";
	argv[n++] = path;
	argv[n] = NULL;
}

void goal_command(const struct goal *goal, const struct goal_how *how, const char *path,
		  const char *argv[GOAL_ARGUMENTS])
{
	const char *check[] = { "verbatim", "check", "--format", "json", "--", path, NULL };

	if (goal->kind == GOAL_FINDING)
		memcpy(argv, check, sizeof(check));
	else
		name_replay(how, goal->kind == GOAL_STATUS,
			    goal->kind == GOAL_STATUS || goal->first, path, argv);
}

void goal_replay_command(const struct goal_how *how, const char *path,
			 const char *argv[GOAL_ARGUMENTS])
{
	name_replay(how, true, true, path, argv);
}

static const struct json_node *member_of(const struct json_node *node, const char *name)
{
	return node && node->kind == JSON_OBJECT ? json_find_member(node, name, strlen(name))
						 : NULL;
}

static const char *text_of(const struct json_node *node, const char *name)
{
	const struct json_node *member = member_of(node, name);

	return member && member->kind == JSON_TEXT ? member->text : "";
}

static int64_t number_of(const struct json_node *node, const char *name)
{
	const struct json_node *member = member_of(node, name);

	return member && (member->kind == JSON_INT || member->kind == JSON_BOOL) ? member->number
										 : -1;
}

static size_t count_of(const struct json_node *node, const char *name)
{
	const struct json_node *member = member_of(node, name);

	return member ? member->count : 0;
}

/* True if nothing was requested, or the same text. */
static bool is_asked(const char *asked, const char *text)
{
	return !*asked || !strcmp(asked, text);
}

static void copy_if_empty(char *to, size_t size, const char *text)
{
	if (!*to)
		snprintf(to, size, "%s", text);
}

/* "wc[3].status" and "wc[0].status" are the same: earlier completions may be missing. */
static bool is_field(const char *asked, const char *field)
{
	size_t n = strcspn(asked, "["), m = strcspn(field, "[");

	if (!*asked || !strcmp(asked, field))
		return true;
	return asked[n] && n == m && !strncmp(asked, field, n) &&
	       !strcmp(asked + strcspn(asked, "]"), field + strcspn(field, "]"));
}

static bool is_rule(const struct goal *goal, const struct json_node *finding)
{
	return (!strcasecmp(goal->rule, text_of(finding, "rule")) ||
		!strcasecmp(goal->rule, text_of(finding, "name"))) &&
	       is_asked(goal->object, text_of(finding, "object")) &&
	       (!goal->process || goal->process == number_of(finding, "process"));
}

/*
 * Does the part break a rule that the whole trace does not break? Then the part does not show what
 * happened.
 */
static bool has_new_rule(struct goal *goal, bool whole, const struct json_node *root)
{
	const struct json_node *finding = json_first(member_of(root, "findings"));
	char rule[GOAL_NAME + 2];

	for (; finding; finding = json_next(finding)) {
		if (strcmp(text_of(finding, "severity"), "error") != 0)
			continue;
		snprintf(rule, sizeof(rule), " %s ", text_of(finding, "rule"));
		if (whole)
			text_addf(&goal->rules, "%s", rule);
		else if (!goal->rules.at || !strstr(goal->rules.at, rule))
			return true;
	}
	return false;
}

void goal_fini(struct goal *goal)
{
	text_fini(&goal->rules);
}

static bool has_finding(struct goal *goal, bool whole, const struct json_node *root)
{
	const struct json_node *finding = json_first(member_of(root, "findings"));

	while (finding && !is_rule(goal, finding))
		finding = json_next(finding);
	if (!finding)
		return false;
	if (whole) {
		copy_if_empty(goal->object, sizeof(goal->object), text_of(finding, "object"));
		if (!goal->process && number_of(finding, "process") > 0)
			goal->process = (uint32_t)number_of(finding, "process");
		sscanf(text_of(finding, "event"), "%u:%" SCNu64, &goal->id.thread, &goal->id.n);
	}
	return true;
}

/* Numbers that a device assigns differ each time: only names can be compared. */
static bool is_name(const char *text)
{
	return *text >= 'A' && *text <= 'Z';
}

static bool is_divergence(const struct goal *goal, const struct json_node *divergence)
{
	char id[32];

	return (!goal->id.thread ||
		!strcmp(event_id_text(goal->id, id), text_of(divergence, "event"))) &&
	       is_field(goal->field, text_of(divergence, "field")) &&
	       is_asked(goal->replayed, text_of(divergence, "replayed")) &&
	       is_asked(goal->request, text_of(divergence, "request"));
}

static bool has_divergence(struct goal *goal, bool whole, const struct json_node *root)
{
	const struct json_node *at = json_first(member_of(root, "divergence"));

	while (at && !is_divergence(goal, at))
		at = json_next(at);
	if (!at)
		return false;
	if (whole) {
		sscanf(text_of(at, "event"), "%u:%" SCNu64, &goal->id.thread, &goal->id.n);
		copy_if_empty(goal->field, sizeof(goal->field), text_of(at, "field"));
		copy_if_empty(goal->request, sizeof(goal->request), text_of(at, "request"));
		goal->in_vain = !strncmp(text_of(at, "replayed"), "no ", 3);
		if (is_name(text_of(at, "replayed")))
			copy_if_empty(goal->replayed, sizeof(goal->replayed),
				      text_of(at, "replayed"));
	}
	return true;
}

/* Was nothing left out, and did nothing differ? */
static bool is_clean(const struct json_node *root, int exit)
{
	return exit == 0 && number_of(root, "divergences") == 0 && number_of(root, "whole") == 1;
}

static bool has_no_more_peers(struct goal *goal, bool whole, const struct json_node *root)
{
	size_t made = count_of(member_of(root, "made"), "peers");

	if (whole)
		goal->made = made;
	return made <= goal->made;
}

int64_t goal_timeout(const struct goal *goal)
{
	int64_t ns = goal->longest * FACTOR + (goal->in_vain ? IN_VAIN_NS : WAIT_NS);

	return ns < WAIT_MAX_NS ? ns : WAIT_MAX_NS;
}

static void note_longest_wait(struct goal *goal, const struct json_node *root)
{
	int64_t ns = number_of(root, "longest_wait_ns");

	goal->longest = ns < 0 ? 0 : ns < WAIT_MAX_NS ? ns : WAIT_MAX_NS;
}

bool goal_is_shown(struct goal *goal, bool whole, int exit, const char *json, size_t n)
{
	struct json_node *root = NULL;
	bool shown;

	if ((exit != 0 && exit != 1) || json_parse(json, n, &root))
		return false;
	if (goal->kind == GOAL_FINDING)
		shown = has_finding(goal, whole, root) && !has_new_rule(goal, whole, root);
	else if (goal->kind == GOAL_DIVERGENCE)
		shown = has_divergence(goal, whole, root) && has_no_more_peers(goal, whole, root);
	else
		shown = is_clean(root, exit) && has_no_more_peers(goal, whole, root);
	if (shown && goal->kind != GOAL_FINDING)
		note_longest_wait(goal, root);
	free(root);
	return shown;
}

bool goal_replays(struct goal *goal, bool whole, int exit, const char *json, size_t n)
{
	struct json_node *root = NULL;
	bool clean;

	if (exit != 0 || json_parse(json, n, &root))
		return false;
	clean = is_clean(root, exit) && has_no_more_peers(goal, whole, root);
	if (clean)
		note_longest_wait(goal, root);
	free(root);
	return clean;
}

void goal_explain(const struct goal *goal, int exit, const char *json, size_t n,
		  char complaint[GOAL_COMPLAINT])
{
	const char *command = goal->kind == GOAL_FINDING ? "check" : "replay";
	struct json_node *root = NULL;
	const struct json_node *first;

	if (exit > 1 || exit < 0 || json_parse(json, n, &root)) {
		snprintf(complaint, GOAL_COMPLAINT, "'verbatim %s' on the excerpt %s", command,
			 exit < 0 ? "did not end" : "fails");
		return;
	}
	first = json_first(member_of(root, "divergence"));
	if (goal->kind == GOAL_STATUS && first)
		snprintf(complaint, GOAL_COMPLAINT,
			 "the replay differs from the recording at %s: %s is %s in the replay "
			 "(--faults recorded injects errors as recorded)",
			 text_of(first, "event"), text_of(first, "field"),
			 text_of(first, "replayed"));
	else if (goal->kind == GOAL_STATUS)
		snprintf(complaint, GOAL_COMPLAINT, "the replay leaves events out");
	else
		snprintf(complaint, GOAL_COMPLAINT,
			 "'verbatim %s' does not report the finding or divergence", command);
	free(root);
}
