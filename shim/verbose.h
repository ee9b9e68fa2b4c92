/* TIDEMARK_VERBOSE=on: what is in force and where each value came from. */
#ifndef SHIM_VERBOSE_H
#define SHIM_VERBOSE_H

#include "policy/ceiling.h"
#include "shim/driver.h"
#include "shim/init.h"

/* Version, every option with its value and origin, what is retained, and the ceilings of host
   memory that were requested. */
void shim_verbose_start(const struct shim_settings *settings);

/* A driver was found: its path, and how many of our hooks it has. Nothing when verbose is
   off. */
void shim_verbose_driver(const struct shim_driver *driver);

/* A device came into use: its ceiling. Nothing when verbose is off. */
void shim_verbose_device(const struct shim_driver *driver, unsigned ordinal,
                         const struct policy_ceiling *ceiling);

#endif
