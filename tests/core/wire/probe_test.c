/*
 * Which failures of which verbs programs expect: probe_test.txt
 */
#include "core/wire/probe.h"

#include <errno.h>

#include "tests/transcript.h"

static const int errors[] = { EPERM,  ENOENT, EINTR,       EIO,    EBADF,           EAGAIN,
			      ENOMEM, EBUSY,  EINVAL,      ENOSYS, ENODATA,         EOPNOTSUPP,
			      ENODEV, EPROTO, EINPROGRESS, EFAULT, EPROTONOSUPPORT, EAFNOSUPPORT };

/* The value of every argument; -2: not known. */
static bool give_argument(const void *call, const struct field_info *field, int64_t *ret_value)
{
	(void)field;
	*ret_value = *(const int64_t *)call;
	return *ret_value != -2;
}

static void show_expected(struct text *out, enum verb verb, int64_t value)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (!probe_is_expected(verb, errors[i], give_argument, &value))
			continue;
		if (!any)
			text_addf(out, "%s %d:", verb_infos[verb].name, (int)value);
		text_addf(out, " %s", strerrorname_np(errors[i]));
		any = true;
	}
	if (any)
		text_addf(out, "\n");
}

TEST(expected_failures_are_as_they_were)
{
	static const int64_t values[] = { -2, -1, 0, 1, 64, 127 };
	struct text out = { 0 };

	for (int verb = 0; verb < VERB_COUNT; verb++)
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
			show_expected(&out, (enum verb)verb, values[i]);
	transcript_expect(__FILE__, &out);
}
