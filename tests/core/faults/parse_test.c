/*
 * Each word of a faults file with many values, each condition with each action, and the operations
 * that a rule is for: parse_test.txt
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/faults/rule.h"
#include "tests/transcript.h"

static struct text out;

#define A16 "aaaaaaaaaaaaaaaa"

/* Behind "word=" each of these, with the rest of a rule that is valid. */
struct words {
	const char *word, *rest;
	const char *values[16];
};

/* clang-format off */
static const struct words words[] = {
	{ "verb", "delay=1ms", { "reg_mr", "ibv_reg_mr", "ibv_", "", "any", "no_such",
	  A16 A16 "aaaaaaa", A16 A16 "aaaaaaaa" } },
	{ "opcode", "delay=1ms", { "SEND", "RECV", "RDMA_READ", "send", "", "SENDX", "LOCAL_INV",
	  "ATOMIC_FETCH_AND_ADD", "DRIVER1" } },
	{ "qp", "kill", { "0", "1", "0x11", "16777215", "16777216", "-1", "x", "", "010", " 1" } },
	{ "process", "kill", { "0", "1", "1023", "1024", "-1", "1x", "99999999999999999999" } },
	{ "thread", "kill", { "0", "1", "1023", "1024", "-1" } },
	{ "cm", "kill", { "ADDR_RESOLVED", "TIMEWAIT_EXIT", "REJECTED", "x", "" } },
	{ "becomes", "cm=ESTABLISHED", { "ADDR_RESOLVED", "TIMEWAIT_EXIT", "REJECTED", "x" } },
	{ "mark", "kill", { "a", "", A16 A16 A16 "aaaaaaaaaaaaaaa", A16 A16 A16 A16 } },
	{ "phase", "kill", { "a", "", A16 A16 A16 "aaaaaaaaaaaaaaa", A16 A16 A16 A16 } },
	{ "at", "kill", { "a", "b.c:12", "", A16 A16 A16 "aaaaaaaaaaaaaaa", A16 A16 A16 A16 } },
	{ "n", "kill", { "0", "1", "2..", "2..2", "2..3", "3..2", "0..1", "..", "..3", "1..x",
	  "00000000000000000000001", "000000000000000000000001", "0000000000000000000000001",
	  "18446744073709551615", "18446744073709551616", "1..0" } },
	{ "every", "kill", { "0", "1", "7", "x" } },
	{ "p", "kill", { "0", "1", "0.25", "1.01", "-0.1", "x", "", "1x" } },
	{ "seed", "p=0.5 kill", { "0", "1", "18446744073709551615", "x" } },
	{ "errno", "verb=reg_mr", { "ENOMEM", "EPERM", "EHWPOISON", "ERFKILL", "x", "", "0",
	  "EAGAIN", "EWOULDBLOCK" } },
	{ "status", "", { "RETRY_EXC_ERR", "SUCCESS", "LOC_LEN_ERR", "GENERAL_ERR", "x",
	  "TM_RNDV_INCOMPLETE", "WR_FLUSH_ERR" } },
	{ "vendor_err", "status=LOC_LEN_ERR", { "0", "255", "256", "0x81", "x" } },
	{ "delay", "", { "0", "1", "1ns", "1us", "1.5ms", "2s", "0s", "-1s", "1m", "1e15ns",
	  "999999999999999ns", "1000000s", "ms", "", "999999s", "0.5ns" } },
	{ "rate", "", { "1kbit", "10Mbit", "1Gbit", "2kB", "3MB", "4GB", "0GB", "1", "8e6GB",
	  "0.001kB", "0.0001kB", "1gb" } },
	{ "late", "", { "1us", "0", "2ms", "x" } },
	{ "spread", "delay=2ms", { "0", "1ns", "2ms", "2.1ms", "1s", "x" } },
	{ "tail", "late=2ms", { "0", "0.01", "1", "1.5", "x" } },
	{ "event", "", { "CQ_ERR", "QP_FATAL", "QP_LAST_WQE_REACHED", "DEVICE_FATAL", "PORT_ERR",
	  "GID_CHANGE", "SRQ_ERR", "x", "" } },
	{ "port", "", { "down", "up", "x", "" } },
	{ "for", "port=down", { "50ms", "0", "x" } },
};

static const char *const conditions[] = {
	"", "verb=reg_mr", "opcode=SEND", "opcode=RECV", "qp=5", "process=1", "thread=1",
	"cm=ESTABLISHED", "mark=a", "phase=a", "at=f", "verb=any qp=5", "verb=any opcode=SEND",
	"cm=ESTABLISHED qp=5", "cm=ESTABLISHED opcode=SEND", "cm=ESTABLISHED verb=any",
};

static const char *const actions[] = {
	"", "errno=EIO", "status=LOC_LEN_ERR", "delay=1ms", "delay=1ms spread=1us",
	"delay=1ms tail=0.1", "rate=1GB", "rate=1GB spread=1us", "late=1ms", "late=1ms spread=1us",
	"never", "never=1", "lose", "lose=x", "rnr", "overrun", "event=QP_FATAL", "event=PORT_ERR",
	"port=down", "kill", "kill=1", "becomes=REJECTED", "disconnect", "kill lose",
	"errno=EIO kill", "spread=1us", "tail=0.1", "unknown=1", "delay", "delay=1ms rate=1GB",
	"status=LOC_LEN_ERR never", "event=QP_FATAL port=up", "becomes=REJECTED kill",
};
/* clang-format on */

#define SHOW_NUMBER(name)                                                            \
	do {                                                                         \
		if ((int64_t)rule->name != (int64_t)usual->name)                     \
			text_addf(&out, " " #name " %" PRId64, (int64_t)rule->name); \
	} while (0)

#define SHOW_TEXT(name)                                                 \
	do {                                                            \
		if (rule->name[0])                                      \
			text_addf(&out, " " #name " '%s'", rule->name); \
	} while (0)

static void show_rule(const struct fault_rule *rule)
{
	static const struct fault_rule all = { .opcode = -1,
					       .node = -1,
					       .nth_thread = -1,
					       .cm_event = -1,
					       .from = 1,
					       .to = UINT64_MAX,
					       .every = 1 };
	const struct fault_rule *usual = &all;

	SHOW_TEXT(verb);
	SHOW_TEXT(mark);
	SHOW_TEXT(phase);
	SHOW_TEXT(at);
	SHOW_NUMBER(opcode);
	SHOW_NUMBER(qpn);
	SHOW_NUMBER(node);
	SHOW_NUMBER(nth_thread);
	SHOW_NUMBER(cm_event);
	SHOW_NUMBER(from);
	SHOW_NUMBER(to);
	SHOW_NUMBER(every);
	SHOW_NUMBER(random);
	text_addf(&out, " chance %g kind %d", rule->chance, rule->fault.kind);
	SHOW_NUMBER(fault.value);
	SHOW_NUMBER(fault.vendor_err);
	SHOW_NUMBER(fault.ns);
	SHOW_NUMBER(fault.spread);
	SHOW_NUMBER(fault.rate);
	if (rule->fault.tail > 0)
		text_addf(&out, " tail %g", rule->fault.tail);
}

/* What a line becomes; the reason of an error if @why. */
static bool parse_line(const char *text, struct fault_rule *rule, const char **why)
{
	char line[256];
	int found;

	snprintf(line, sizeof(line), "%s", text);
	*why = NULL;
	found = fault_parse(line, rule, why);
	assert_true(found == 1 || !found || (found == -EINVAL && *why));
	if (!found)
		*why = NULL;
	return found > 0;
}

static void show_makers(const struct fault_rule *rule)
{
	const char *device = fault_why_impossible(rule, FAULT_BY_DEVICE);
	const char *recorder = fault_why_impossible(rule, FAULT_BY_RECORDER);

	if (device)
		text_addf(&out, "\n\t\tdevice: %s", device);
	if (recorder)
		text_addf(&out, "\n\t\trecorder: %s", recorder);
}

static void show_line(const char *line)
{
	struct fault_rule rule;
	const char *why;

	text_addf(&out, "\t%s:", line);
	if (parse_line(line, &rule, &why)) {
		show_rule(&rule);
		show_makers(&rule);
	} else {
		text_addf(&out, " %s", why ?: "no rule");
	}
	text_addf(&out, "\n");
}

static void show_words(const struct words *w)
{
	char line[256];

	text_addf(&out, "%s\n", w->word);
	for (int i = 0; i < 16 && w->values[i]; i++) {
		snprintf(line, sizeof(line), "%s=%s %s", w->word, w->values[i], w->rest);
		show_line(line);
	}
}

/* Each condition with each action: a letter for the kind, or for each reason. */
static void show_fits(void)
{
	static const char *reasons[32];
	struct fault_rule rule;
	const char *why;
	char line[256];
	int n = 0, k;

	for (size_t a = 0; a < sizeof(actions) / sizeof(*actions); a++) {
		text_addf(&out, "\t%s:", actions[a]);
		for (size_t c = 0; c < sizeof(conditions) / sizeof(*conditions); c++) {
			snprintf(line, sizeof(line), "%s %s", conditions[c], actions[a]);
			if (parse_line(line, &rule, &why)) {
				text_addf(&out, " %d", rule.fault.kind);
				continue;
			}
			for (k = 0; k < n && why && strcmp(reasons[k], why); k++)
				;
			if (why && k == n)
				reasons[n++] = why;
			text_addf(&out, " %c", why ? 'a' + k : '-');
		}
		text_addf(&out, "\n");
	}
	for (k = 0; k < n; k++)
		text_addf(&out, "\t%c: %s\n", 'a' + k, reasons[k]);
}

/* Which of the first operations, and of those that are tried again, it strikes. */
static void show_strikes(const char *line)
{
	struct fault_rule rule;
	const char *why;

	assert_true(parse_line(line, &rule, &why));
	text_addf(&out, "\t%s: ", line);
	for (int i = 0; i < 24; i++)
		text_addf(&out, "%s",
			  fault_applies(&rule, i % 3 == 2) ? i % 3 == 2 ? "R" : "X" : ".");
	text_addf(&out, " of %" PRIu64 "\n", rule.count);
}

static void show_matches(const char *line)
{
	static const char *const verbs[] = { "reg_mr", "create_qp", "any", "" };
	struct fault_rule rule;
	const char *why;

	assert_true(parse_line(line, &rule, &why));
	text_addf(&out, "\t%s: verbs", line);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		text_addf(&out, " %d", fault_is_for_verb(&rule, verbs[i]));
	text_addf(&out, " requests");
	for (int opcode = 0; opcode < 4; opcode++)
		text_addf(&out, " %d%d", fault_is_for_request(&rule, 5, opcode),
			  fault_is_for_request(&rule, 6, opcode));
	text_addf(&out, " %d completions", fault_is_for_request(&rule, 5, FAULT_OPCODE_RECV));
	for (int opcode = -1; opcode < 14; opcode++)
		text_addf(&out, " %d%d", fault_is_for_completion(&rule, 5, opcode),
			  fault_is_for_completion(&rule, 6, opcode));
	text_addf(&out, " %d%d\n", fault_is_for_completion(&rule, 5, IBV_WC_RECV),
		  fault_is_for_completion(&rule, 5, IBV_WC_RECV_RDMA_WITH_IMM));
}

static void show_draws(const char *line)
{
	struct fault_rule rule;
	const char *why;

	assert_true(parse_line(line, &rule, &why));
	text_addf(&out, "\t%s:", line);
	for (int i = 0; i < 8; i++)
		text_addf(&out, " %" PRIu64, fault_draw(&rule, 1000).ns);
	text_addf(&out, "\n");
}

/* Requests that leave one after the other, and after a pause. */
static void show_paces(const char *line)
{
	static const uint64_t times[] = { 1000, 1000, 1001, 5000, 900000, 900000, 900001 };
	struct fault_rule rule;
	const char *why;

	assert_true(parse_line(line, &rule, &why));
	text_addf(&out, "\t%s:", line);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct fault fault = fault_limit_rate(&rule, i == 3 ? 0 : 1000 * (i + 1), times[i]);

		text_addf(&out, " %d:%" PRIu64, fault.kind, fault.ns);
	}
	text_addf(&out, "\n");
}

static void show_places(void)
{
	static const struct fault_place places[] = {
		{ "main", "/src/app/main.c", 12 },
		{ "main", NULL, 12 },
		{ NULL, "main.c", 1 },
		{ NULL, NULL, 0 },
		{ "f", "xmain.c", 120 },
		{ "g", "app/main.c", 0 },
	};
	static const char *const at[] = {
		"main", "main.c",     "main.c:12", "main.c:1",           "app/main.c", "src/main.c",
		"f",    "main.c:120", "main.c:",   "/src/app/main.c:12", ":12",        "pp/main.c"
	};

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		text_addf(&out, "\tat=%s:", at[i]);
		for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++)
			text_addf(&out, " %d", fault_is_at(at[i], &places[k]));
		text_addf(&out, "\n");
	}
}

static void show_names(void)
{
	static const char *const verbs[] = { "ibv_create_qp_ex",      "ibv_create_qp",
					     "rdma_connect",          "ibv_query_device_ex",
					     "mlx5dv_open_device",    "_ex",
					     "ibv_reg_mr_iova",       "ibv_reg_mr_iova2",
					     "ibv_query_port_compat", "ibv_reg_dmabuf_mr" };
	char name[40];

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		fault_name_verb(verbs[i], name);
		text_addf(&out, "\t%s: %s\n", verbs[i], name);
	}
	for (int event = -1; event < 17; event++)
		text_addf(&out, "\t%d: %s\n", event, fault_cm_name(event) ?: "-");
}

#define EACH(show, ...)                                                          \
	do {                                                                     \
		static const char *const lines_[] = { __VA_ARGS__ };             \
                                                                                 \
		text_addf(&out, #show "\n");                                     \
		for (size_t i_ = 0; i_ < sizeof(lines_) / sizeof(*lines_); i_++) \
			show(lines_[i_]);                                        \
	} while (0)

TEST(rules_are_understood_as_before)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		show_words(&words[i]);
	EACH(show_line, "", "# verb=reg_mr", "kill # now", "\t kill \r", "verb=reg_mr errno=EIO#x",
	     "errno=EIO errno=EPERM verb=reg_mr", "n=2 every=3 kill", "every=3 n=2..9 kill");
	text_addf(&out, "conditions and actions\n");
	show_fits();
	EACH(show_strikes, "kill", "n=3 kill", "n=2..4 kill", "n=20.. kill", "every=4 kill",
	     "every=3 n=2..9 kill", "p=0.3 seed=3 kill", "p=0 kill", "n=4.. p=0.5 seed=9 kill",
	     "p=1 kill");
	EACH(show_matches, "kill", "verb=reg_mr kill", "verb=any kill", "verb=create_qp kill",
	     "opcode=SEND kill", "opcode=RDMA_WRITE kill", "opcode=RECV kill", "qp=5 kill",
	     "opcode=RDMA_READ kill", "opcode=RDMA_WRITE_WITH_IMM kill",
	     "opcode=SEND_WITH_INV kill", "opcode=ATOMIC_CMP_AND_SWP kill",
	     "opcode=ATOMIC_FETCH_AND_ADD kill", "opcode=LOCAL_INV kill", "opcode=BIND_MW kill",
	     "opcode=TSO kill", "opcode=FLUSH kill", "opcode=ATOMIC_WRITE kill",
	     "opcode=SEND_WITH_IMM kill", "qp=6 opcode=RECV kill", "cm=ESTABLISHED kill");
	EACH(show_draws, "delay=1ms", "delay=1ms spread=1us seed=1", "late=1ms spread=1ms seed=2",
	     "delay=10us tail=0.5 seed=3", "delay=10us tail=1 seed=4", "status=LOC_LEN_ERR");
	EACH(show_paces, "rate=1GB", "rate=1Gbit", "rate=10MB");
	text_addf(&out, "places\n");
	show_places();
	text_addf(&out, "names\n");
	show_names();
	transcript_expect(__FILE__, &out);
}
