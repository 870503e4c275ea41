/*
 * What the verbs share
 */
#include "ctl/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/client.h"

int verb_fail(int condition, const char *message)
{
    static const int exit_codes[] = {
        [CLIENT_ABSENT] = EXIT_ABSENT,
        [CLIENT_REFUSED] = EXIT_REFUSED,
        [CLIENT_FAILED] = EXIT_FAILURE,
    };

    fprintf(stderr, "numabctl: %s\n", message);
    return exit_codes[condition];
}

int verb_fail_answer(int error)
{
    fprintf(stderr, "numabctl: cannot use the answer of numabd: %s\n", strerror(-error));
    return EXIT_FAILURE;
}

/* A full disk or a closed pipe shows only when what was printed is written out. */
static int flush_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_SUCCESS;
    fprintf(stderr, "numabctl: cannot write: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

static int ask(struct client *client, const char *method,
               int (*handle)(sd_bus_message *reply, void *userdata), void *userdata)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    int r = client_call(client, method, &reply);

    if (r > 0)
        return verb_fail(r, client->message);
    if (!handle)
        return EXIT_SUCCESS;
    r = handle(reply, userdata);
    return r < 0 ? verb_fail_answer(r) : flush_stdout();
}

int verb_ask(const struct ctl_options *options, const char *method,
             int (*handle)(sd_bus_message *reply, void *userdata), void *userdata)
{
    struct client client;
    int r = client_init(&client, options->bus);

    r = r > 0 ? verb_fail(r, client.message) : ask(&client, method, handle, userdata);
    client_deinit(&client);
    return r;
}

int verb_reload(const struct ctl_options *options)
{
    return verb_ask(options, "Reload", NULL, NULL);
}

int verb_pause(const struct ctl_options *options)
{
    return verb_ask(options, "Pause", NULL, NULL);
}

int verb_resume(const struct ctl_options *options)
{
    return verb_ask(options, "Resume", NULL, NULL);
}

int verb_undo(const struct ctl_options *options)
{
    return verb_ask(options, "Undo", NULL, NULL);
}
