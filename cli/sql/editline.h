#pragma once
/*
 * libedit, loaded for a prompt on a terminal (core/base/library.h). Not thread-safe.
 */
#include <editline/readline.h>
#include <stdbool.h>

#include "core/base/library.h"

/* clang-format off */
#define EDIT_LIB(X) \
	X(add_history) \
	X(clear_history) \
	X(readline) \
	X(rl_attempted_completion_function) \
	X(rl_attempted_completion_over) \
	X(rl_basic_word_break_characters) \
	X(rl_completer_word_break_characters) \
	X(rl_completion_matches) \
	X(rl_line_buffer) \
	X(rl_outstream) \
	X(rl_readline_name) \
	X(using_history)
/* clang-format on */

extern LIBRARY(EDIT_LIB) editline; /* used only after editline_load() */

/* Load libedit. False: it is not available; lines are then read as from a pipe. */
bool editline_load(void);
