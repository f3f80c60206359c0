#pragma once
/*
 * The signals of a recording to whatever watches it: metrics, hooks, the journal, systemd.
 *
 * They run in the recorder's own thread, from what it has read already; the recorded program does
 * nothing for them. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct alerts;
struct stored_finding;
struct live_stats;
struct writer;

struct alerts_settings {
	const char *metrics;               /* a file, or ":" and a port; NULL: none */
	const char *on_error, *on_finding; /* commands; NULL: none */
	bool check;                        /* there is a check */
};

/* Check the settings. 0, or the exit status after a message. */
int alerts_check(const struct alerts_settings *settings);

/*
 * Call it before the session and the trace are opened: it may fork a process, which must not
 * inherit them. @trace is the path. 0 or -errno after log_err().
 */
int alerts_new(const struct alerts_settings *settings, const char *trace, bool quiet,
	       struct alerts **ret_alerts);

/* Accepts NULL. */
void alerts_free(struct alerts *alerts);

/* From now on get failures of @writer and numbers of @vitals. */
void alerts_attach(struct alerts *alerts, struct writer *writer, struct live_stats *vitals);

/* A new finding of the check: @arg is the alerts. */
void alerts_note_finding(void *arg, const struct stored_finding *finding);

/* The program was started; the recording ends. */
void alerts_notify_ready(struct alerts *alerts);
void alerts_notify_stopping(struct alerts *alerts);

/* Several times a second. */
void alerts_update(struct alerts *alerts);

/* The longest sleep in ns that systemd's watchdog allows; UINT64_MAX: any. */
uint64_t alerts_pause(const struct alerts *alerts);
