/* What the pipeline tells of a process's VMAs: whose, which, and how much at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/space.h"
#include "attribute/vmas.h"
#include "model_run.h"
#include "pipeline_state.h"
#include "util/array.h"
#include "util/nsec.h"

#define PID 100
#define PAGES (64 * MODEL_MIB_PAGES)
#define MANY 65530

static const int cpus[] = {0, 1, 2, 3};

static int setup(void **state)
{
    struct model_run *run = calloc(1, sizeof(*run));

    if (!run)
        return -1;
    model_run_init(run, &model_two_nodes, 1);
    *state = run;
    return 0;
}

static int teardown(void **state)
{
    model_run_deinit(*state);
    free(*state);
    return 0;
}

static struct model_process *add_workload(struct model_run *run, size_t n_pages)
{
    struct model_process *process = model_add_process(&run->model, PID, "worker");

    model_add_vma(&run->model, process, n_pages, 0);
    model_add_workers(process, cpus, 4);
    return process;
}

static int ask(const struct model_run *run, uid_t uid, uint64_t from, struct vmas_page *page)
{
    const struct vmas_query query = {.pid = PID, .from = from};

    *page = (struct vmas_page){0};
    return pipeline_vmas(run->pipeline, uid, &query, run->model.now, page);
}

static void name_thread(struct model_run *run, pid_t tid, const char *comm)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%d/task/%d/comm", PID, tid);
    tree_write(&run->tree, path, comm, strlen(comm));
}

static void a_balanced_vma_is_in_place_and_was_moved(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = add_workload(run, PAGES);
    struct vmas_page page;
    const struct vma_report *vma;

    model_run_rounds(run, 30);
    for (size_t i = 0; i < process->n_threads; i++)
        name_thread(run, process->threads[i].tid, "a\nb\n");
    assert_int_equal(ask(run, 0, 0, &page), 0);
    assert_int_equal(page.vmas.n_items, 2);
    assert_string_equal(page.vmas.items[1].name, "[vsyscall]");
    assert_string_equal(page.vmas.items[1].verdict, "special");
    assert_true(page.next == 0);
    vma = &page.vmas.items[0];
    assert_true(vma->start == MODEL_BASE);
    assert_true(vma->end == MODEL_BASE + PAGES * MODEL_PAGE_BYTES);
    assert_string_equal(vma->policy, "default");
    assert_true(vma->nodes_known);
    assert_int_equal(vma->nodes.n_items, 2);
    assert_true(vma->nodes.items[0].bytes == PAGES / 2 * MODEL_PAGE_BYTES);
    assert_true(vma->nodes.items[1].bytes == PAGES / 2 * MODEL_PAGE_BYTES);
    assert_true(vma->moved_bytes == PAGES / 2 * MODEL_PAGE_BYTES);
    assert_int_equal(vma->n_threads, 4);
    assert_int_equal(vma->thread_nodes.n_items, 2);
    assert_int_equal(vma->thread_nodes.items[0].n, 2);
    assert_int_equal(vma->threads.n_items, THREAD_NAMES_MAX);
    assert_string_equal(vma->threads.items[0].comm,
                        "a\nb"); /* only the last newline is the file's */
    assert_true(vma->n_scans > 2);
    assert_true(vma->scanned_ago_sec >= 0);
    assert_string_equal(vma->reason, "local");
    assert_non_null(strstr(vma->verdict, "moved 32 MiB: in place "));
    vmas_page_deinit(&page);
}

/* Between two readings of numa_maps, which may be an hour apart. */
static void residency_follows_a_move_at_once(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = add_workload(run, PAGES);
    struct vmas_page page;

    while (!run->model.n_migrated)
        model_run_rounds(run, 1);
    assert_int_equal(ask(run, 0, 0, &page), 0);
    assert_int_equal(page.vmas.items[0].nodes.n_items, 2);
    for (int node = 0; node < 2; node++)
        assert_true(page.vmas.items[0].nodes.items[node].bytes ==
                    model_pages_on(process, node) * MODEL_PAGE_BYTES);
    vmas_page_deinit(&page);
}

static void busiest_threads_come_first_and_unnamed_ones_stay(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = add_workload(run, PAGES);
    struct space *space;
    struct thread *thread;
    struct vmas_page page;

    model_run_rounds(run, 5);
    space = attribute_find(run->pipeline->attribute, PID);
    HASH_FIND(hh, space->threads, &process->threads[2].tid, sizeof(pid_t), thread);
    thread->busy_sec += 1000;
    name_thread(run, thread->tid, "gc\n");
    assert_int_equal(ask(run, 0, 0, &page), 0);
    assert_int_equal(page.vmas.items[0].threads.items[0].tid, thread->tid);
    assert_string_equal(page.vmas.items[0].threads.items[0].comm, "gc");
    assert_string_equal(page.vmas.items[0].threads.items[1].comm, ""); /* ended: no such file */
    vmas_page_deinit(&page);
}

static void whose_it_is_and_whether_it_is_there_comes_first(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;
    struct target *target;
    struct vmas_page page;

    assert_int_equal(ask(run, 0, 0, &page), VMAS_UNKNOWN);
    process = add_workload(run, PAGES);
    model_run_rounds(run, 5);
    target = discover_find(run->pipeline->discover, PID);
    target->process.uid = 1000;
    assert_int_equal(ask(run, 1001, 0, &page), VMAS_FOREIGN);
    assert_int_equal(ask(run, 1000, 0, &page), 0);
    vmas_page_deinit(&page);
    target->reason = REASON_TOO_SMALL;
    assert_int_equal(ask(run, 1001, 0, &page), VMAS_FOREIGN); /* not why, either */
    assert_int_equal(ask(run, 1000, 0, &page), VMAS_LEFT_ALONE);
    assert_string_equal(page.process.state, "too_small");
    vmas_page_deinit(&page);
    target->reason = REASON_NONE;
    model_kill(&run->model, process);
    assert_int_equal(ask(run, 1000, 0, &page), VMAS_UNKNOWN); /* though no round has seen it end */
    vmas_page_deinit(&page);
}

static void a_target_that_was_never_sampled_has_no_vmas_yet(void **state)
{
    struct model_run *run = *state;
    struct vmas_page page;

    add_workload(run, PAGES)->n_threads = 0;
    model_run_rounds(run, 3);
    assert_int_equal(ask(run, 0, 0, &page), 0);
    assert_int_equal(page.vmas.n_items, 0);
    assert_string_equal(page.process.state, "learning");
    vmas_page_deinit(&page);
}

/* Separate mappings of a page from MODEL_BASE on, each with a name of its own. */
static void set_many_vmas(struct space *space)
{
    struct vma_list vmas = {0};
    size_t size, n_dropped;
    char *text = NULL;
    FILE *file = open_memstream(&text, &size);

    for (uint64_t i = 0; i < MANY; i++)
        fprintf(file, "%lx-%lx rw-p 0 0:0 0 [anon:%lu]\n", MODEL_BASE + i * 8192,
                MODEL_BASE + i * 8192 + 4096, i);
    fclose(file);
    assert_int_equal(vma_list_parse(&vmas, text, size), 0);
    space_set_vmas(space, &vmas, &n_dropped);
    free(text);
}

/* The time is for the reader: nothing depends on it. */
static void pages_of_65530_vmas_are_small_and_complete(void **state)
{
    struct model_run *run = *state;
    uint64_t from = 0, longest = 0, n = 0;
    unsigned n_pages = 0;

    add_workload(run, PAGES);
    model_run_rounds(run, 3);
    set_many_vmas(attribute_find(run->pipeline->attribute, PID));
    do {
        uint64_t begin = nsec_now();
        struct vmas_page page;

        assert_int_equal(ask(run, 0, from, &page), 0);
        begin = nsec_now() - begin;
        longest = begin > longest ? begin : longest;
        assert_true(page.vmas.n_items <= VMAS_PAGE_ROWS);
        for (size_t i = 0; i < page.vmas.n_items; i++, n++)
            assert_true(page.vmas.items[i].start == MODEL_BASE + n * 8192);
        assert_true(!page.next || page.next > from);
        from = page.next;
        n_pages++;
        vmas_page_deinit(&page);
    } while (from);
    assert_int_equal(n, MANY);
    assert_int_equal(n_pages, (MANY + VMAS_PAGE_ROWS - 1) / VMAS_PAGE_ROWS);
    print_message("%u pages, the longest took %.2f ms\n", n_pages, (double)longest / 1e6);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_balanced_vma_is_in_place_and_was_moved),
        TEST(residency_follows_a_move_at_once),
        TEST(busiest_threads_come_first_and_unnamed_ones_stay),
        TEST(whose_it_is_and_whether_it_is_there_comes_first),
        TEST(a_target_that_was_never_sampled_has_no_vmas_yet),
        TEST(pages_of_65530_vmas_are_small_and_complete),
    };

    return cmocka_run_group_tests_name("vmas page", tests, NULL, NULL);
}
