#pragma once
/*
 * Differences between the recording and the replay: which of them are tolerated,
 * and how a value is printed.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct outcome;

/* A class of tolerated differences. A row without a reason ends the table. */
struct tolerance {
	const char *verb; /* without "ibv_"; a pattern of fnmatch(3) */
	const char *path; /* a pattern, too */
	const char *reason;
	bool other; /* tolerated only if the device is not the recorded one */
};
extern const struct tolerance tolerances[];

/* "EINVAL (22)" or the number. */
const char *errno_text(int64_t err, char text[64]);

/* "IBV_WC_SUCCESS (0)" or the number. */
const char *value_text(const struct enum_info *names, int64_t value, char text[96]);

/* Report a divergence of @object (0: of none), or a tolerated difference. */
void differ_check_numbers(struct outcome *outcome, struct event_id event, enum verb verb,
			  uint32_t object, const char *path, int64_t recorded, int64_t replayed);
void differ_check_texts(struct outcome *outcome, struct event_id event, enum verb verb,
			uint32_t object, const char *path, const char *recorded,
			const char *replayed);

/* The return value of a post or a notification: 0 or an errno. */
void differ_check_ret(struct outcome *outcome, struct event_id event, enum verb verb,
		      uint32_t object, int recorded, int replayed);

/* Report a recorded event of @object that does not come in the replay. */
void differ_report_no_event(struct outcome *outcome, struct event_id event, enum verb verb,
			    uint32_t object, const char *path, const char *recorded);

/* The result of a control verb: recorded in @call, replayed @ret and errno @err. */
void differ_check_result(struct outcome *outcome, struct event_id event, const struct call *call,
			 int64_t ret, int err);

/* The outputs and new objects of a control verb: JSON in the form of args_out_json(). */
int differ_check_outputs(struct outcome *outcome, struct event_id event, enum verb verb,
			 uint32_t object, const struct args *recorded, const char *replayed);

/* A recorded completion and the replayed one. */
struct differ_wc {
	struct event_id event;
	enum verb verb;
	uint32_t object, peer; /* as in struct divergence */
	uint32_t index;        /* index of the completion in its poll */
	enum ibv_qp_type type;
	const struct wc *there;
	const struct ibv_wc *here;
	uint64_t wr_id;             /* recorded wr_id of the replayed request */
	const struct ibv_cq_ex *ex; /* the CQ of the completion, if it is an extended CQ */
	bool tagged;                /* the replay's CQ reports flow tags */
	uint32_t flow_tag;
	const char *other; /* why it may belong to another request than the recorded one, or NULL */
	uint32_t length;   /* of the replayed request */
	struct event_id about, sender; /* as in struct divergence */
	bool differs;                  /* out */
};
void differ_check_completion(struct outcome *outcome, struct differ_wc *d);
