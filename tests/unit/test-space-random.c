/*
 * Random map, unmap, grow, shrink, replace, protect and split against a plain model: one record for
 * each page of 512 KiB. The model knows nothing of VMAs: a range survives a re-read exactly if each
 * of its pages still holds the same mapping and no border lies inside it or left its start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "attribute/tally.h"
#include "mutate.h"
#include "space_rig.h"

#define N_PAGES 48 /* 24 MiB: 12 aligned ranges */
#define PAGE (M / 2)
#define PAGES_PER_RANGE (RANGE_BYTES / PAGE)
#define N_SEQUENCES 300
#define N_STEPS 30

enum content {
    NOTHING,
    ANONYMOUS,
    READ_ONLY, /* anonymous */
    NO_ACCESS, /* anonymous, PROT_NONE */
    OF_FILE,   /* private, writable */
};

struct page {
    enum content content;
    unsigned inode;
    uint64_t file_page; /* offset in pages */
    bool border;        /* a VMA begins here, whatever lies before */
};

struct model {
    struct page pages[N_PAGES];
};

static uint64_t base(void)
{
    return 64 * M;
}

/* Do two neighbours lie in one VMA? */
static bool joined(const struct model *model, size_t i)
{
    const struct page *a = &model->pages[i - 1], *b = &model->pages[i];

    if (b->border || a->content != b->content || a->content == NOTHING)
        return false;
    return a->content != OF_FILE || (a->inode == b->inode && a->file_page + 1 == b->file_page);
}

static void print_vma(char *text, size_t size, const struct model *model, size_t from, size_t to)
{
    static const char *const perms[] = {"", "rw-p", "r--p", "---p", "rw-p"};
    const struct page *page = &model->pages[from];
    bool file = page->content == OF_FILE;
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%llx-%llx %s %llx 0:%x %u %s\n",
             (unsigned long long)(base() + from * PAGE), (unsigned long long)(base() + to * PAGE),
             perms[page->content], (unsigned long long)(file ? page->file_page * PAGE : 0), file,
             file ? page->inode : 0, file ? "/f" : "");
}

static void print_maps(char *text, size_t size, const struct model *model)
{
    text[0] = '\0';
    for (size_t from = 0, to; from < N_PAGES; from = to) {
        for (to = from + 1; to < N_PAGES && joined(model, to);)
            to++;
        if (model->pages[from].content != NOTHING)
            print_vma(text, size, model, from, to);
    }
}

static void change(struct model *model, struct mutate *mutate)
{
    size_t first = mutate_below(mutate, N_PAGES);
    size_t n = 1 + mutate_below(mutate, mutate_below(mutate, 3) ? 5 : N_PAGES);
    size_t inode = 1 + mutate_below(mutate, 2), file_page = mutate_below(mutate, 4);
    enum content content = (enum content)mutate_below(mutate, OF_FILE + 1);
    bool only_border = mutate_below(mutate, 4) == 0;

    if (only_border) {
        model->pages[first].border = !model->pages[first].border;
        return;
    }
    for (size_t i = first; i < N_PAGES && i < first + n; i++)
        model->pages[i] = (struct page){.content = content,
                                        .inode = content == OF_FILE ? (unsigned)inode : 0,
                                        .file_page = content == OF_FILE ? file_page + i : 0};
}

static bool is_movable(const struct page *page)
{
    return page->content == ANONYMOUS || page->content == READ_ONLY || page->content == OF_FILE;
}

/* The first page of the range that holds page i. */
static size_t range_first(const struct model *model, size_t i)
{
    while (i % PAGES_PER_RANGE && joined(model, i))
        i--;
    return i;
}

/* The page behind it. */
static size_t range_last(const struct model *model, size_t i)
{
    do
        i++;
    while (i < N_PAGES && i % PAGES_PER_RANGE && joined(model, i));
    return i;
}

/* Anonymous memory shows no identity: only what may be done with it counts. */
static bool same_page(const struct page *a, const struct page *b)
{
    if (!is_movable(a) || !is_movable(b) || (a->content == OF_FILE) != (b->content == OF_FILE))
        return false;
    return a->inode == b->inode && a->file_page == b->file_page;
}

static bool survives(const struct model *before, const struct model *after, size_t first)
{
    size_t last = range_last(before, first);

    if (range_first(after, first) != first || range_last(after, first) < last)
        return false;
    for (size_t i = first; i < last; i++)
        if (!same_page(&before->pages[i], &after->pages[i]))
            return false;
    return true;
}

/* One access anywhere; its range has the model's borders. */
static void touch(struct space *space, const struct model *model, struct mutate *mutate)
{
    size_t i = mutate_below(mutate, N_PAGES), first = range_first(model, i);
    uint64_t addr = base() + i * PAGE + mutate_below(mutate, PAGE);
    int r = space_rig_add(space, 1, 0, addr, 1);
    const struct range *range = space_find_range(space, base() + first * PAGE);

    if (model->pages[i].content == NOTHING) {
        assert_int_equal(r, SPACE_OUTSIDE);
    } else if (!is_movable(&model->pages[i])) {
        assert_int_equal(r, SPACE_UNMOVABLE);
    } else {
        assert_int_equal(r, 0);
        assert_non_null(range);
        assert_true(range->end == base() + range_last(model, i) * PAGE);
    }
}

/* Which ranges there are, by their first page, with the number of their samples. */
static void list_ranges(const struct space *space, double n_samples[N_PAGES])
{
    for (size_t i = 0; i < N_PAGES; i++) {
        const struct range *range = space_find_range(space, base() + i * PAGE);

        n_samples[i] = range ? tally_n(&range->window, 0) : 0;
    }
}

static void check_reread(struct space *space, const struct model *before, const struct model *after,
                         unsigned counts[2])
{
    double known[N_PAGES], left[N_PAGES];
    size_t n_known = HASH_COUNT(space->ranges), n_dropped;
    char text[N_PAGES * 80];

    list_ranges(space, known);
    print_maps(text, sizeof text, after);
    n_dropped = space_rig_set(space, text);
    list_ranges(space, left);
    assert_int_equal(n_known - n_dropped, HASH_COUNT(space->ranges));
    for (size_t i = 0; i < N_PAGES; i++) {
        bool kept = known[i] > 0 && survives(before, after, i);

        assert_true(left[i] == (kept ? known[i] : 0));
        if (kept)
            assert_true(space_find_range(space, base() + i * PAGE)->end ==
                        base() + range_last(after, i) * PAGE);
        counts[kept] += known[i] > 0;
    }
}

static void test_ranges_survive_as_in_the_model(void **state)
{
    unsigned counts[2] = {0}; /* dropped, kept */

    for (int sequence = 0; sequence < N_SEQUENCES; sequence++) {
        struct space *space = space_rig_new(NULL);
        struct model model = {0};

        for (int step = 0; step < N_STEPS; step++) {
            struct model before = model;

            for (size_t n = 1 + mutate_below(*state, 3); n > 0; n--)
                change(&model, *state);
            check_reread(space, &before, &model, counts);
            for (int i = 0; i < 20; i++)
                touch(space, &model, *state);
        }
        space_free(space);
    }
    print_message("  ranges dropped %u, kept %u\n", counts[0], counts[1]);
    assert_true(counts[0] > 1000 && counts[1] > 1000); /* both ways were taken */
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_ranges_survive_as_in_the_model, &mutate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
