#pragma once
/*
 * --redact: which texts that may identify the user are not recorded. Not thread-safe.
 */
#include "cli/options.h"
#include "core/store/anonymise/redact.h"

/* Read "argv,env,host,paths" or "none" into @field, a uint32_t of REDACT_*: an option_parse. */
int redact_list_read(const char *text, void *field, char complaint[OPTIONS_COMPLAINT]);

/* clang-format off */
/* The row of a command that writes a trace of a recording; its settings have uint32_t redact. */
#define REDACT_ROW(settings)                                                                 \
	{ "redact", 0, "LIST", "replace argv,env,host,paths; none: not even passwords",       \
	  PARSED_AT(settings, redact, redact_list_read), .otherwise = "passwords in arguments" }
/* clang-format on */
