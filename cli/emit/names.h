#pragma once
/*
 * Names in the C program: variables, enumerators, and texts of the trace, which never end a comment
 * or a string.
 *
 * Not thread-safe.
 */
#include "cli/emit/program.h"

enum { NAME_TEXT = 64 };

/*
 * "qp1"; "p2_qp1" if several processes have one. An element of an array is "qp" INDEX "1;", which
 * program_add() turns into "qp[1]", and with a suffix into "qp_num[1]".
 */
const char *names_variable(const struct program *program, uint32_t object, char text[NAME_TEXT]);

/*
 * Write @number at @at and return its end. For the names of events, where snprintf() is too slow.
 */
char *names_decimal(char *at, uint32_t number);

/* Remove the index from a name: it then stands for the whole array. */
void names_strip(char *text);

/* Add the variable as a pointer to the base type: a CQ of the extended kind is cast. */
void names_add_handle(struct program *program, struct text *text, uint32_t object);

/* Add @value by its names, "IBV_QP_STATE | IBV_QP_PORT" or "IBV_QPS_INIT", else as a number. */
void names_add_flags(struct text *text, const struct enum_info *info, int64_t value);
void names_add_enum(struct text *text, const struct enum_info *info, int64_t value);

/* "EINVAL", or a number; "-EINVAL" if it is negative. */
void names_add_errno(struct text *text, int64_t error);

/* Add text of the trace to a comment, or inside a string. */
void names_add_comment(struct text *text, const char *foreign);
void names_add_string(struct text *text, const char *foreign);

/* Add the name of a thread, "3" of its events 3:N, inside a string. */
void names_add_thread(struct text *text, uint32_t thread);
