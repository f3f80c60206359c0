/* STATE-005: datagrams to a queue pair number that is not their receiver's */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum { MOST = 256 };

/* "qp1 of process 2 (server)", of the object @id, which may be destroyed */
static const char *name_qp(struct check *check, uint32_t process, uint32_t id, char text[MOST])
{
	const struct object *object = id ? trace_object(check->trace, id) : NULL;
	char name[128];

	snprintf(text, MOST, "%s of %s", object && object->name ? object->name : "a queue pair",
		 words_name_process(check->trace, process, name, sizeof(name)));
	return text;
}

static void describe_first(struct finding *finding, const struct model_astray *astray,
			   const char *mine, const char *theirs)
{
	char group[48];

	if (astray->what == ASTRAY_GROUP)
		finding_text(&finding->says,
			     "%s sent a datagram to multicast group %s with number 0x%x, and not "
			     "0xffffff.",
			     mine, gid_text(astray->group, group), astray->number);
	else if (astray->what == ASTRAY_TYPE)
		finding_text(
			&finding->says,
			"%s sent a datagram to QP number 0x%x, which belongs to %s of type %s.",
			mine, astray->number, theirs, qp_type_name(astray->peer->life->qp->type));
	else
		finding_text(&finding->says,
			     "%s sent a datagram to number 0x%x, which no queue pair of the trace "
			     "has; in the other byte order 0x%x is the number of %s.",
			     mine, astray->number, astray->peer->number, theirs);
}

/* Describe findings that are reported when the queue ends. */
static void describe_all(struct check *check, struct finding *finding,
			 const struct model_astray *astray, const char *mine, const char *theirs)
{
	const struct object *successor = trace_object(check->trace, astray->successor);
	char count[WORDS_COUNT], span[32], group[48], since[MOST];

	words_format_count(astray->count, "datagram", count);
	if (astray->what == ASTRAY_GONE)
		finding_text(&finding->says,
			     "%s sent %s to number 0x%x, the first %s after %s, which had this "
			     "number, was destroyed; %s has since been created there.",
			     mine, count, astray->number,
			     words_format_span(astray->moment.time - astray->peer->gone, span),
			     theirs,
			     name_qp(check, successor ? successor->process : 0, astray->successor,
				     since));
	else if (astray->what == ASTRAY_IDLE_NUMBER)
		finding_text(&finding->says,
			     "%s sent %s to number 0x%x, which no queue pair of the trace has or "
			     "had; %s (number 0x%x), the only other UD queue pair at that "
			     "address, received nothing.",
			     mine, count, astray->number, theirs, astray->peer->number);
	else if (astray->what == ASTRAY_SELF)
		finding_text(&finding->says,
			     "%s sent %s to its own number, 0x%x; %s (number 0x%x), the only other "
			     "UD queue pair at that address, received nothing. The number of the "
			     "sender of a message is src_qp of its completion, and qp_num is that "
			     "of its receiver.",
			     mine, count, astray->number, theirs, astray->peer->number);
	else
		finding_text(&finding->says,
			     "%s sent %s to multicast group %s, which no queue pair of the trace "
			     "has joined; %s, which has joined another, received nothing.",
			     mine, count, gid_text(astray->group, group), theirs);
}

static const char *find_harm(enum astray what)
{
	switch (what) {
	case ASTRAY_GROUP:
		return "the device follows the specification: it delivers a multicast packet to "
		       "number 0xffffff only";
	case ASTRAY_IDLE_NUMBER:
	case ASTRAY_EMPTY:
		return "no other program receives these datagrams: no completion reports the loss";
	case ASTRAY_SELF:
		return "the other one waits for these datagrams: they come back to their sender";
	default:
		return "the program relies on the datagram: it is lost, and no completion reports "
		       "the loss";
	}
}

void state_005_astray(struct check *check, const struct model_astray *astray)
{
	char mine[MOST], theirs[MOST] = "", where[64];
	const struct peer *peer = astray->peer;
	struct finding *finding;

	snprintf(where, sizeof(where), "wr[%u].wr.ud.%s", astray->index,
		 astray->what == ASTRAY_EMPTY ? "ah" : "remote_qpn");
	finding = check_add_hazard(check, RULE_STATE_005, &astray->moment, astray->object, where);
	if (!finding)
		return;
	name_qp(check, astray->object->process, astray->object->id, mine);
	if (peer)
		name_qp(check, peer->process, peer->id, theirs);
	if (astray->what <= ASTRAY_ORDER)
		describe_first(finding, astray, mine, theirs);
	else
		describe_all(check, finding, astray, mine, theirs);
	finding_text(&finding->breaks, "%s", find_harm(astray->what));
	finding_step(finding, "sent", &astray->moment);
	if (astray->what == ASTRAY_GONE)
		finding_step(finding, "destroyed", &peer->destroyed);
	else if (peer && peer->life)
		finding_step(finding, "created", &peer->life->created);
}
