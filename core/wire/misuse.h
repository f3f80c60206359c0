#pragma once
/*
 * The misuses that the recorder detects, most of them only with --strict (struct event_misuse in
 * event.h)
 */

/* The misuse as an enum value, and its name in a trace. */
/* clang-format off */
#define EACH_MISUSE(_)                                                                           \
	_(ERROR_FIELD, "field-of-error")     /* not valid on a completion in error */            \
	_(UNASKED_FIELD, "field-not-asked")  /* not in the wc_flags of its CQ */                 \
	_(READ_OUTSIDE, "read-outside")      /* a field was read with no batch open */           \
	_(START_INSIDE, "start-inside")      /* ibv_start_poll() inside an open batch */          \
	_(NEXT_OUTSIDE, "next-outside")      /* ibv_next_poll() with no batch open */            \
	_(END_OUTSIDE, "end-outside")        /* ibv_end_poll() with no batch open */             \
	_(DESTROY_INSIDE, "destroy-inside")  /* a QP with an open batch of its CQ; of: CQ */      \
	_(OVERLAP, "overlap")                /* two threads in an object of a thread domain */   \
	_(BATCH_SHARED, "batch-shared")      /* another thread ended this ibv_wr_* batch */  \
	_(DESTROY_OVERLAP, "destroy-overlap") /* another thread is using the object */           \
	_(LATE_WR_ID, "late-wr-id")          /* wr_id of ibv_qp_ex was set behind its request */

/* The functions of struct ibv_cq_ex that read a field. */
#define EACH_CQ_FIELD(_)                                                                         \
	_(opcode) _(vendor_err) _(byte_len) _(imm_data) _(qp_num) _(src_qp) _(wc_flags) _(slid)  \
	_(sl) _(dlid_path_bits) _(completion_ts) _(cvlan) _(flow_tag)                            \
	_(completion_wallclock_ns) _(tm_info)
/* clang-format on */

enum event_misuse_what {
#define MISUSE(name, word) MISUSE_##name,
	EACH_MISUSE(MISUSE)
#undef MISUSE
		MISUSES,
};

enum event_cq_field {
#define FIELD(name) CQ_FIELD_##name,
	EACH_CQ_FIELD(FIELD)
#undef FIELD
		CQ_FIELDS,
};
