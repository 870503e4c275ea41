/*
 * numabctl status
 */
#include <stdio.h>

#include "ctl/verbs.h"
#include "report/json.h"
#include "report/listing.h"
#include "report/wire.h"

static int print_status(sd_bus_message *reply, void *userdata)
{
    const struct ctl_options *options = userdata;
    struct status_report report;
    int r = wire_read_status(reply, &report);

    if (r < 0)
        return r;
    if (options->json) {
        json_print_status(stdout, &report);
        putchar('\n');
    } else {
        listing_print_status(stdout, &report);
    }
    return 0;
}

int verb_status(const struct ctl_options *options)
{
    return verb_ask(options, "Status", print_status, (void *)options);
}
