#pragma once
/*
 * Loading the configuration as the options say.
 */
#include "daemon/daemon.h"
#include "numabd/config.h"

/*
 * A default file that is missing means the defaults, where it may be missing (at start).
 * Return: 0, DAEMON_BAD_CONFIG, or a negative errno, both with a message in *error.
 */
int load_config(const struct daemon_options *options, bool may_be_missing, struct config **configp,
                struct config_error *error);
