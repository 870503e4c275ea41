/*
 * numabctl vmas
 *
 * The daemon answers page by page, so that it is never held up by a process with 65,530 VMAs. What
 * is printed is put together from all of them, of one program: if another one was executed in
 * between, there is no answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/client.h"
#include "ctl/verbs.h"
#include "report/json.h"
#include "report/vma_listing.h"
#include "report/wire.h"
#include "util/array.h"

struct stitch {
    struct vmas_page whole; /* the process of the first page, the VMAs of all */
    sd_bus_message *first;  /* strings of the process lie in it */
    bool began;
};

static void stitch_deinit(struct stitch *stitch)
{
    vmas_page_deinit(&stitch->whole);
    sd_bus_message_unref(stitch->first);
}

/* Moves the rows of a page behind those that are there. Return: 0 or -ENOMEM. */
static int stitch_rows(struct stitch *stitch, struct vma_reports *rows)
{
    struct vma_reports *all = &stitch->whole.vmas;

    if (!rows->n_items)
        return 0;
    if (ARRAY_RESERVE(all->items, all->cap, all->n_items + rows->n_items) < 0)
        return -ENOMEM;
    memcpy(&all->items[all->n_items], rows->items, rows->n_items * sizeof *rows->items);
    all->n_items += rows->n_items;
    rows->n_items = 0; /* their lists have another owner now */
    return 0;
}

static int stitch_page(struct stitch *stitch, sd_bus_message *reply, struct vmas_page *page)
{
    if (!stitch->began) {
        stitch->whole = *page;
        *page = (struct vmas_page){.next = stitch->whole.next};
        stitch->first = sd_bus_message_ref(reply);
        stitch->began = true;
        return 0;
    }
    if (page->generation != stitch->whole.generation)
        return -ESTALE;
    return stitch_rows(stitch, &page->vmas);
}

/* Return: 0 with *fromp where the next page begins (0: there is none), or a negative errno. */
static int take_reply(struct stitch *stitch, sd_bus_message *reply, uint64_t *fromp)
{
    struct vmas_page page = {0};
    int r = wire_read_vmas(reply, &page);

    if (!r && page.next && page.next <= *fromp)
        r = -EBADMSG; /* it would never end */
    if (!r) {
        *fromp = page.next;
        r = stitch_page(stitch, reply, &page);
    }
    vmas_page_deinit(&page);
    return r;
}

static int fail_stitch(pid_t pid, int r)
{
    if (r != -ESTALE)
        return verb_fail_answer(r);
    fprintf(stderr, "numabctl: process %d executed another program meanwhile\n", pid);
    return EXIT_FAILURE;
}

static int ask_pages(struct stitch *stitch, struct client *client, pid_t pid)
{
    uint64_t from = 0;

    do {
        CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r = client_call_vmas(client, pid, from, &reply);

        if (r > 0)
            return verb_fail(r, client->message);
        r = take_reply(stitch, reply, &from);
        if (r < 0)
            return fail_stitch(pid, r);
    } while (from);
    return EXIT_SUCCESS;
}

static void print_json(const struct vmas_page *page)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    printf("{\"time_sec\":%lld.%03ld,\"process\":", (long long)now.tv_sec, now.tv_nsec / 1000000);
    json_print_process(stdout, &page->process);
    printf(",\"vmas\":");
    json_print_vmas(stdout, &page->vmas);
    puts("}");
}

static int print_text(const struct vmas_page *page, bool all)
{
    struct node_set nodes = {0};
    int r = vma_listing_add_nodes(&nodes, &page->vmas);

    if (!r)
        r = vma_listing_print(stdout, page, &nodes, all);
    node_set_deinit(&nodes);
    return r < 0 ? verb_fail_answer(r) : EXIT_SUCCESS;
}

static int show(const struct ctl_options *options, struct client *client)
{
    CLEANUP(stitch_deinit) struct stitch stitch = {.began = false};
    int r = ask_pages(&stitch, client, options->pid);

    if (r != EXIT_SUCCESS)
        return r;
    if (options->json)
        print_json(&stitch.whole);
    else
        r = print_text(&stitch.whole, options->all);
    return r;
}

int verb_vmas(const struct ctl_options *options)
{
    struct client client;
    int r = client_init(&client, options->bus);

    r = r > 0 ? verb_fail(r, client.message) : show(options, &client);
    client_deinit(&client);
    return r;
}
