#include "cli/attach/enter.h"

#include <string.h>

#include "tests/test.h"

/* /proc/PID/status as the kernel writes it, but for the lines that nobody reads. */
#define STATUS(tracer, uid, gid, seccomp, features)                                          \
	"Name:\tapp\nUmask:\t0022\nState:\tS (sleeping)\nTracerPid:\t" tracer "\nUid:\t" uid \
	"\nGid:\t" gid "\nSeccomp:\t" seccomp "\nSeccomp_filters:\t0\n"                      \
	"x86_Thread_features:\t" features "\nx86_Thread_features_locked:\t\n"

#define UID "1000\t1000\t1000\t1000"
#define GID "100\t100\t100\t100"

static const struct row {
	const char *name, *status, *words; /* NULL: it is not refused */
} rows[] = {
	{ "usual_process", STATUS("0", UID, GID, "0", ""), NULL },
	{ "traced_process", STATUS("77", UID, GID, "0", ""), "is traced" },
	{ "set_user_id", STATUS("0", "1000\t0\t0\t0", GID, "0", ""), "is set-user-ID" },
	{ "set_group_id", STATUS("0", UID, "100\t4\t4\t4", "0", ""), "is set-user-ID" },
	{ "other_user", STATUS("0", "0\t0\t0\t0", GID, "0", ""), "another user" },
	{ "seccomp_filter", STATUS("0", UID, GID, "2", ""), "seccomp sandbox" },
	{ "seccomp_strict", STATUS("0", UID, GID, "1", ""), "seccomp sandbox" },
	{ "shadow_stack", STATUS("0", UID, GID, "0", "shstk"), "has shadow stacks" },
	{ "shadow_stack_writable", STATUS("0", UID, GID, "0", "shstk wrss"), "has shadow stacks" },
};

static void refuse_by_status(void **state)
{
	const struct row *row = *state;
	const char *why = enter_refuse_status(row->status, 1000);

	if (!row->words)
		assert_null(why);
	else
		assert_non_null(strstr(why ?: "", row->words));
}
TEST_ROWS(rows, refuse_by_status);
