/*
 * A program that changes its user: what the recorder does before, in this order, and what it counts
 *
 * A process changes its user once, so each story runs in a child.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/text.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/process/user.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/recording.h"
#include "tests/shim/trace/fixture.h"

static struct text out;
static struct session_page page, own_page;
static uid_t user; /* the effective one */
static bool is_on, has_verbs, is_vforked;
static int no_session;

bool __wrap_recording_is_on(void);
bool __wrap_started_has_verbs(void);
bool __wrap_vfork_is_child(void);
void __wrap_recording_lock(void);
void __wrap_recording_unlock(void);
void __wrap_rings_set_aside(struct session *session);
int __wrap_session_join(struct session *session, const char *dir);

uid_t geteuid(void)
{
	return user;
}

bool __wrap_recording_is_on(void)
{
	return is_on;
}

bool __wrap_started_has_verbs(void)
{
	return has_verbs;
}

bool __wrap_vfork_is_child(void)
{
	return is_vforked;
}

void __wrap_recording_lock(void)
{
	text_addf(&out, " lock");
}

void __wrap_recording_unlock(void)
{
	text_addf(&out, " unlock");
}

void __wrap_rings_set_aside(struct session *session)
{
	HOLDS(session == &recording_session);
	session->page = &own_page;
	text_addf(&out, " rings");
}

int __wrap_session_join(struct session *session, const char *dir)
{
	text_addf(&out, " join %s", dir);
	errno = EBUSY;
	if (no_session)
		return no_session;
	session->page = &page;
	return 0;
}

static int change_one(uid_t to)
{
	text_addf(&out, " to %d", (int)to);
	user = to == (uid_t)-1 ? user : to;
	return 5;
}

static int change_two(uid_t real, uid_t effective)
{
	text_addf(&out, " real %d", (int)real);
	return change_one(effective);
}

static int change_three(uid_t real, uid_t effective, uid_t kept)
{
	text_addf(&out, " kept %d", (int)kept);
	return change_two(real, effective);
}

static void expect_calls(const char *wanted)
{
	if (strcmp(out.at ?: "", wanted))
		dprintf(2, "'%s', not '%s'\n", out.at ?: "", wanted);
	HOLDS(!strcmp(out.at ?: "", wanted));
	text_cut(&out, 0);
}

static void expect_strangers(const struct session_page *at, uint32_t n, uint32_t stranger)
{
	HOLDS(atomic_load(&at->strangers) == n);
	HOLDS(atomic_load(&at->stranger) == stranger);
}

static void begin_story(void)
{
	libc_found[LIBC_setuid] = libc_found[LIBC_seteuid] = (void *)change_one;
	libc_found[LIBC_setreuid] = (void *)change_two;
	libc_found[LIBC_setresuid] = (void *)change_three;
	recorder.generation = recording_generation(); /* record_ready() */
	recorder.busy = 0;
	setenv(SESSION_ENV, "/s", 1);
	text_cut(&out, 0); /* of fork() */
}

static void set_rings_aside(void)
{
	is_on = true;
	errno = ERANGE;
	HOLDS(setuid(7) == 5);
	HOLDS(errno == ERANGE);
	expect_calls(" rings to 7");
	user_exec();
	expect_strangers(&own_page, 1, 8);
	user_exec();
	expect_strangers(&own_page, 1, 8);
}

static void know_verbs(void)
{
	has_verbs = true;
	HOLDS(seteuid(7) == 5);
	expect_calls(" rings to 7");
}

static void map_the_page(void)
{
	errno = ERANGE;
	HOLDS(seteuid(7) == 5);
	HOLDS(errno == ERANGE);
	expect_calls(" lock join /s unlock to 7");
	user_exec();
	expect_strangers(&page, 1, 8);
	user = 0;
	HOLDS(seteuid(9) == 5);
	expect_calls(" lock unlock to 9");
	user_exec();
	expect_strangers(&page, 1, 8);
}

static void come_back(void)
{
	seteuid(7);
	user = 0;
	user_exec();
	expect_strangers(&page, 0, 0);
	user = 8;
	user_exec();
	expect_strangers(&page, 1, 9);
}

static void have_no_session(void)
{
	unsetenv(SESSION_ENV);
	setuid(7);
	user = 0;
	setenv(SESSION_ENV, "", 1);
	setuid(7);
	user_exec();
	expect_calls(" to 7 to 7");
	expect_strangers(&page, 0, 0);
}

static void fail_to_join(void)
{
	no_session = -EACCES;
	setuid(7);
	user_exec();
	expect_calls(" lock join /s unlock to 7");
	expect_strangers(&page, 0, 0);
}

static void change_nothing(void)
{
	HOLDS(seteuid((uid_t)-1) == 5);
	HOLDS(seteuid(0) == 5);
	is_vforked = true;
	seteuid(7);
	user = 0;
	is_vforked = false;
	recorder.busy = 1;
	seteuid(7);
	recorder.busy = 0;
	HOLDS(seteuid(8) == 5);
	expect_calls(" to -1 to 0 to 7 to 7 to 8");
	user_exec();
	expect_strangers(&page, 0, 0);
}

static void change_the_real_user(void)
{
	setreuid(7, (uid_t)-1);
	expect_calls(" real 7 to -1");
	setresuid(7, (uid_t)-1, 9);
	expect_calls(" kept 9 real 7 to -1");
	setreuid(6, 7);
	expect_calls(" lock join /s unlock real 6 to 7");
}

static void change_all_users(void)
{
	setresuid(6, 7, 9);
	expect_calls(" lock join /s unlock kept 9 real 6 to 7");
}

static const struct {
	const char *name;
	void (*run)(void);
} stories[] = {
	{ "rings_are_set_aside", set_rings_aside },
	{ "a_program_with_verbs_joins", know_verbs },
	{ "another_program_maps_the_page", map_the_page },
	{ "a_user_who_came_back_is_no_stranger", come_back },
	{ "without_a_session_nothing_is_done", have_no_session },
	{ "a_session_that_cannot_be_joined", fail_to_join },
	{ "other_changes_do_nothing", change_nothing },
	{ "the_effective_user_matters", change_the_real_user },
	{ "three_users", change_all_users },
};

static void user_change_is_handled(void **state)
{
	const typeof(stories[0]) *story = *state;
	pid_t child = fork();
	int status;

	if (!child) {
		begin_story();
		story->run();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST_ROWS(stories, user_change_is_handled);
