#pragma once
/*
 * Functions that we stand before without exporting them, where a loaded object
 * imports them: verbs that only newer libraries have, and what providers offer
 * beside the verbs (mlx5dv_*, efadv_*). Any thread.
 */
#include <link.h>
#include <stdbool.h>

#include "core/wire/desc.h"

/* Look at what is loaded now. Takes the loader's lock, and is not called under it. */
void import_look(void);

/* The same where something was loaded since, if the process is recorded. */
void import_look_again(void);

/* Look at one more object. Takes no lock where it imports nothing of the kind. */
void import_see(const struct dl_phdr_info *info);

/* Once there is a ring: say of which calls may go by unseen. */
void import_tell(void);

/* Is it the name of such a function? */
bool import_is_known(const char *name);

/* Of such a function: is it known to be of that version? */
bool import_is_of(const char *name, const char *version);

/*
 * What the program is to get for the function @found of such a name, which it
 * has looked up and which is not NULL; NULL: that.
 */
void *import_instead(const char *name, void *found);

/* Made from the list: our function of a verb that is not exported; or NULL. */
void *later_function(enum verb verb);
