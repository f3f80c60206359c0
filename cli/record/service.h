#pragma once
/*
 * What a recorder tells systemd: that it is ready, alive and stopping, and entries of the journal
 * with fields. Without systemd these do nothing. Not thread-safe.
 *
 * Implemented without libsystemd: both are single datagrams in a stable format, and the library
 * would load four others at each start of any command.
 */
#include <stdbool.h>
#include <stdint.h>

struct hook_fact; /* hooks.h */

#define SERVICE_JOURNAL "/run/systemd/journal/socket"

/*
 * Send @state, "READY=1", to NOTIFY_SOCKET. False: there is no such socket, or sending failed,
 * which does not matter.
 */
bool service_notify(const char *state);

/* The interval, in ns, of systemd's watchdog; 0: no watchdog. */
uint64_t service_watchdog_interval(void);

/* Is standard error connected to the journal? */
bool service_has_journal(void);

/*
 * An entry of the journal at @path with @message, @priority of syslog(3), and a field for each of
 * @facts: VERBATIM_KIND=... False: it failed.
 */
bool service_log(const char *path, int priority, const char *message,
		 const struct hook_fact *facts);
