/*
 * Datagrams to the socket of systemd
 */
#include "cli/record/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/record/hooks.h"
#include "tests/test.h"

static struct sockaddr_un at = { .sun_family = AF_UNIX };
static int listener;

static int begin_listening(void **state)
{
	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/verbatim-service-%d", (int)getpid());
	unlink(at.sun_path);
	listener = socket(AF_UNIX, SOCK_DGRAM, 0);
	return bind(listener, (struct sockaddr *)&at, sizeof(at));
}

static int end_listening(void **state)
{
	(void)state;
	close(listener);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return unlink(at.sun_path);
}

FIXTURE(begin_listening, end_listening);

static size_t hear_datagram(char text[512])
{
	ssize_t n = recv(listener, text, 511, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

TEST(state_is_one_datagram)
{
	char text[512];

	assert_false(service_notify("READY=1"));
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	assert_true(service_notify("READY=1"));
	assert_int_equal(hear_datagram(text), 7);
	assert_string_equal(text, "READY=1");
	setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
	assert_false(service_notify("READY=1"));
}

TEST(watchdog_is_for_this_process)
{
	char pid[16];

	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	assert_int_equal(service_watchdog_interval(), 0);
	setenv("WATCHDOG_USEC", "3000000", 1);
	assert_int_equal(service_watchdog_interval(), 3000000000);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(service_watchdog_interval(), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(service_watchdog_interval(), 3000000000);
}

TEST(entry_of_the_journal_has_fields)
{
	const struct hook_fact facts[] = {
		{ "rule", "LIFE-001", 0 }, { "time_ns", NULL, 5 }, { "text", "a\nb", 0 }, { 0 }
	};
	const char wanted[] = "MESSAGE=hello\nSYSLOG_IDENTIFIER=verbatim\nPRIORITY=3\n"
			      "VERBATIM_RULE=LIFE-001\nVERBATIM_TIME_NS=5\nVERBATIM_TEXT\n"
			      "\3\0\0\0\0\0\0\0a\nb\n";
	char text[512];

	assert_true(service_log(at.sun_path, 3, "hello", facts));
	assert_int_equal(hear_datagram(text), sizeof(wanted) - 1);
	assert_memory_equal(text, wanted, sizeof(wanted) - 1);
}
