#include "shim/guard.h"

__thread int shim_guard_depth __attribute__((tls_model("initial-exec")));
