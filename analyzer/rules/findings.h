#pragma once
/*
 * The findings of the rules, in the order of their events.
 *
 * A finding is a mistake that the trace proves. A hazard is a mistake that did no harm in this run:
 * the trace shows it, and what would break the program; or it shows a mistake except for a piece of
 * evidence. Both belong to a rule; a hazard has the severity 'H' whatever the rule's is.
 *
 * A site is one place in the program that breaks one rule. At most
 * FINDINGS_SHOWN of its findings are stored; all of them are counted.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/facts/facts.h"
#include "analyzer/model/lives.h"
#include "analyzer/rules/rule.h"

enum { FINDINGS_SHOWN = 10, FINDING_STEPS = 4 };

/* An event that led to a finding: "created", "destroyed", "used". */
struct finding_step {
	const char *what;
	struct moment moment;
};

struct finding_site {
	uint64_t key;
	enum rule_id rule;
	bool hazard;
	uint64_t count; /* findings of this site */
	unsigned int kept;
	struct finding *group; /* of findings_group() */
	struct finding_site *next;
};

struct finding {
	enum rule_id rule;
	unsigned int known;    /* enum finding_known */
	struct event_id event; /* the event that broke the rule */
	int64_t time;
	uint32_t process, thread;
	char *where;  /* "ibv_modify_qp(): qp" */
	char *object; /* "qp2" */
	char *says;
	char *breaks;     /* of a hazard: "the peer sends before qp1 is destroyed" */
	char *settles;    /* what would prove or disprove it: "record --memory"; or NULL */
	const char *todo; /* a constant text that replaces the advice of its rule; or NULL */
	unsigned int nsteps;
	struct finding_step steps[FINDING_STEPS];
	const struct finding_site *site;
	uint64_t of_site; /* its number among the findings of the site, from 1 */
	uint32_t *also;   /* other processes with the same finding */
	size_t nalso;
	struct finding *hidden; /* the next hidden one */
	/* a finding that includes this one, which is hidden; NULL: this one is not hidden */
	const struct finding *teller;
	/* of a group of objects */
	uint64_t bytes; /* sum over the objects */
	/* the second and the last object, by creation; .object is the first */
	char second[LIFE_NAME], last[LIFE_NAME];
	/* when these were created; 0: not known yet */
	int64_t made_first, made_second, made_last;
	uint32_t with[OBJECT_COUNT]; /* number of affected objects of other kinds */
	uint32_t disconnected; /* identifiers whose RDMA_CM_EVENT_DISCONNECTED was retrieved */
	uint32_t unanswered;   /* connection requests that were neither accepted nor rejected */
};

/* A rule, or part of a rule, for which the trace has no evidence. */
struct unchecked_rule {
	enum rule_id rule;
	bool partly;
	int alike; /* not 0: the reason is the same for all processes with this number */
	char *because;
};

enum { FINDINGS_STACKS = 64 };

struct findings {
	struct facts *facts; /* failures, independent of the rules */
	struct finding **all;
	size_t n;
	struct unchecked_rule *unchecked;
	size_t nunchecked;
	bool off[RULE_COUNT];  /* muted */
	bool skip[RULE_COUNT]; /* the rule is not checked at all; the reason is in `unchecked` */
	bool no_hazards;       /* muted */
	char fail_on;          /* the lowest severity that is bad: 'E', 'W', 'H'; 0: 'W' */
	uint64_t rules[RULE_COUNT]; /* findings of each rule, including those that are not stored */
	/* hazards of each rule, including those that are not stored */
	uint64_t hazards[RULE_COUNT];
	bool carried;        /* the current events were carried from the trace before */
	bool blind;          /* some completions are not in the trace */
	bool bypassed;       /* posts or polls bypassed the verbs */
	bool fork_not_known; /* it was reported that the kernel's behaviour at a fork is unknown */
	uint64_t events;     /* events that were read */
	unsigned int seen;   /* kinds of events that were read: bits, by enum trace_event_kind */
	int64_t last;        /* time of the last event */
	struct finding_site *sites[256];
	uint32_t stacks[FINDINGS_STACKS]; /* stacks of posts that were examined */
	/* hidden findings: not in `all`, but a site may still add to them */
	struct finding *hidden;
	/* the trace that is being searched for gaps, one of several; NULL */
	const char *part;
	int err; /* -ENOMEM: findings are missing */
};

/* Accepts NULL. */
void findings_free(struct findings *findings);

/*
 * A new finding of site @key of @rule, for the caller to fill in. NULL if enough are stored
 * already, or the rule is muted: the finding has been counted then.
 */
struct finding *findings_add(struct findings *findings, enum rule_id rule, uint64_t key);

/* The same for a hazard; the caller also fills finding.breaks. */
struct finding *findings_add_hazard(struct findings *findings, enum rule_id rule, uint64_t key);

/*
 * The one finding for the whole site @key, created by the first call; may be NULL. @counts: it is
 * one more finding, and not just more information.
 */
struct finding *findings_group(struct findings *findings, enum rule_id rule, uint64_t key,
			       bool counts);
struct finding *findings_group_hazard(struct findings *findings, enum rule_id rule, uint64_t key,
				      bool counts);

/* @finding, which must be removed from `all`, is included in @teller. */
void findings_hide(struct findings *findings, struct finding *finding,
		   const struct finding *teller);

/* Replace a text of a finding. */
void finding_text(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Set when and where it happened, from @moment: event, time, process and thread. */
void finding_at(struct finding *finding, const struct moment *moment);

/* Add a step; does nothing for a zeroed @moment. */
void finding_step(struct finding *finding, const char *what, const struct moment *moment);

/* Report that @rule is not checked, or checked only @partly. */
void findings_note_unchecked(struct findings *findings, enum rule_id rule, bool partly,
			     const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Mark the last gap, if it is of @rule, as that of one process: the text report folds all gaps with
 * the same @how (not 0).
 */
void findings_mark_unchecked_alike(struct findings *findings, enum rule_id rule, int how);

void findings_forget_unchecked(struct findings *findings);

/* The advice of @finding: its own, or the advice of its rule. */
const char *finding_advice(const struct finding *finding);

/* 'H', or the severity of its rule. */
char finding_severity(const struct finding *finding);

/*
 * How many findings @finding represents: the last stored finding of a site also counts those that
 * were not stored.
 */
uint64_t finding_times(const struct finding *finding);

/*
 * May @rule report something, though it is not checked? Hazards of THREAD-001 need only the stack
 * of the post, and no recording with --strict.
 */
static inline bool findings_may_hint(const struct findings *findings, enum rule_id rule)
{
	return !findings->off[rule] && (!findings->skip[rule] || rule == RULE_THREAD_001);
}

/* Did the trace have events for @rule to check, and were they checked? */
bool findings_checked(const struct findings *findings, enum rule_id rule);

/* Findings of @rule that are not known; and hazards. */
uint64_t findings_count_new(const struct findings *findings, enum rule_id rule);
uint64_t findings_count_new_hazards(const struct findings *findings, enum rule_id rule);

/* Sort the list of unchecked rules, so that it does not depend on the order of detection. */
void findings_sort_unchecked(struct findings *findings);

/* Findings of @severity, 'H' hazards, that are not muted and not known. */
uint64_t findings_count(const struct findings *findings, char severity);

/* A key for findings_add(), from the values that identify a site. */
uint64_t findings_key(uint64_t a, uint64_t b, uint64_t c);
