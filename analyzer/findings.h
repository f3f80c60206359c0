#pragma once
/*
 * What the rules found, in the order it happened.
 *
 * One place in the program that breaks one rule is a site: at most
 * FINDINGS_SHOWN of its findings are kept, all of them are counted.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/lives.h"
#include "analyzer/rule.h"

enum { FINDINGS_SHOWN = 10, FINDING_STEPS = 4 };

/* A moment that led to a finding: "created", "destroyed", "used". */
struct finding_step {
	const char *what;
	struct mark mark;
};

struct finding_site {
	uint64_t key;
	enum rule_id rule;
	uint64_t count; /* findings of this site */
	unsigned int kept;
	struct finding *group; /* of findings_group() */
	struct finding_site *next;
};

struct finding {
	enum rule_id rule;
	struct event_id event; /* that broke it */
	int64_t time;
	uint32_t process, thread;
	char *where;  /* "ibv_modify_qp(): qp" */
	char *object; /* "qp2" */
	char *says;
	unsigned int nsteps;
	struct finding_step steps[FINDING_STEPS];
	const struct finding_site *site;
	uint64_t of_site; /* the how-manieth of it, from 1 */
	uint64_t bytes;   /* of all objects of a group */
};

/* The first completion in error of a queue pair that is not a flush. */
struct first_error {
	uint32_t process, qp; /* object, 0 unknown */
	uint32_t qp_num;
	struct event_id event; /* poll */
	uint32_t index;        /* of its completions */
	int64_t time;
	int status;
	uint32_t vendor_err;
	uint64_t wr_id;
	struct event_id request; /* 0:0: not known, and so is what follows */
	uint32_t request_index;
	uint32_t candidates; /* requests of that wr_id that it may be instead, it included */
	int64_t posted_at;
	uint32_t stack; /* of the post, 0 not known */
	bool is_recv;
	int opcode; /* enum ibv_wr_opcode; -1 a receive */
	uint32_t nsge;
	struct sge sge; /* the first */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t flushes; /* completions flushed after it */
};

/* A rule, or a part of it, that the trace has no evidence for. */
struct unchecked {
	enum rule_id rule;
	bool partly;
	char *because;
};

struct findings {
	struct finding **all;
	size_t n;
	struct first_error *errors;
	size_t nerrors;
	struct unchecked *unchecked;
	size_t nunchecked;
	bool off[RULE_COUNT];       /* muted */
	bool skip[RULE_COUNT];      /* not checked at all: see unchecked */
	uint64_t rules[RULE_COUNT]; /* findings of each, those that are not kept, too */
	bool carried;               /* what happens now did so in the trace before this one */
	bool blind;                 /* there were completions that the trace does not have */
	uint64_t events;            /* read */
	int64_t last;               /* time of the last */
	struct finding_site *sites[256];
	int err; /* -ENOMEM: something is missing here */
};

/* Accepts NULL. */
void findings_free(struct findings *findings);

/*
 * A new finding of the site @key of @rule, to be filled; NULL where enough of
 * them are kept, or the rule is off: it has been counted then.
 */
struct finding *findings_add(struct findings *findings, enum rule_id rule, uint64_t key);

/* The one finding for all of the site @key, made by the first call; may be NULL. */
struct finding *findings_group(struct findings *findings, enum rule_id rule, uint64_t key);

/* Replace a text of a finding. */
void finding_text(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Nothing for a zeroed @mark. */
void finding_step(struct finding *finding, const char *what, const struct mark *mark);

/* Say that @rule is not checked, or not in all of it (@partly). */
void findings_unchecked(struct findings *findings, enum rule_id rule, bool partly,
			const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Findings of @severity that are not muted. */
uint64_t findings_count(const struct findings *findings, char severity);

/* A number for findings_add() of what makes a site one. */
uint64_t findings_key(uint64_t a, uint64_t b, uint64_t c);
