#pragma once
/*
 * Names of files, programs and devices, replaced unless they are those of every machine. One
 * thread.
 */
#include "core/base/text.h"
#include "core/store/anonymise/substitutes.h"

/* A path: as deep as it was; folders of every system and well-known libraries stay. */
void replace_path(struct substitutes *substitutes, const char *path, struct text *to);

/* A command line: as many words as it had. The first, the program, is replaced as a path. */
void replace_command(struct substitutes *substitutes, const char *command, struct text *to);

/* A device, or several with commas: as the kernel numbers them (mlx5_0, rxe0) they stay. */
void replace_device(struct substitutes *substitutes, const char *name, struct text *to);

/* The value of a variable: a number, with a unit, or a word such as "yes" stays. */
void replace_value(struct substitutes *substitutes, const char *value, struct text *to);

/* A kernel's release, as far as numbers go: what follows may name who built it. */
void replace_release(const char *release, struct text *to);

/* The name of a host or an address: "localhost" stays. */
void replace_host(struct substitutes *substitutes, const char *name, struct text *to);
