/*
 * The format of a line in a faults file
 *
 *	opcode=SEND n=100		status=RETRY_EXC_ERR vendor_err=0x81
 *	verb=reg_mr every=3		errno=ENOMEM
 *	p=0.01 seed=7			lose
 *
 * Words may be in any order; a comment begins with '#'. A word is either a condition or describes
 * the fault.
 */
#include "core/faults/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

enum { WR_FLUSH = 14 }; /* IBV_WR_FLUSH, which only newer headers have */

struct named_value {
	const char *name;
	int value;
};

#define WR(name)                     \
	{                            \
#name, IBV_WR_##name \
	}
/* clang-format off */
static const struct named_value opcodes[] = {
	WR(RDMA_WRITE), WR(RDMA_WRITE_WITH_IMM), WR(SEND), WR(SEND_WITH_IMM),
	WR(RDMA_READ), WR(ATOMIC_CMP_AND_SWP), WR(ATOMIC_FETCH_AND_ADD),
	WR(LOCAL_INV), WR(BIND_MW), WR(SEND_WITH_INV), WR(TSO), WR(DRIVER1),
	{ "FLUSH", WR_FLUSH }, WR(ATOMIC_WRITE), { "RECV", FAULT_OPCODE_RECV }, { NULL, 0 },
};
/* clang-format on */

#define WC(name)                     \
	{                            \
#name, IBV_WC_##name \
	}
/* clang-format off */
static const struct named_value statuses[] = {
	WC(LOC_LEN_ERR), WC(LOC_QP_OP_ERR), WC(LOC_EEC_OP_ERR),
	WC(LOC_PROT_ERR), WC(WR_FLUSH_ERR), WC(MW_BIND_ERR), WC(BAD_RESP_ERR),
	WC(LOC_ACCESS_ERR), WC(REM_INV_REQ_ERR), WC(REM_ACCESS_ERR),
	WC(REM_OP_ERR), WC(RETRY_EXC_ERR), WC(RNR_RETRY_EXC_ERR),
	WC(LOC_RDD_VIOL_ERR), WC(REM_INV_RD_REQ_ERR), WC(REM_ABORT_ERR),
	WC(INV_EECN_ERR), WC(INV_EEC_STATE_ERR), WC(FATAL_ERR),
	WC(RESP_TIMEOUT_ERR), WC(GENERAL_ERR), { NULL, 0 },
};
/* clang-format on */

#define EVENT(name)                     \
	{                               \
#name, IBV_EVENT_##name \
	}
/* clang-format off */
static const struct named_value events[] = {
	EVENT(CQ_ERR), EVENT(QP_FATAL), EVENT(QP_REQ_ERR),
	EVENT(QP_ACCESS_ERR), EVENT(COMM_EST), EVENT(SQ_DRAINED),
	EVENT(PATH_MIG), EVENT(PATH_MIG_ERR), EVENT(QP_LAST_WQE_REACHED),
	EVENT(DEVICE_FATAL), EVENT(PORT_ACTIVE), EVENT(PORT_ERR),
	EVENT(LID_CHANGE), EVENT(PKEY_CHANGE), EVENT(SM_CHANGE),
	EVENT(SRQ_ERR), EVENT(SRQ_LIMIT_REACHED),
	EVENT(CLIENT_REREGISTER), EVENT(GID_CHANGE), { NULL, 0 },
};
/* clang-format on */

/* by enum rdma_cm_event_type */
static const char *const cm_events[] = {
	"ADDR_RESOLVED",   "ADDR_ERROR",       "ROUTE_RESOLVED", "ROUTE_ERROR",
	"CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR",  "UNREACHABLE",
	"REJECTED",        "ESTABLISHED",      "DISCONNECTED",   "DEVICE_REMOVAL",
	"MULTICAST_JOIN",  "MULTICAST_ERROR",  "ADDR_CHANGE",    "TIMEWAIT_EXIT",
};

enum { CM_EVENTS = sizeof(cm_events) / sizeof(cm_events[0]) };

const char *fault_cm_name(int event)
{
	return event >= 0 && event < CM_EVENTS ? cm_events[event] : NULL;
}

static const struct named_value port_states[] = {
	{ "down", IBV_PORT_DOWN },
	{ "up", IBV_PORT_ACTIVE },
	{ NULL, 0 },
};

static bool find_word(const struct named_value *names, const char *name, int *ret_value)
{
	for (; names->name; names++)
		if (!strcmp(names->name, name)) {
			*ret_value = names->value;
			return true;
		}
	return false;
}

static bool read_number(const char *text, uint64_t *ret_value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_value = strtoull(text, &end, 0);
	return !errno && !*end;
}

static bool set_verb(struct fault_rule *rule, const char *text)
{
	if (!strncmp(text, "ibv_", 4))
		text += 4;
	if (!*text || strlen(text) >= sizeof(rule->verb))
		return false;
	strcpy(rule->verb, text);
	return true;
}

static bool set_opcode(struct fault_rule *rule, const char *text)
{
	return find_word(opcodes, text, &rule->opcode);
}

static bool set_qp(struct fault_rule *rule, const char *text)
{
	uint64_t qpn;

	if (!read_number(text, &qpn) || !qpn || qpn >> 24)
		return false;
	rule->qpn = qpn;
	return true;
}

static bool set_text(char field[FAULT_NAME], const char *text)
{
	if (!*text || strlen(text) >= FAULT_NAME)
		return false;
	strcpy(field, text);
	return true;
}

static bool set_mark(struct fault_rule *rule, const char *text)
{
	return set_text(rule->mark, text);
}

static bool set_phase(struct fault_rule *rule, const char *text)
{
	return set_text(rule->phase, text);
}

static bool set_at(struct fault_rule *rule, const char *text)
{
	return set_text(rule->at, text);
}

static bool set_process(struct fault_rule *rule, const char *text)
{
	uint64_t node;

	if (!read_number(text, &node) || node > 1023)
		return false;
	rule->node = node;
	return true;
}

static bool set_thread(struct fault_rule *rule, const char *text)
{
	uint64_t nth;

	if (!read_number(text, &nth) || nth > 1023)
		return false;
	rule->nth_thread = nth;
	return true;
}

/* Read "N" or "FROM..TO". */
static bool set_n(struct fault_rule *rule, const char *text)
{
	char from[24];
	const char *dots = strstr(text, "..");
	size_t len = dots ? (size_t)(dots - text) : strlen(text);

	if (len >= sizeof(from))
		return false;
	memcpy(from, text, len);
	from[len] = '\0';
	if (!read_number(from, &rule->from) || !rule->from)
		return false;
	rule->to = rule->from;
	if (dots && !dots[2])
		rule->to = UINT64_MAX;
	else if (dots && !read_number(dots + 2, &rule->to))
		return false;
	return rule->to >= rule->from;
}

static bool set_every(struct fault_rule *rule, const char *text)
{
	if (!read_number(text, &rule->every) || !rule->every)
		return false;
	rule->from = rule->every;
	return true;
}

static bool set_seed(struct fault_rule *rule, const char *text)
{
	return read_number(text, &rule->random);
}

/* Set the kind of the fault; a rule has only one. */
static bool set_kind(struct fault_rule *rule, enum fault_kind kind)
{
	if (rule->fault.kind)
		return false;
	rule->fault.kind = kind;
	return true;
}

static bool set_errno(struct fault_rule *rule, const char *text)
{
	const char *name;
	int i;

	for (i = 1; i < 134; i++) {
		name = strerrorname_np(i);
		if (name && !strcmp(name, text))
			rule->fault.value = i;
	}
	return rule->fault.value && set_kind(rule, FAULT_ERRNO);
}

static bool set_status(struct fault_rule *rule, const char *text)
{
	return find_word(statuses, text, &rule->fault.value) && set_kind(rule, FAULT_STATUS);
}

static bool set_vendor_err(struct fault_rule *rule, const char *text)
{
	uint64_t value;

	if (!read_number(text, &value) || value > UINT8_MAX)
		return false;
	rule->fault.vendor_err = value;
	return true;
}

struct unit {
	const char *name; /* NULL: end of the table */
	double value;
};

/* Read a number above 0 with its unit, and convert it to units of 1. */
static bool read_quantity(const char *text, const struct unit *units, uint64_t *ret_value)
{
	char *end;
	double value = strtod(text, &end);

	for (; units->name; units++)
		if (end != text && !strcmp(end, units->name) && value > 0 &&
		    value * units->value < 1e15) {
			*ret_value = value * units->value;
			return true;
		}
	return false;
}

static bool read_time(const char *text, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { NULL, 0 }
	};

	return read_quantity(text, units, ret_ns);
}

/* Bytes a second. */
static bool read_rate(const char *text, uint64_t *ret_rate)
{
	static const struct unit units[] = { { "kbit", 125 }, { "Mbit", 125e3 }, { "Gbit", 125e6 },
					     { "kB", 1e3 },   { "MB", 1e6 },     { "GB", 1e9 },
					     { NULL, 0 } };

	return read_quantity(text, units, ret_rate) && *ret_rate;
}

static bool set_time(struct fault_rule *rule, const char *text)
{
	return read_time(text, &rule->fault.ns);
}

static bool set_spread(struct fault_rule *rule, const char *text)
{
	return read_time(text, &rule->fault.spread);
}

static bool read_chance(const char *text, double *ret_chance)
{
	char *end;

	*ret_chance = strtod(text, &end);
	return end != text && !*end && *ret_chance >= 0 && *ret_chance <= 1;
}

static bool set_p(struct fault_rule *rule, const char *text)
{
	return read_chance(text, &rule->chance);
}

static bool set_tail(struct fault_rule *rule, const char *text)
{
	return read_chance(text, &rule->fault.tail);
}

static bool set_delay(struct fault_rule *rule, const char *text)
{
	return set_time(rule, text) && set_kind(rule, FAULT_DELAY);
}

static bool set_rate(struct fault_rule *rule, const char *text)
{
	return read_rate(text, &rule->fault.rate) && set_kind(rule, FAULT_RATE);
}

static bool set_late(struct fault_rule *rule, const char *text)
{
	return set_time(rule, text) && set_kind(rule, FAULT_LATE);
}

static bool set_never(struct fault_rule *rule, const char *text)
{
	return !text && set_kind(rule, FAULT_NEVER);
}

static bool set_disconnect(struct fault_rule *rule, const char *text)
{
	return !text && set_kind(rule, FAULT_DISCONNECT);
}

static bool set_lose(struct fault_rule *rule, const char *text)
{
	return !text && set_kind(rule, FAULT_LOSE);
}

static bool set_rnr(struct fault_rule *rule, const char *text)
{
	return !text && set_kind(rule, FAULT_RNR);
}

static bool set_overrun(struct fault_rule *rule, const char *text)
{
	return !text && set_kind(rule, FAULT_OVERRUN);
}

static bool set_event(struct fault_rule *rule, const char *text)
{
	return find_word(events, text, &rule->fault.value) && set_kind(rule, FAULT_EVENT);
}

static bool set_port(struct fault_rule *rule, const char *text)
{
	return find_word(port_states, text, &rule->fault.value) && set_kind(rule, FAULT_PORT);
}

static bool find_cm_event(const char *text, int *ret_event)
{
	for (int i = 0; i < CM_EVENTS; i++)
		if (!strcmp(cm_events[i], text)) {
			*ret_event = i;
			return true;
		}
	return false;
}

static bool set_cm(struct fault_rule *rule, const char *text)
{
	return find_cm_event(text, &rule->cm_event);
}

static bool set_becomes(struct fault_rule *rule, const char *text)
{
	return find_cm_event(text, &rule->fault.value) && set_kind(rule, FAULT_BECOMES);
}

static bool set_kill(struct fault_rule *rule, const char *text)
{
	return !text && set_kind(rule, FAULT_KILL);
}

/* clang-format off */
static const struct rule_word {
	const char	*name;
	bool		(*set)(struct fault_rule *rule, const char *text);
	bool		alone;		/* has no value */
	const char	*why;		/* description of the valid values, for an error message */
} words[] = {
	{ "verb", set_verb, false, "verb= takes the name of a verb, as in verb=reg_mr" },
	{ "opcode", set_opcode, false,
	  "opcode= takes the name of an ibv_wr_opcode, as in opcode=RDMA_WRITE, or RECV" },
	{ "qp", set_qp, false, "qp= takes a queue pair number" },
	{ "process", set_process, false,
	  "process= takes the position of a process, from 0, among those that open a device" },
	{ "thread", set_thread, false,
	  "thread= takes the position of a thread, from 0, among those that call a verb" },
	{ "cm", set_cm, false,
	  "cm= takes the name of an rdma_cm_event_type, as in cm=ESTABLISHED" },
	{ "becomes", set_becomes, false,
	  "becomes= takes the name of an rdma_cm_event_type, as in becomes=REJECTED, as the only "
	  "action of a rule" },
	{ "mark", set_mark, false, "mark= takes the text of a mark, without spaces" },
	{ "phase", set_phase, false, "phase= takes the name of a phase, without spaces" },
	{ "at", set_at, false,
	  "at= takes a function, a file or a line, as in at=connect_all or at=app.c:120" },
	{ "n", set_n, false, "n= takes a number from 1, or FROM..TO" },
	{ "every", set_every, false, "every= takes a number from 1" },
	{ "p", set_p, false, "p= takes a probability, 0 to 1" },
	{ "seed", set_seed, false, "seed= takes a number" },
	{ "errno", set_errno, false,
	  "errno= takes one name, as in errno=ENOMEM, as the only action of a rule" },
	{ "status", set_status, false,
	  "status= takes the name of an ibv_wc_status other than SUCCESS, as in "
	  "status=RETRY_EXC_ERR, as the only action of a rule" },
	{ "vendor_err", set_vendor_err, false,
	  "vendor_err= takes a number of 8 bits" },
	{ "delay", set_delay, false,
	  "delay= takes a time, as in delay=2ms, as the only action of a rule" },
	{ "rate", set_rate, false,
	  "rate= takes bits or bytes a second, as in rate=10Gbit or rate=800MB, as the only action "
	  "of a rule" },
	{ "late", set_late, false,
	  "late= takes a time, as in late=2ms, as the only action of a rule" },
	{ "never", set_never, true,
	  "never takes no value and must be the only action of a rule" },
	{ "disconnect", set_disconnect, true,
	  "disconnect takes no value and must be the only action of a rule" },
	{ "spread", set_spread, false, "spread= takes a time, as in delay=20us spread=5us" },
	{ "tail", set_tail, false, "tail= takes a probability, 0 to 1" },
	{ "lose", set_lose, true,
	  "lose takes no value and must be the only action of a rule" },
	{ "rnr", set_rnr, true,
	  "rnr takes no value and must be the only action of a rule" },
	{ "overrun", set_overrun, true,
	  "overrun takes no value and must be the only action of a rule" },
	{ "event", set_event, false,
	  "event= takes the name of an ibv_event_type, as in event=PORT_ERR, as the only action of "
	  "a rule" },
	{ "port", set_port, false, "port= takes down or up, as the only action of a rule" },
	{ "kill", set_kill, true,
	  "kill takes no value and must be the only action of a rule" },
	{ "for", set_time, false, "for= takes a time, as in for=50ms" },
	{ NULL, NULL, false, NULL },
};
/* clang-format on */

static bool read_word(char *text, struct fault_rule *rule, const char **why)
{
	char *value = strchr(text, '=');
	const struct rule_word *word;

	if (value)
		*value++ = '\0';
	for (word = words; word->name; word++)
		if (!strcmp(word->name, text))
			break;
	*why = word->name
		       ? word->why
		       : "unknown word; conditions: verb, opcode, qp, cm, process, thread, mark, "
			 "phase, at, n, every, p, seed; actions: errno, status, vendor_err, delay, "
			 "rate, late, never, becomes, disconnect, lose, rnr, overrun, event, port, "
			 "kill, for, spread, tail";
	return word->name && word->alone == !value && word->set(rule, value);
}

/* Does the event belong to a queue pair, or to a queue that it uses? */
static bool is_of_queue(int event)
{
	return event < IBV_EVENT_DEVICE_FATAL || event == IBV_EVENT_QP_LAST_WQE_REACHED ||
	       event == IBV_EVENT_SRQ_ERR || event == IBV_EVENT_SRQ_LIMIT_REACHED;
}

static bool check_spread(const struct fault_rule *rule, const char **why)
{
	bool timed = rule->fault.kind == FAULT_DELAY || rule->fault.kind == FAULT_LATE;

	*why = "spread= and tail= are for delay= and late=, and spread= is at most that time";
	return (!rule->fault.spread && rule->fault.tail <= 0) ||
	       (timed && rule->fault.spread <= rule->fault.ns);
}

static bool check_cm(const struct fault_rule *rule, const char **why)
{
	*why = "becomes= is for an event of librdmacm, as in cm=ESTABLISHED becomes=REJECTED";
	if (rule->cm_event < 0)
		return false;
	*why = "a rule for an event of librdmacm can have only becomes=, delay= and kill, and no "
	       "other object";
	return !rule->verb[0] && rule->opcode < 0 && !rule->qpn &&
	       (rule->fault.kind == FAULT_BECOMES || rule->fault.kind == FAULT_DELAY ||
		rule->fault.kind == FAULT_KILL);
}

/* Check at= and thread=: they need a call, which a completion does not have. */
static bool check_call_conditions(const struct fault_rule *rule, const char **why)
{
	*why = "at= and thread= are for verbs, requests and events of librdmacm, not for "
	       "completions";
	return (!rule->at[0] && rule->nth_thread < 0) ||
	       (rule->fault.kind != FAULT_LATE && rule->fault.kind != FAULT_NEVER);
}

/* Check that the fault is possible for what the rule matches: requests or verbs. */
static bool check_fault_applies(const struct fault_rule *rule, const char **why)
{
	bool verb = rule->verb[0];

	if (!check_spread(rule, why) || !check_call_conditions(rule, why))
		return false;
	if (rule->cm_event >= 0 || rule->fault.kind == FAULT_BECOMES)
		return check_cm(rule, why);
	switch (rule->fault.kind) {
	case FAULT_NONE:
		*why = "no action is given (errno, status, delay, rate, late, never, "
		       "becomes, disconnect, lose, rnr, overrun, event, port, kill)";
		return false;
	case FAULT_DISCONNECT:
		*why = "disconnect is for send requests";
		return !verb && rule->opcode != FAULT_OPCODE_RECV;
	case FAULT_STATUS:
	case FAULT_RATE:
	case FAULT_LATE:
	case FAULT_NEVER:
	case FAULT_LOSE:
	case FAULT_RNR:
	case FAULT_OVERRUN:
		*why = "a rule for a verb can have only errno=, delay=, event=, port= and kill";
		return !verb;
	case FAULT_EVENT:
		*why = "event= of a queue pair, CQ or SRQ needs a request, not a verb";
		return !verb || !is_of_queue(rule->fault.value);
	default:
		return true;
	}
}

static const struct fault_rule always = {
	.opcode = -1,
	.cm_event = -1,
	.node = -1,
	.nth_thread = -1,
	.from = 1,
	.to = UINT64_MAX,
	.every = 1,
	.chance = 1,
};

int fault_parse(char *line, struct fault_rule *rule, const char **why)
{
	char *comment = strchr(line, '#'), *save, *text;
	bool any = false;

	if (comment)
		*comment = '\0';
	*rule = always;
	for (text = strtok_r(line, " \t\r\n", &save); text;
	     text = strtok_r(NULL, " \t\r\n", &save)) {
		any = true;
		if (!read_word(text, rule, why))
			return -EINVAL;
	}
	if (!any)
		return 0;
	if (rule->verb[0] && (rule->opcode >= 0 || rule->qpn)) {
		*why = "opcode= and qp= are for requests, not for a verb";
		return -EINVAL;
	}
	return check_fault_applies(rule, why) ? 1 : -EINVAL;
}

/* clang-format off */
/* Faults that a maker (the device, the recorder) cannot inject, and why. */
static const struct {
	enum fault_kind		kind;
	enum fault_maker	maker;
	const char		*why;
} unsuited[] = {
	{ FAULT_LATE, FAULT_BY_DEVICE,
	  "late= is injected by the recorder: use --faults; the software device has delay=" },
	{ FAULT_NEVER, FAULT_BY_DEVICE,
	  "never is injected by the recorder: use --faults" },
	{ FAULT_DISCONNECT, FAULT_BY_DEVICE,
	  "disconnect is injected by the recorder: use --faults" },
	{ FAULT_LOSE, FAULT_BY_RECORDER,
	  "lose is injected only by the software device: use VERBATIM_SOFT_FAULTS" },
	{ FAULT_RNR, FAULT_BY_RECORDER,
	  "rnr is injected only by the software device: use VERBATIM_SOFT_FAULTS" },
	{ FAULT_OVERRUN, FAULT_BY_RECORDER,
	  "overrun is injected only by the software device: VERBATIM_SOFT_FAULTS, or "
	  "event=CQ_ERR" },
	{ FAULT_PORT, FAULT_BY_RECORDER,
	  "port= is injected only by the software device: VERBATIM_SOFT_FAULTS, or "
	  "event=PORT_ERR" },
};
/* clang-format on */

const char *fault_why_impossible(const struct fault_rule *rule, enum fault_maker maker)
{
	for (size_t i = 0; i < sizeof(unsuited) / sizeof(unsuited[0]); i++)
		if (unsuited[i].kind == rule->fault.kind && unsuited[i].maker == maker)
			return unsuited[i].why;
	if (maker == FAULT_BY_DEVICE && rule->cm_event >= 0)
		return "events of librdmacm are injected by the recorder: use --faults";
	if (maker == FAULT_BY_DEVICE && (rule->mark[0] || rule->phase[0]))
		return "marks and phases are known only to the recorder: use --faults";
	if (maker == FAULT_BY_DEVICE && rule->at[0])
		return "places are known only to the recorder: use --faults";
	if (maker == FAULT_BY_DEVICE && rule->fault.kind == FAULT_ERRNO && !rule->verb[0])
		return "errno= of a request is injected by the recorder: use --faults, or a verb, "
		       "as in verb=post_send errno=ENOMEM";
	if (maker == FAULT_BY_DEVICE && rule->nth_thread >= 0)
		return "thread= is known only to the recorder: use --faults";
	if (maker == FAULT_BY_DEVICE && rule->opcode == FAULT_OPCODE_RECV)
		return "the software device injects faults into send requests only: use --faults "
		       "for RECV";
	return NULL;
}
