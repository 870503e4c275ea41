#include "daemon/load.h"

#include <stdio.h>
#include <string.h>

int load_config(const struct daemon_options *options, bool may_be_missing, struct config **configp,
                struct config_error *error)
{
    CLEANUP(config_freep) struct config *config = NULL;
    int r = config_new(&config, options->config_path, error);

    if (r == CONFIG_MISSING && may_be_missing && !options->config_is_given)
        r = config_new_default(&config);
    if (!r)
        r = config_resolve_users(config, options->config_path, options->root, error);
    if (r < 0)
        snprintf(error->message, sizeof error->message, "%s: %s", options->config_path,
                 strerror(-r));
    if (r > 0)
        return DAEMON_BAD_CONFIG;
    if (r < 0)
        return r;
    config->observe |= options->observe;
    *configp = TAKE(config);
    return 0;
}
