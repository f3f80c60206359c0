/* Reports of the data that a session could not record */
#include "cli/record/unrecorded.h"

#include <unistd.h>

#include "cli/format.h"
#include "core/wire/log.h"

/* The verbs that a program calls after it has dropped its user's rights cannot be recorded. */
static void report_unrecorded(const struct session_page *page, uint32_t foreign)
{
	uint32_t programs = atomic_load(&page->strangers);
	char what[96];

	if (!foreign && !programs)
		return;
	if (foreign && programs)
		snprintf(what, sizeof(what), "threads (%u) and programs (%u) were", foreign,
			 programs);
	else if (foreign)
		snprintf(what, sizeof(what), "%u thread%s", foreign,
			 foreign == 1 ? " was" : "s were");
	else
		snprintf(what, sizeof(what), "%u program%s", programs,
			 programs == 1 ? " was" : "s were");
	log_note("%s not recorded: user %u cannot enter the directory of this recording, which "
		 "belongs to user %u; start the recording as that user, as in 'setpriv --reuid=%u "
		 "... verbatim record ...'",
		 what, atomic_load(&page->stranger) - 1, (unsigned int)geteuid(),
		 atomic_load(&page->stranger) - 1);
}

int unrecorded_report_threads(const struct session *session, struct writer *writer)
{
	const struct session_page *page = session->page;
	uint32_t n = atomic_load(&page->ringless), denied = atomic_load(&page->denied);
	uint32_t foreign = atomic_load(&page->foreign), sandboxed = atomic_load(&page->sandboxed);
	char text[FORMAT_TEXT];

	n = n < SESSION_RINGS ? n : SESSION_RINGS;
	denied = denied < n ? denied : n;
	foreign = foreign < n - denied ? foreign : n - denied;
	sandboxed = sandboxed < n - denied - foreign ? sandboxed : n - denied - foreign;
	report_unrecorded(page, foreign);
	if (!n)
		return 0;
	if (denied)
		log_note("threads not recorded: %u, since the rings of their process are limited "
			 "to %s (raise --ring-budget)",
			 denied, format_bytes(atomic_load(&page->withheld_budget), text));
	if (sandboxed)
		log_note("threads not recorded: %u, since a seccomp filter that their program "
			 "installed before their first verb forbids the system calls needed",
			 sandboxed);
	if (n > denied + foreign + sandboxed)
		log_note("threads not recorded: %u, since no ring could be created in %s, or "
			 "their process was forked while the loader was in use",
			 n - denied - foreign - sandboxed, session->dir);
	return writer_note_ringless(writer, n);
}

int unrecorded_report_memory(const struct session *session, struct writer *writer)
{
	const struct session_page *page = session->page;
	const struct writer_note_withheld withheld = {
		.rings = atomic_load(&page->withheld),
		.threads = atomic_load(&page->denied),
		.budget = atomic_load(&page->withheld_budget),
		.waits = atomic_load(&page->gave_up),
	};

	return writer_note_withheld(writer, &withheld);
}

int unrecorded_report_rings(struct ring_search *search, struct writer *writer, uint32_t *ret_rings)
{
	char path[SESSION_PATH + 16];

	*ret_rings = ring_search_unreadable(search, path);
	if (!*ret_rings)
		return 0;
	log_note("%s%s cannot be read: truncated, not a ring, or the process that created it was "
		 "killed; %u thread%s not in the trace",
		 path, *ret_rings > 1 ? " and others" : "", *ret_rings,
		 *ret_rings > 1 ? "s are" : " is");
	return writer_note_ringless(writer, *ret_rings);
}
