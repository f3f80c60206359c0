#pragma once
/*
 * Replaces names of files, programs and devices, unless they are the same on every machine. Not
 * thread-safe.
 */
#include "core/base/text.h"
#include "core/store/anonymise/substitutes.h"

/* A path: its depth stays; folders of every system and well-known libraries are not replaced. */
void replace_path(struct substitutes *substitutes, const char *path, struct text *to);

/* A command line: the number of words stays. The first, the program, is replaced as a path. */
void replace_command(struct substitutes *substitutes, const char *command, struct text *to);

/*
 * A device, or several separated by commas: names numbered by the kernel (mlx5_0, rxe0) are not
 * replaced.
 */
void replace_device(struct substitutes *substitutes, const char *name, struct text *to);

/* The value of a variable: a number, with a unit, or a word such as "yes" is not replaced. */
void replace_value(struct substitutes *substitutes, const char *value, struct text *to);

/* A kernel release, up to the end of its numbers: the rest may name who built it. */
void replace_release(const char *release, struct text *to);

/* The name of a host or an address: "localhost" is not replaced. */
void replace_host(struct substitutes *substitutes, const char *name, struct text *to);
