#pragma once
/*
 * The arguments of the rules' functions, and the sentences that they share.
 *
 * For the files of the rules (life.c, compl.c, fork.c), check.c and the report.
 */
#include "analyzer/rules/findings.h"
#include "analyzer/model/model.h"
#include "analyzer/rules/rule.h"

struct check {
	struct trace *trace;
	struct model *model;
	struct findings *findings;
};

/* "ibv_create_qp(): qp_init_attr.send_cq" for a use */
void finding_set_use(struct finding *finding, const struct model_use *use);

/*
 * A finding of @rule at @moment, one for each place in the program; if that is not known, for each
 * process. @object may be NULL. Returns NULL as findings_add() does.
 */
struct finding *check_add_finding(struct check *check, enum rule_id rule,
				  const struct moment *moment, const struct life *object,
				  const char *where);

/* The same for a hazard; the caller also sets the condition under which the program breaks. */
struct finding *check_add_hazard(struct check *check, enum rule_id rule,
				 const struct moment *moment, const struct life *object,
				 const char *where);

/* findings_add() for a destroy, with its place and object filled in; and for a hazard. */
struct finding *check_add_destroy(struct check *check, enum rule_id rule,
				  const struct model_destroy *destroy);
struct finding *check_add_destroy_hazard(struct check *check, enum rule_id rule,
					 const struct model_destroy *destroy);

/*
 * A finding about the whole life of a queue or CQ, one for each place that creates it; @part tells
 * several of one rule apart.
 */
struct finding *check_add_life(struct check *check, enum rule_id rule, const struct life *life,
			       const char *where, uint64_t part);

/* As check_add_life(), for a hazard. */
struct finding *check_add_life_hazard(struct check *check, enum rule_id rule,
				      const struct life *life, const char *where);

/* Where requests are posted: the last post is an example. */
void finding_set_last_post(struct finding *finding, const struct queue *queue, uint32_t process);

/*
 * Does a destroy that has not returned wait in vain for an acknowledgement? If that is not certain,
 * @rule is reported as partly checked.
 */
bool check_ack_wait(struct check *check, enum rule_id rule, const struct model_destroy *destroy);

/* The event of a use as a moment; data verbs have no stack. */
struct moment use_moment(const struct model_use *use);

/* The effect of a use on its object: "used", "destroyed", "destroy failed". */
const char *use_effect_text(const struct model_use *use);

/* The result of the call: "; the call returned 22 (Invalid argument)". */
const char *use_result_text(const struct model_use *use, char *text, size_t size);

/* "qp2 (number 0x11)", "mr1 (lkey 0x1000)", "pd1" */
const char *object_name_text(const struct life *object, char *text, size_t size);

/* Was the trace recorded with --strict? */
bool check_is_strict(const struct check *check);
