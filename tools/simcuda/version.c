#include "tools/simcuda/version.h"

const int sim_version = SIM_VERSION;
