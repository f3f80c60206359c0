/*
 * Findings that the user has accepted
 *
 * A baseline is a text file, made to be kept under version control:
 *
 * 	# verbatim baseline 1
 * 	120d119934624265 LIFE-001 ibv_ack_cq_events(): cq
 *
 * The first line identifies the file; each other line has a fingerprint (fingerprint.h) and, for
 * readers, the rule and the place that broke it. Lines are sorted, one for each fingerprint.
 */
#include "analyzer/report/known.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/report/fingerprint.h"
#include "core/base/printable.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"
#include "core/store/outfile.h"
#include "core/wire/log.h"

static const char magic[] = "# verbatim baseline 1";

struct suppression {
	const char *rule, *function, *program; /* patterns */
	unsigned int line;
	bool used;
};

struct baseline_entry {
	const char *fingerprint, *rule, *where;
	bool found;
};

struct suppressions {
	const char *suppress, *baseline; /* paths, borrowed; NULL: there is none */
	char *texts[2];                  /* their contents, cut into words */
	struct suppression *suppressions;
	struct baseline_entry *expected;
	size_t nsuppressions, nexpected;
	size_t judged; /* findings */
};

void suppressions_close(struct suppressions *known)
{
	if (!known)
		return;
	free(known->texts[0]);
	free(known->texts[1]);
	free(known->suppressions);
	free(known->expected);
	free(known);
}

/* Cut @text at its next white space and return what is before it; NULL at its end. */
static char *cut_word(char **text)
{
	char *word = *text + strspn(*text, " \t\r");

	if (!*word)
		return NULL;
	*text = word + strcspn(word, " \t\r");
	if (**text)
		*(*text)++ = '\0';
	return word;
}

/* Rules, and after them the kinds of facts. */
enum { TOPICS = RULE_COUNT + FACT_COUNT };

static const char *name_topic(int topic)
{
	return topic < RULE_COUNT ? rules[topic].id : fact_infos[topic - RULE_COUNT].name;
}

static int find_topic(const char *name)
{
	int rule = rule_find(name), fact = fact_find(name);

	return rule >= 0 ? rule : fact >= 0 ? RULE_COUNT + fact : -1;
}

static bool matches_topic(const char *pattern, int topic)
{
	return find_topic(pattern) == topic || !fnmatch(pattern, name_topic(topic), 0);
}

static bool has_topic(const char *pattern)
{
	for (int i = 0; i < TOPICS; i++)
		if (matches_topic(pattern, i))
			return true;
	return false;
}

static int add_suppression(struct suppressions *known, char *text, unsigned int line,
			   char *complaint)
{
	struct suppression new = { .function = "*", .program = "*", .line = line };
	struct suppression *place;
	char *word;

	text[strcspn(text, "#")] = '\0';
	new.rule = cut_word(&text);
	if (!new.rule)
		return 0;
	if (!has_topic(new.rule)) {
		snprintf(complaint, KNOWN_COMPLAINT, "%s:%u: unknown rule '%.64s'", known->suppress,
			 line, new.rule);
		return -EINVAL;
	}
	if ((word = cut_word(&text)))
		new.function = word;
	if (word && (word = cut_word(&text)))
		new.program = word;
	if (word && cut_word(&text)) {
		snprintf(complaint, KNOWN_COMPLAINT,
			 "%s:%u: too many words: a line is RULE FUNCTION PROGRAM; comments begin "
			 "with '#'",
			 known->suppress, line);
		return -EINVAL;
	}
	place = vec_push(known->suppressions, known->nsuppressions);
	if (!place)
		return -ENOMEM;
	*place = new;
	return 0;
}

static int add_expected(struct suppressions *known, char *text, unsigned int line, char *complaint)
{
	struct baseline_entry new = { .fingerprint = cut_word(&text) }, *place;

	if (!new.fingerprint || (line > 1 && *new.fingerprint == '#'))
		return 0;
	new.rule = cut_word(&text);
	if (!new.rule || find_topic(new.rule) < 0 ||
	    strspn(new.fingerprint, "0123456789abcdef") != FINGERPRINT - 1 ||
	    new.fingerprint[FINGERPRINT - 1]) {
		snprintf(complaint, KNOWN_COMPLAINT, "%s:%u: expected a fingerprint and a rule",
			 known->baseline, line);
		return -EINVAL;
	}
	new.where = text;
	place = vec_push(known->expected, known->nexpected);
	if (!place)
		return -ENOMEM;
	*place = new;
	return 0;
}

typedef int take_line(struct suppressions *known, char *text, unsigned int line, char *complaint);

static int read_lines(struct suppressions *known, const char *path, bool baseline, take_line *take,
		      char **ret_text, char *complaint)
{
	size_t bytes, n;
	char *at;
	int err = read_file(path, ret_text, &bytes);

	if (err) {
		snprintf(complaint, KNOWN_COMPLAINT, "read %s: %s", path, strerror(-err));
		return err == -EINVAL ? -EIO : err;
	}
	at = *ret_text;
	if (baseline && strncmp(at, magic, strlen(magic))) {
		snprintf(complaint, KNOWN_COMPLAINT,
			 "%s:1: not a baseline: use --write-baseline to create one", path);
		return -EINVAL;
	}
	for (unsigned int line = 1; *at && !err; line++, at += n) {
		n = strcspn(at, "\n");
		if (at[n])
			at[n++] = '\0';
		if (line > 1 || !baseline)
			err = take(known, at, line, complaint);
	}
	if (err == -ENOMEM)
		snprintf(complaint, KNOWN_COMPLAINT, "read %s: %s", path, strerror(ENOMEM));
	return err;
}

int suppressions_open(const char *suppress, const char *baseline, char complaint[KNOWN_COMPLAINT],
		      struct suppressions **ret_known)
{
	struct suppressions *known = calloc(1, sizeof(*known));
	int err = 0;

	if (!known) {
		snprintf(complaint, KNOWN_COMPLAINT, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	known->suppress = suppress;
	known->baseline = baseline;
	if (suppress)
		err = read_lines(known, suppress, false, add_suppression, &known->texts[0],
				 complaint);
	if (baseline && !err)
		err = read_lines(known, baseline, true, add_expected, &known->texts[1], complaint);
	if (err) {
		suppressions_close(known);
		return err;
	}
	*ret_known = known;
	return 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool matches_text(const char *pattern, const char *text)
{
	return text && !fnmatch(pattern, text, 0);
}

static bool matches_stack(const struct report *report, const char *pattern, uint32_t stack)
{
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = report_stack(report, stack, lines);

	for (unsigned int i = 0; i < n; i++)
		if (matches_text(pattern, lines[i].symbol.function) ||
		    matches_text(pattern, lines[i].symbol.module))
			return true;
	return false;
}

static bool matches_program(const struct report *report, const char *pattern, uint32_t id)
{
	const struct process *process = trace_process(report->trace, id);
	const char *exe = process && process->exe ? process->exe : "";

	return matches_text(pattern, exe) || matches_text(pattern, base_of(exe));
}

/* A finding, or a fact. */
struct subject {
	int topic;
	uint32_t process;
	uint32_t stacks[FINDING_STEPS];
	unsigned int nstacks;
	char fingerprint[FINGERPRINT];
};

static bool matches_suppression(const struct suppression *s, const struct report *report,
				const struct subject *subject)
{
	if (!matches_topic(s->rule, subject->topic) ||
	    !matches_program(report, s->program, subject->process))
		return false;
	if (!strcmp(s->function, "*"))
		return true;
	for (unsigned int i = 0; i < subject->nstacks; i++)
		if (matches_stack(report, s->function, subject->stacks[i]))
			return true;
	return false;
}

static unsigned int mark_subject(struct suppressions *known, const struct report *report,
				 const struct subject *subject)
{
	unsigned int is = FINDING_NEW;

	for (size_t i = 0; i < known->nsuppressions; i++)
		if (matches_suppression(&known->suppressions[i], report, subject)) {
			known->suppressions[i].used = true;
			is |= FINDING_SUPPRESSED;
		}
	for (size_t i = 0; i < known->nexpected; i++)
		if (!strcmp(known->expected[i].fingerprint, subject->fingerprint)) {
			known->expected[i].found = true;
			is |= FINDING_BASELINE;
		}
	return is;
}

static struct subject subject_of_finding(const struct report *report, const struct finding *f)
{
	struct subject subject = { .topic = (int)f->rule, .process = f->process };

	for (; subject.nstacks < f->nsteps; subject.nstacks++)
		subject.stacks[subject.nstacks] = f->steps[subject.nstacks].moment.stack;
	report_fingerprint(report, f, subject.fingerprint);
	return subject;
}

static struct subject subject_of_fact(const struct report *report, const struct fact *fact)
{
	struct subject subject = { .topic = RULE_COUNT + (int)fact->kind,
				   .process = fact->process,
				   .stacks = { fact->stack },
				   .nstacks = 1 };

	fingerprint_fact(report, fact, subject.fingerprint);
	return subject;
}

static struct subject subject_of_error(const struct report *report, const struct first_error *error)
{
	struct subject subject = { .topic = RULE_COUNT + FACT_ERROR,
				   .process = error->process,
				   .stacks = { error->request.stack, error->poll_stack },
				   .nstacks = 2 };

	fingerprint_error(report, error, subject.fingerprint);
	return subject;
}

void suppressions_mark_findings(struct suppressions *known, const struct report *report)
{
	const struct findings *findings = report->findings;

	for (; known && known->judged < findings->n; known->judged++) {
		struct finding *f = findings->all[known->judged];
		struct subject subject = subject_of_finding(report, f);

		f->known = mark_subject(known, report, &subject);
	}
}

void suppressions_mark_facts(struct suppressions *known, const struct report *report)
{
	struct facts *facts = report->findings->facts;

	for (size_t i = 0; known && i < facts->list.n; i++) {
		struct subject subject = subject_of_fact(report, &facts->list.all[i]);

		if (facts->list.all[i].count)
			facts->list.all[i].known = mark_subject(known, report, &subject);
	}
	for (size_t i = 0; known && i < facts->errors.n; i++) {
		struct subject subject = subject_of_error(report, &facts->errors.all[i]);

		facts->errors.all[i].known = mark_subject(known, report, &subject);
	}
}

/* A finding counts as fixed only if its rule was checked. */
static bool was_checked(const struct findings *findings, int topic)
{
	bool checked;

	if (topic >= RULE_COUNT)
		return !findings->facts->off[topic - RULE_COUNT] && !findings->blind;
	checked = !findings->off[topic];
	for (size_t i = 0; i < findings->nunchecked; i++)
		checked &= (int)findings->unchecked[i].rule != topic;
	return checked;
}

static bool was_any_checked(const struct findings *findings, const char *pattern)
{
	for (int i = 0; i < TOPICS; i++)
		if (matches_topic(pattern, i) && was_checked(findings, i))
			return true;
	return false;
}

void suppressions_report(const struct suppressions *known, const struct findings *findings)
{
	for (size_t i = 0; known && i < known->nsuppressions; i++) {
		const struct suppression *s = &known->suppressions[i];

		if (!s->used && was_any_checked(findings, s->rule))
			log_info("%s:%u: '%s %s %s' matched nothing", known->suppress, s->line,
				 s->rule, s->function, s->program);
	}
	for (size_t i = 0; known && i < known->nexpected; i++) {
		const struct baseline_entry *e = &known->expected[i];

		if (!e->found && was_checked(findings, find_topic(e->rule)))
			log_info("in the baseline %s, but no longer found: %s %s %s",
				 known->baseline, e->fingerprint, e->rule, e->where);
	}
}

static bool is_known(unsigned int is, enum finding_known known)
{
	return is & FINDING_SUPPRESSED ? known == FINDING_SUPPRESSED : is == known;
}

uint64_t suppressions_count(const struct findings *findings, enum finding_known known)
{
	const struct facts *facts = findings->facts;
	uint64_t n = 0;

	for (size_t i = 0; i < findings->n; i++)
		if (is_known(findings->all[i]->known, known))
			n += finding_times(findings->all[i]);
	for (const struct finding *f = findings->hidden; f; f = f->hidden)
		if (is_known(f->teller->known, known))
			n += finding_times(f);
	for (size_t i = 0; i < facts->list.n; i++)
		if (fact_infos[facts->list.all[i].kind].bad)
			n += is_known(facts->list.all[i].known, known);
	for (size_t i = 0; i < facts->errors.n; i++)
		n += is_known(facts->errors.all[i].known, known);
	return n;
}

static void print_sum(FILE *out, uint64_t n, const char *how, const char *path)
{
	if (!path)
		return;
	fprintf(out, "; %" PRIu64 " %s ", n, how);
	print_untrusted(out, path);
}

void suppressions_print_sum(const struct report *report)
{
	const struct findings *findings = report->findings;
	const struct suppressions *known = report->known;

	if (!known)
		return;
	print_sum(report->out, suppressions_count(findings, FINDING_SUPPRESSED), "suppressed by",
		  known->suppress);
	print_sum(report->out, suppressions_count(findings, FINDING_BASELINE), "in the baseline",
		  known->baseline);
}

bool suppressions_have_baseline(const struct suppressions *known)
{
	return known && known->baseline;
}

struct lines {
	char **at;
	size_t n;
	bool failed;
};

static void add_line(struct lines *lines, const struct subject *subject, const char *where)
{
	char **place = vec_push(lines->at, lines->n);

	if (place)
		finding_text(place, "%s %s %s", subject->fingerprint, name_topic(subject->topic),
			     where ? where : "");
	lines->failed |= !place || !*place;
}

/* Add lines for all facts that count. */
static void add_facts(struct lines *lines, const struct report *report)
{
	const struct facts *facts = report->findings->facts;
	char status[32];

	for (size_t i = 0; i < facts->list.n; i++) {
		const struct fact *fact = &facts->list.all[i];
		struct subject subject = subject_of_fact(report, fact);

		if (fact->count && fact_infos[fact->kind].bad &&
		    !(fact->known & FINDING_SUPPRESSED))
			add_line(lines, &subject,
				 fact->verb == VERB_COUNT ? "" : verb_infos[fact->verb].name);
	}
	for (size_t i = 0; i < facts->errors.n; i++) {
		const struct first_error *error = &facts->errors.all[i];
		struct subject subject = subject_of_error(report, error);

		if (!(error->known & FINDING_SUPPRESSED))
			add_line(lines, &subject, report_status(error->status, status));
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_baseline(const struct report *report, struct lines *lines)
{
	const struct findings *findings = report->findings;

	for (size_t i = 0; i < findings->n; i++) {
		struct subject subject = subject_of_finding(report, findings->all[i]);

		if (!(findings->all[i]->known & FINDING_SUPPRESSED))
			add_line(lines, &subject, findings->all[i]->where);
	}
	add_facts(lines, report);
	if (lines->failed)
		return log_err(-ENOMEM, "baseline");
	if (lines->n)
		qsort(lines->at, lines->n, sizeof(*lines->at), compare_lines);
	return 0;
}

/* Two findings of one place differ only in the number in "wr[2]". */
static bool same_fingerprint(const char *a, const char *b)
{
	return !strncmp(a, b, FINGERPRINT - 1);
}

/* A typing error must not overwrite a file of the user. */
int suppressions_check_target(const char *path)
{
	char head[sizeof(magic)] = "";
	struct stat st;
	FILE *file;

	if (lstat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	file = fopen(path, "re");
	if (!file)
		return log_err(-errno, "open %s", path);
	if (st.st_size && (!fgets(head, sizeof(head), file) || strcmp(head, magic))) {
		fclose(file);
		return log_why(-EEXIST, "%s is not a baseline and will not be overwritten", path);
	}
	fclose(file);
	return 0;
}

static int write_lines(const char *path, const struct lines *lines)
{
	struct outfile out;
	int err = outfile_open(path, &out);

	if (err)
		return err;
	fprintf(out.file, "%s\n", magic);
	for (size_t i = 0; i < lines->n; i++)
		if (!i || !same_fingerprint(lines->at[i], lines->at[i - 1]))
			fprintf(out.file, "%s\n", lines->at[i]);
	return outfile_close(&out, 0);
}

int put_baseline(const char *path, const struct report *report)
{
	struct lines lines = { 0 };
	int err = list_baseline(report, &lines);

	if (!err)
		err = suppressions_check_target(path);
	if (!err)
		err = write_lines(path, &lines);
	for (size_t i = 0; i < lines.n; i++)
		free(lines.at[i]);
	free(lines.at);
	return err;
}
