#include "cli/torture/sanitizer.h"

#include "tests/test.h"

#define USED                                                             \
	"==7==ERROR: AddressSanitizer: heap-use-after-free on address\n" \
	"    #0 0x1 in reap /a.c:58\n"                                   \
	"SUMMARY: AddressSanitizer: heap-use-after-free /a.c:58 in reap\n"
#define LEAKED                                                              \
	"==7==ERROR: LeakSanitizer: detected memory leaks\n\n"              \
	"Direct leak of 10 byte(s) in 1 object(s) allocated from:\n"        \
	"    #0 0x1 in __interceptor_malloc\n    #1 0x2 in start /a.c:44\n" \
	"SUMMARY: AddressSanitizer: 10 byte(s) leaked in 1 allocation(s)."

static const struct {
	const char *text;
	const char *reports[3]; /* those of leaks begin with ! */
} texts[] = {
	{ "", { NULL } },
	{ "no\nSUMMARY: 3 failures\nERROR: no luck\nthis runtime error: none", { NULL } },
	{ "sent 1\n" USED, { "SUMMARY: AddressSanitizer: heap-use-after-free /a.c:58 in reap" } },
	{ LEAKED,
	  { "!SUMMARY: AddressSanitizer: 10 byte(s) leaked in 1 allocation(s)., allocated in start "
	    "/a.c:44" } },
	{ "==7==ERROR: AddressSanitizer: SEGV on unknown address\n#0 0x1 in reap",
	  { "==7==ERROR: AddressSanitizer: SEGV on unknown address" } },
	{ "a.c:3:1: runtime error: shift\nb.c:4:2: runtime error: overflow\n",
	  { "a.c:3:1: runtime error: shift", "b.c:4:2: runtime error: overflow" } },
	{ "WARNING: ThreadSanitizer: data race (pid=7)\nSUMMARY: ThreadSanitizer: data race a.c:3",
	  { "SUMMARY: ThreadSanitizer: data race a.c:3" } },
};

TEST(each_report_is_found_once)
{
	struct sanitizer_report report;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *at = texts[i].text, *wanted;

		for (size_t n = 0; (wanted = texts[i].reports[n]); n++) {
			assert_true(sanitizer_next(&at, &report));
			assert_int_equal(report.leak, *wanted == '!');
			assert_string_equal(report.says, wanted + report.leak);
		}
		assert_false(sanitizer_next(&at, &report));
		assert_string_equal(at, "");
	}
}
