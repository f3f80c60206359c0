#pragma once
/*
 * Replaces names of files, programs and devices, unless they are the same on every machine. Not
 * thread-safe.
 */
#include "core/base/text.h"
#include "core/store/anonymise/substitutes.h"

/*
 * Replace a path: its depth does not change; folders of every system and well-known libraries are
 * not replaced.
 */
void replace_path(struct substitutes *substitutes, const char *path, struct text *to);

/*
 * Replace a command line: the number of words does not change. The first, the program, is replaced
 * as a path.
 */
void replace_command(struct substitutes *substitutes, const char *command, struct text *to);

/*
 * Replace a device name, or several separated by commas. Names that the kernel numbers (mlx5_0,
 * rxe0) are not replaced.
 */
void replace_device(struct substitutes *substitutes, const char *name, struct text *to);

/*
 * Replace the value of a variable, unless it is a number, also with a unit, or a word such as
 * "yes".
 */
void replace_value(struct substitutes *substitutes, const char *value, struct text *to);

/* Replace a kernel release after its leading numbers: the rest may name the person who built it. */
void replace_release(const char *release, struct text *to);

/* Replace the name of a host, or an address, except "localhost". */
void replace_host(struct substitutes *substitutes, const char *name, struct text *to);
