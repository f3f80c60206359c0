/*
 * The requests and completions that a dump was asked for
 */
#include "cli/dump/choice.h"

#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/explain/explain.h"
#include "cli/suggest.h"

enum { STATUSES = 64, NAME = 64 };

static int refuse_status(const char *name, char complaint[OPTIONS_COMPLAINT])
{
	const struct enum_info *info = enum_find("ibv_wc_status");
	struct suggestion near = { .word = name };

	for (unsigned int i = 0; i < info->nvalues; i++) {
		suggest_name(&near, info->values[i].name);
		suggest_name(&near, info->values[i].name + strlen("IBV_WC_"));
	}
	suggest_name(&near, "error");
	snprintf(complaint, OPTIONS_COMPLAINT,
		 "unknown completion status '%s'%s; 'error' selects all but success and flushes",
		 name, suggest_text(&near));
	return -EINVAL;
}

int choice_add_status(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct choice_statuses *statuses = field;
	char name[NAME];
	size_t n;

	for (; *text; text += n + !!text[n]) {
		int status;

		n = strcspn(text, ",");
		if (!n)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)n, text);
		statuses->given = true;
		if (!strcasecmp(name, "error")) {
			statuses->errors = true;
			continue;
		}
		status = explain_find_status(name);
		if (status < 0 || status >= STATUSES)
			return refuse_status(name, complaint);
		statuses->known |= 1ull << status;
	}
	if (statuses->given)
		return 0;
	snprintf(complaint, OPTIONS_COMPLAINT, "--status has an empty status");
	return -EINVAL;
}

int choice_read_wr_id(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct choice_wr_id *wr_id = field;
	bool hex = text[0] == '0' && (text[1] | 0x20) == 'x';
	char *end;

	errno = 0;
	wr_id->is = strtoull(text, &end, hex ? 16 : 10);
	wr_id->given = true;
	if (isdigit((unsigned char)*text) && !errno && !*end)
		return 0;
	snprintf(complaint, OPTIONS_COMPLAINT,
		 "--wr-id takes a number such as 0x2a or 42, not '%.60s'", text);
	return -EINVAL;
}

bool choice_has_wr(const struct choice *choice, const struct wr *wr)
{
	return !choice->statuses.given && (!choice->wr_id.given || wr->wr_id == choice->wr_id.is);
}

static bool has_status(const struct choice_statuses *statuses, int status)
{
	if (statuses->errors && status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR)
		return true;
	return status >= 0 && status < STATUSES && statuses->known >> status & 1;
}

bool choice_has_wc(const struct choice *choice, const struct wc *wc)
{
	return (!choice->statuses.given || has_status(&choice->statuses, wc->status)) &&
	       (!choice->wr_id.given || wc->wr_id == choice->wr_id.is);
}

bool choice_has_event(const struct choice *choice, const struct trace_event *event)
{
	if (!choice_given(choice))
		return true;
	if (event->kind == TRACE_POST)
		for (uint32_t i = 0; i < event->post->nwr; i++)
			if (choice_has_wr(choice, &event->post->wr[i]))
				return true;
	if (event->kind == TRACE_POLL)
		for (uint32_t i = 0; i < event->poll->nwc; i++)
			if (choice_has_wc(choice, &event->poll->wc[i]))
				return true;
	return false;
}
