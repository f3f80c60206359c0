/*
 * Suppressions and baselines: known_test.txt has, for each pair of files, what is complained about,
 * or what of one story is known, and the baseline that would be written
 */
#include <signal.h>

#include "analyzer/report/known.h"
#include "tests/analyzer/ends.h"
#include "tests/printed.h"

static struct story story;
static struct report report;
static struct text shown;
static char folder[128];
static char path_of_files[3][160]; /* suppressions, a baseline, a baseline to write */

/*
 * A verb that fails, a region deregistered while a receive uses it, one that does not exist, a
 * leak, an error completion, and a process that is killed.
 */
static int begin_known(void **state)
{
	static const char *const names[] = { "suppressions", "baseline", "written" };
	struct story_call call;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/known-XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(folder))
		return -1;
	for (int i = 0; i < 3; i++)
		snprintf(path_of_files[i], sizeof(path_of_files[i]), "%s/%s", folder, names[i]);
	begin_story(&story);
	story_module(&story, 0, 0x30, 0x60, "/usr/lib/libother.so");
	story_module(&story, 1, 1, 0x30, "/usr/lib/libapp.so");
	call = story_call(&story, 0, VERB_reg_mr, 0x31, W(&ends[0].pd), W(AT), W(4096), W(0));
	story_fails(&story, &call, 0, ENOMEM);
	story_post(&story, 1, VERB_post_recv, &ends[1].qp, 1, 0,
		   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	story_do(&story, 1, VERB_dereg_mr, 6, 0, W(&ends[1].mr));
	post_rdma(&story, IBV_WR_RDMA_WRITE, AT, 8, 0x99);
	poll_as(&story, IBV_WC_REM_ACCESS_ERR);
	story_exit(&story, STORY_PID, 3 << 8);
	story_exit(&story, PEER, SIGSEGV);
	story_check(&story, NULL);
	report =
		(struct report){ .path = "t.db", .trace = story.trace, .findings = story.findings };
	return symbols_open(&report.symbols);
}

static int end_known(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		unlink(path_of_files[i]);
	rmdir(folder);
	symbols_close(report.symbols);
	story_end(&story);
	text_fini(&shown);
	return 0;
}

GROUP(begin_known, end_known);

static void put_file(const char *path, const char *text, size_t n)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

/* Append @text; the folder is left out. */
static void add_shown(const char *text)
{
	size_t n = strlen(folder);

	for (; *text; text++)
		if (strncmp(text, folder, n) == 0)
			text += n;
		else
			text_char(&shown, *text);
}

static void add_file(const char *path)
{
	char line[256];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		add_shown(line);
	fclose(file);
}

/* Sum, notes, each finding and fact with what is known of it, and the baseline. */
static void add_judged(struct suppressions *known)
{
	const struct facts *facts = report.findings->facts;
	struct text text = { 0 };

	report.known = known;
	suppressions_mark_findings(known, &report);
	suppressions_mark_facts(known, &report);
	printed_begin(true);
	report.out = stdout;
	suppressions_print_sum(&report);
	printf("\n");
	suppressions_report(known, report.findings);
	for (size_t i = 0; i < report.findings->n; i++)
		printf("%s %u\n", rules[report.findings->all[i]->rule].id,
		       report.findings->all[i]->known);
	for (size_t i = 0; i < facts->list.n; i++)
		printf("%s %u\n", fact_infos[facts->list.all[i].kind].name,
		       facts->list.all[i].known);
	for (size_t i = 0; i < facts->errors.n; i++)
		printf("error %u\n", facts->errors.all[i].known);
	for (unsigned int is = 0; is <= 3; is++)
		printf("%d, ", (int)suppressions_count(report.findings, (enum finding_known)is));
	printf("baseline %d\n", suppressions_have_baseline(known));
	printed_end(&text);
	add_shown(text.at);
	text_fini(&text);
	assert_int_equal(put_baseline(path_of_files[2], &report), 0);
	add_file(path_of_files[2]);
}

/* NULL: there is no such file. */
static void open_files(const char *suppressions, const char *baseline)
{
	char complaint[KNOWN_COMPLAINT] = "";
	struct suppressions *known;
	int err;

	if (suppressions)
		put_file(path_of_files[0], suppressions, strlen(suppressions));
	if (baseline)
		put_file(path_of_files[1], baseline, strlen(baseline));
	text_addf(&shown, "== suppressions:\n%s\n== baseline:\n%s\n== known:\n",
		  suppressions ?: "none", baseline ?: "none");
	err = suppressions_open(suppressions ? path_of_files[0] : NULL,
				baseline ? path_of_files[1] : NULL, complaint, &known);
	if (err) {
		text_addf(&shown, "%s: ", strerrorname_np(-err));
		add_shown(complaint);
		text_addf(&shown, "\n");
		return;
	}
	for (size_t i = 0; i < report.findings->n; i++)
		report.findings->all[i]->known = FINDING_NEW;
	add_judged(known);
	report.known = NULL;
	suppressions_close(known);
}

static const char *const suppressions[] = {
	"",
	"LIFE-004",
	"leak # all of them\n\n \t\r\n# no more",
	"MKEY-004 *",
	"MKEY-004 * app\nMKEY-005 * /bin/app\nMKEY-005 * bin",
	"MKEY* libapp.so\nfailed-verb libother.so\nerror lib*",
	"MKEY* /usr/lib/libapp.so\nfailed-verb /usr/lib/libother.so app",
	"* *other*",
	"MKEY-00[1-5]",
	"failed-verb ibv_reg_mr\nfailed-exit\nfirst-error",
	"MKEY-999",
	"ok\n",
	"LIFE-004\n\nNO-RULE x",
	"LIFE-004 a b c",
	"LIFE-004 a b # c",
	"LIFE-004 a  b\t",
	"FORK-005",
	"THREAD* nobody",
};

TEST(suppressions_are_for_rules_functions_and_programs)
{
	for (size_t i = 0; i < sizeof(suppressions) / sizeof(*suppressions); i++)
		open_files(suppressions[i], NULL);
}

#define HEAD "# verbatim baseline 1\n"

static const char *const baselines[] = {
	"",
	HEAD,
	"# verbatim baseline 2\n",
	"# verbatim baseline",
	HEAD "# a comment\n\n0123456789abcdef LIFE-004 somewhere else\n",
	HEAD "0123456789abcdef FORK-005 x\n0123456789abcde0 failed-verb\n",
	HEAD "0123456789abcdef\n",
	HEAD "0123456789abcde LIFE-004\n",
	HEAD "0123456789abcdef0 LIFE-004\n",
	HEAD "0123456789abcdeF LIFE-004\n",
	HEAD "0123456789abcdef NO-RULE x\n",
};

TEST(lines_of_a_baseline_are_fingerprints_and_rules)
{
	for (size_t i = 0; i < sizeof(baselines) / sizeof(*baselines); i++)
		open_files(NULL, baselines[i]);
}

/* What the story's own baseline has is known; and what is suppressed, too, is in none. */
TEST(a_baseline_has_what_is_not_suppressed)
{
	char text[2048] = "";
	size_t n;
	FILE *file;

	unlink(path_of_files[2]);
	report.known = NULL;
	for (size_t i = 0; i < report.findings->n; i++)
		report.findings->all[i]->known = FINDING_NEW;
	open_files(NULL, NULL);
	file = fopen(path_of_files[2], "r");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	open_files(NULL, text);
	open_files("MKEY*\nfailed-verb\n", text);
}

static void expect_written(const char *before, size_t n, int err, const char *said)
{
	struct text text = { 0 };

	put_file(path_of_files[2], before, n);
	printed_begin(true);
	assert_int_equal(put_baseline(path_of_files[2], &report), err);
	printed_end(&text);
	text_cut(&shown, 0);
	add_shown(text.at ?: "");
	assert_string_equal(shown.at ?: "", said);
	text_fini(&text);
}

TEST_LAST(outputs_are_those_of_the_transcript)
{
	transcript_expect(__FILE__, &shown);
}

TEST_LAST(only_a_baseline_is_overwritten)
{
	static const char taken[] =
		"verbatim: written is not a baseline and will not be overwritten\n";

	expect_written("", 0, 0, "");
	expect_written(HEAD "x", sizeof(HEAD), 0, "");
	expect_written("# verbatim baseline 1", 21, 0, "");
	expect_written("# verbatim baseline 2\n", 22, -EEXIST, taken);
	expect_written("# verbatim baselin", 18, -EEXIST, taken);
	expect_written("x", 1, -EEXIST, taken);
}
