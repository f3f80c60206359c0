/*
 * Differences between two completions
 *
 * Only fields that are valid by the specification are compared: for an error
 * wr_id and status; for a success also the opcode, the immediate data if any, the
 * length of what was received or fetched, and the tag of a flow rule.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/wire/event.h"
#include "replay/report/differ.h"
#include "replay/report/outcome.h"

static enum divergence_class class_of(uint64_t recorded, uint64_t replayed)
{
	if (recorded != IBV_WC_SUCCESS && replayed != IBV_WC_SUCCESS)
		return DIVERGENCE_OTHER;
	return recorded == IBV_WC_SUCCESS ? DIVERGENCE_FAILED_REPLAYED : DIVERGENCE_FAILED_RECORDED;
}

static bool is_flush(uint64_t status)
{
	return status == IBV_WC_WR_FLUSH_ERR;
}

/* Is the cause a failure of the other end, whose own completion has the reason? */
static bool is_of_other_end(uint64_t status)
{
	return status == IBV_WC_REM_OP_ERR || status == IBV_WC_REM_INV_REQ_ERR;
}

/* Write a value in the form of `verbatim dump`. */
static void write_value(const char *field, const struct enum_info *names, uint64_t value,
			char text[96])
{
	if (hex_is_usual_for(field))
		snprintf(text, 96, "0x%" PRIx64, value);
	else
		value_text(names, (int64_t)value, text);
}

static void report_difference(struct outcome *outcome, struct differ_wc *d, const char *field,
			      const char *names, uint64_t recorded, uint64_t replayed)
{
	const struct enum_info *info = names ? enum_find(names) : NULL;
	bool status = !strcmp(field, "status");
	char path[64], there[96], here[96];
	struct divergence divergence = { .event = d->event,
					 .verb = d->verb,
					 .field = path,
					 .recorded = there,
					 .replayed = here,
					 .about = d->about,
					 .sender = d->sender,
					 .object = d->object,
					 .peer = d->peer,
					 .breaks = status };

	snprintf(path, sizeof(path), "wc[%u].%s", d->index, field);
	write_value(field, info, recorded, there);
	write_value(field, info, replayed, here);
	divergence.class = status ? class_of(recorded, replayed) : DIVERGENCE_OTHER;
	divergence.symptom = status && (is_flush(replayed) || is_flush(recorded));
	divergence.remote = status && !divergence.symptom &&
			    (is_of_other_end(replayed) || is_of_other_end(recorded));
	divergence.symptom |= divergence.remote;
	outcome_add_divergence(outcome, &divergence);
	d->differs = true;
}

/* Compare two numbers of @d. @names: the enum of their names, or NULL. */
static inline void report_numbers(struct outcome *outcome, struct differ_wc *d, const char *field,
				  const char *names, uint64_t recorded, uint64_t replayed)
{
	if (__builtin_expect(recorded != replayed, 0))
		report_difference(outcome, d, field, names, recorded, replayed);
}

static void tolerate_numbers(struct outcome *outcome, uint64_t recorded, uint64_t replayed,
			     const char *reason)
{
	if (recorded != replayed)
		outcome_note_tolerated(outcome, reason);
}

/* Is byte_len valid? Not for a send or a write: its poster knows the length. */
static bool has_length(const struct differ_wc *d)
{
	if (d->ex && !d->ex->read_byte_len)
		return false; /* the program had not requested the field */
	switch ((int)d->here->opcode) {
	case IBV_WC_RECV:
	case IBV_WC_RECV_RDMA_WITH_IMM:
	case IBV_WC_RDMA_READ:
		return true;
	default:
		return false;
	}
}

/* Do both devices, the replay's and the recorded one, report the sent length? */
static bool is_sent_length(const struct differ_wc *d)
{
	return !(d->here->opcode & IBV_WC_RECV) && d->there->byte_len && d->length &&
	       d->here->byte_len == d->length && (!d->ex || d->ex->read_byte_len);
}

/* Compare extended fields of CQs; if a flow rule is missing, its tag is missing, too. */
static void compare_extras(struct outcome *outcome, struct differ_wc *d)
{
	const struct wc *there = d->there;

	if (there->parts & WC_FLOW_TAG && d->tagged && d->flow_tag)
		report_numbers(outcome, d, "flow_tag", NULL, there->flow_tag, d->flow_tag);
	else if (there->parts & WC_FLOW_TAG)
		tolerate_numbers(outcome, there->flow_tag, 0,
				 "tags of flow rules, which are not in the trace");
	if (there->parts & (WC_TIMESTAMP | WC_WALLCLOCK))
		outcome_note_tolerated(outcome, "the time of a completion");
	if (there->parts & WC_CVLAN)
		tolerate_numbers(outcome, there->cvlan, 0,
				 "flags of the link (GRH, checksums, VLAN)");
	if (there->parts & WC_TM)
		tolerate_numbers(outcome, there->tm_tag | there->tm_priv, 0, "tag matching");
}

/* The values that mlx5 and the software device put into sl: RoCE v1, and v2 over IPv6 and IPv4. */
static bool is_packet_kind(uint32_t sl)
{
	return sl == 0 || sl == 9 || sl == 10;
}

/* Is the service level the kind of a packet? That depends on the type of the replay's GID. */
static bool has_packet_kind(const struct differ_wc *d)
{
	return d->here->wc_flags & IBV_WC_GRH && is_packet_kind(d->here->sl) &&
	       is_packet_kind(d->there->sl);
}

/*
 * Compare the origin of a datagram, which was already matched by the number of its sender. The LID
 * and the P_Key index are those of the replay's port, and the service level is that of the sender's
 * address handle, unless another device maps it or the link is RoCE.
 */
static void compare_origin(struct outcome *outcome, struct differ_wc *d)
{
	static const char origin[] = "the source of a datagram on the link (LID, P_Key index)";

	if (d->type != IBV_QPT_UD || d->ex)
		return;
	if (outcome_is_other_device(outcome) || has_packet_kind(d))
		tolerate_numbers(outcome, d->there->sl, d->here->sl, origin);
	else
		report_numbers(outcome, d, "sl", NULL, d->there->sl, d->here->sl);
	tolerate_numbers(outcome, d->there->slid, d->here->slid, origin);
	tolerate_numbers(outcome, d->there->pkey_index, d->here->pkey_index, origin);
}

static void compare_success(struct outcome *outcome, struct differ_wc *d)
{
	const uint32_t flags = IBV_WC_WITH_IMM | IBV_WC_WITH_INV;
	const struct wc *there = d->there;
	const struct ibv_wc *here = d->here;

	report_numbers(outcome, d, "opcode", "ibv_wc_opcode", (uint64_t)there->opcode,
		       here->opcode);
	if (has_length(d) || is_sent_length(d))
		report_numbers(outcome, d, "byte_len", NULL, there->byte_len, here->byte_len);
	else
		tolerate_numbers(outcome, there->byte_len, here->byte_len,
				 "the length of sent data");
	if (!(here->opcode & IBV_WC_RECV) || (d->ex && !d->ex->read_wc_flags))
		return;
	compare_origin(outcome, d);
	report_numbers(outcome, d, "wc_flags", "ibv_wc_flags", there->wc_flags & flags,
		       here->wc_flags & flags);
	tolerate_numbers(outcome, there->wc_flags & ~flags, here->wc_flags & ~flags,
			 "flags of the link (GRH, checksums, VLAN)");
	if ((there->wc_flags & here->wc_flags & IBV_WC_WITH_IMM) &&
	    (!d->ex || d->ex->read_imm_data))
		report_numbers(outcome, d, "imm_data", NULL, there->imm, be32toh(here->imm_data));
}

void differ_check_completion(struct outcome *outcome, struct differ_wc *d)
{
	const struct wc *there = d->there;
	const struct ibv_wc *here = d->here;

	report_numbers(outcome, d, "status", "ibv_wc_status", (uint64_t)there->status,
		       here->status);
	if (d->other)
		tolerate_numbers(outcome, there->wr_id, d->wr_id, d->other);
	else
		report_numbers(outcome, d, "wr_id", NULL, there->wr_id, d->wr_id);
	if (there->status == IBV_WC_SUCCESS && here->status == IBV_WC_SUCCESS) {
		compare_success(outcome, d);
		compare_extras(outcome, d);
	} else {
		tolerate_numbers(outcome, there->vendor_err, here->vendor_err,
				 "vendor error codes");
	}
	if (!d->differs)
		outcome_note_agreement(outcome, d->object);
}
