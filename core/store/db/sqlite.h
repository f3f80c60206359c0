#pragma once
/* SQLite's header, for this room; vtab/extension.c says how the loadable extension calls it. */
#include <sqlite3.h>
