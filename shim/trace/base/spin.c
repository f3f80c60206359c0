#include "shim/trace/base/spin.h"

__thread bool spin_held __attribute__((tls_model("initial-exec")));
