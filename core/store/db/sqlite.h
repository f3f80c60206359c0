#pragma once
/*
 * SQLite's header, for core/store; vtab/extension.c describes how the loadable extension calls it.
 */
#include <sqlite3.h>
