/* Which driver this is. One library is built for each version, since what a library
   exports cannot depend on its environment. */
#ifndef SIMCUDA_VERSION_H
#define SIMCUDA_VERSION_H

extern const int sim_version; /* 13000 for 13.0 */

#endif
