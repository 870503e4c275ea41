#include "vm_model.h"

#include <stdio.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define BASE ((uint64_t)1 << 30) /* aligned as the largest group */
#define FINE_MAX (2 * MIB)
#define N_INODES 3
#define N_OFFSETS 3

/* In KiB from BASE. */
static const uint64_t borders[VM_CELLS + 1] = {
    0,      512,    1024,   1536,   2048,   2560,   3072,   3584, 4096, /* 0.5 MiB each */
    6144,   7168,   8192,   9216,   10240,                              /* 1 MiB each */
    16384,  24576,  30720,                                              /* wide */
    31744,  32768,  33792,  34816,                                      /* 1 MiB each */
    40960,  65536,  98304,  122880, 129024,                             /* wide */
    130048, 131072, 132096, 133120,                                     /* 1 MiB each */
    139264, 163840, 262144, 393216, 491520, 516096, 522240,             /* wide */
    523264, 524288, 525312, 526336,                                     /* 1 MiB each */
};

uint64_t vm_address(size_t i)
{
    return BASE + borders[i] * KIB;
}

size_t vm_cell_at(uint64_t addr)
{
    size_t i = 0;

    while (i < VM_CELLS && vm_address(i) != addr)
        i++;
    return i;
}

size_t vm_cell_of(uint64_t addr)
{
    size_t i = 0;

    while (i < VM_CELLS && (addr < vm_address(i) || addr >= vm_address(i + 1)))
        i++;
    return i;
}

static uint64_t cell_bytes(size_t i)
{
    return vm_address(i + 1) - vm_address(i);
}

bool vm_is_fine(size_t i)
{
    return cell_bytes(i) <= FINE_MAX;
}

static bool same_object(const struct vm_cell *a, const struct vm_cell *b)
{
    return a->content == b->content && a->inode == b->inode;
}

bool vm_joined(const struct vm *vm, size_t i)
{
    const struct vm_cell *a = &vm->cells[i - 1], *b = &vm->cells[i];

    if (b->border || a->content == VM_NOTHING || !same_object(a, b) || a->prot != b->prot)
        return false;
    return !a->inode || a->offset + cell_bytes(i - 1) == b->offset;
}

bool vm_is_movable(const struct vm_cell *cell)
{
    if (cell->content == VM_FILE)
        return cell->prot == VM_PROT_WRITE;
    return cell->content == VM_ANONYMOUS && cell->prot != VM_PROT_NONE;
}

bool vm_looks_same(const struct vm_cell *a, const struct vm_cell *b)
{
    if (!vm_is_movable(a) || !vm_is_movable(b))
        return false;
    return same_object(a, b) && a->offset == b->offset;
}

bool vm_shares_same(const struct vm_cell *a, const struct vm_cell *b)
{
    return a->content == VM_SHARED && b->content == VM_SHARED && same_object(a, b) &&
           a->offset == b->offset;
}

/* Do cells i - 1 and i lie in one aligned piece of the level? The last one has no alignment. */
static bool same_block(size_t i, unsigned level)
{
    static const uint64_t bytes[] = {2 * MIB, 8 * MIB, 32 * MIB, 128 * MIB, 512 * MIB};

    return level == VM_LEVELS - 1 || vm_address(i) % bytes[level] != 0;
}

void vm_piece(const struct vm *vm, size_t i, unsigned level, size_t *firstp, size_t *endp)
{
    size_t first = i, end = i + 1;

    while (first > 0 && vm_joined(vm, first) && same_block(first, level))
        first--;
    while (end < VM_CELLS && vm_joined(vm, end) && same_block(end, level))
        end++;
    *firstp = first;
    *endp = end;
}

static void set_border(struct vm *vm, size_t i, bool border)
{
    if (i < VM_CELLS)
        vm->cells[i].border = border;
}

/* New memory in [first, end), which may merge with its neighbours or not. */
static void map(struct vm *vm, size_t first, size_t end, struct mutate *mutate)
{
    enum vm_content content = 1 + mutate_below(mutate, VM_SHARED);
    unsigned inode = content == VM_ANONYMOUS ? 0 : 1 + (unsigned)mutate_below(mutate, N_INODES);
    uint64_t offset = mutate_below(mutate, N_OFFSETS) * MIB;
    enum vm_prot prot = mutate_below(mutate, 4) ? VM_PROT_WRITE : mutate_below(mutate, 3);
    unsigned serial = ++vm->n_serials;

    for (size_t i = first; i < end; i++) {
        vm->cells[i] = (struct vm_cell){.content = content,
                                        .prot = prot,
                                        .inode = inode,
                                        .offset = inode ? offset : 0,
                                        .serial = serial};
        offset += cell_bytes(i);
    }
    set_border(vm, first, mutate_below(mutate, 4) == 0);
    set_border(vm, end, mutate_below(mutate, 4) == 0);
}

static void unmap(struct vm *vm, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        vm->cells[i] = (struct vm_cell){0};
}

static size_t count_free(const struct vm *vm, size_t i)
{
    size_t n = 0;

    while (i + n < VM_CELLS && vm->cells[i + n].content == VM_NOTHING)
        n++;
    return n;
}

/* MAP_FIXED over whatever is there, else into the first gap that is large enough. */
static void change_map(struct vm *vm, struct mutate *mutate)
{
    size_t n = 1 + mutate_below(mutate, mutate_below(mutate, 3) ? 6 : VM_CELLS);
    size_t first = mutate_below(mutate, VM_CELLS);

    if (mutate_below(mutate, 2)) {
        first = 0;
        while (first < VM_CELLS && count_free(vm, first) < n)
            first++;
    }
    map(vm, first, first + n < VM_CELLS ? first + n : VM_CELLS, mutate);
}

/* Some mapped cells of one VMA: all of it, its head, its tail, or from its middle; else false. */
static bool choose_part(const struct vm *vm, struct mutate *mutate, size_t *firstp, size_t *endp)
{
    size_t i = mutate_below(mutate, VM_CELLS), first, end;
    unsigned part = (unsigned)mutate_below(mutate, 4);

    vm_piece(vm, i, VM_LEVELS - 1, &first, &end);
    *firstp = part & 1 ? i : first;
    *endp = part & 2 ? i + 1 : end;
    return vm->cells[i].content != VM_NOTHING;
}

static void change_unmap(struct vm *vm, struct mutate *mutate)
{
    size_t first, end;

    if (choose_part(vm, mutate, &first, &end))
        unmap(vm, first, end);
}

/* Splits, and merges what has the same protection again. */
static void change_protect(struct vm *vm, struct mutate *mutate)
{
    enum vm_prot prot = mutate_below(mutate, 3);
    size_t first, end;

    if (!choose_part(vm, mutate, &first, &end))
        return;
    for (size_t i = first; i < end; i++)
        vm->cells[i].prot = prot;
    set_border(vm, first, false);
    set_border(vm, end, false);
}

/* MADV_DONTNEED; or MADV_HUGEPAGE and its like, which split and merge VMAs that look the same. */
static void change_advise(struct vm *vm, struct mutate *mutate)
{
    bool border = mutate_below(mutate, 2);
    size_t first, end;

    if (!choose_part(vm, mutate, &first, &end))
        return;
    if (mutate_below(mutate, 2)) {
        for (size_t i = first; i < end; i++)
            vm->cells[i].present = false;
        return;
    }
    set_border(vm, first, border);
    set_border(vm, end, border);
}

static void change_grow(struct vm *vm, struct mutate *mutate)
{
    size_t i = mutate_below(mutate, VM_CELLS), first, end, n;

    vm_piece(vm, i, VM_LEVELS - 1, &first, &end);
    n = end < VM_CELLS ? count_free(vm, end) : 0;
    if (vm->cells[i].content == VM_NOTHING || !n)
        return;
    for (n = end + 1 + mutate_below(mutate, n); end < n; end++) {
        vm->cells[end] = vm->cells[end - 1];
        vm->cells[end].border = vm->cells[end].present = false;
        if (vm->cells[end].inode)
            vm->cells[end].offset += cell_bytes(end - 1);
    }
}

/* mremap to another place, as far as cells of the same sizes reach; with MREMAP_FIXED over others.
 */
static void change_move(struct vm *vm, struct mutate *mutate)
{
    size_t to = mutate_below(mutate, VM_CELLS), first, end, n = 0;
    struct vm_cell moved[VM_CELLS];

    if (!choose_part(vm, mutate, &first, &end))
        return;
    while (first + n < end && to + n < VM_CELLS && cell_bytes(first + n) == cell_bytes(to + n))
        n++;
    if (to < first + n && first < to + n)
        return; /* EINVAL */
    memcpy(moved, &vm->cells[first], n * sizeof *moved);
    unmap(vm, first, first + n);
    memcpy(&vm->cells[to], moved, n * sizeof *moved);
}

void vm_change(struct vm *vm, struct mutate *mutate)
{
    switch (mutate_below(mutate, 10)) {
    case 0:
    case 1:
    case 2:
        change_map(vm, mutate);
        break;
    case 3:
    case 4:
        change_unmap(vm, mutate);
        break;
    case 5:
    case 6:
        change_protect(vm, mutate);
        break;
    case 7:
        change_advise(vm, mutate);
        break;
    case 8:
        change_grow(vm, mutate);
        break;
    default:
        change_move(vm, mutate);
    }
}

void vm_exec(struct vm *vm, struct mutate *mutate)
{
    unmap(vm, 0, VM_CELLS);
    for (size_t n = 1 + mutate_below(mutate, 5); n > 0; n--)
        change_map(vm, mutate);
}

static void print_vma(const struct vm *vm, size_t first, size_t end, char *text)
{
    static const char *const prots[] = {"---", "r--", "rw-"};
    static const char *const names[N_INODES + 1] = {"", "/tmp/a b", "/tmp/a\\012b",
                                                    "/memfd:a (deleted)"};
    const struct vm_cell *cell = &vm->cells[first];
    size_t used = strlen(text);

    snprintf(text + used, VM_MAPS_SIZE - used, "%llx-%llx %s%c %08llx 0:%x %u %s\n",
             (unsigned long long)vm_address(first), (unsigned long long)vm_address(end),
             prots[cell->prot], cell->content == VM_SHARED ? 's' : 'p',
             (unsigned long long)cell->offset, cell->inode ? 1 : 0, cell->inode,
             names[cell->inode]);
}

void vm_print(const struct vm *vm, char text[VM_MAPS_SIZE])
{
    size_t first, end;

    text[0] = '\0';
    for (size_t i = 0; i < VM_CELLS; i = end) {
        vm_piece(vm, i, VM_LEVELS - 1, &first, &end);
        if (vm->cells[i].content != VM_NOTHING)
            print_vma(vm, i, end, text);
    }
}

static bool is_unread(const struct vm *seen, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (seen->cells[i].content != VM_NOTHING)
            return false;
    return true;
}

/* The VMA around cell i, which is believed unless it overlaps one that was read before. */
static size_t read_vma(const struct vm *vm, size_t i, struct vm *seenp, char *text)
{
    size_t first, end;

    vm_piece(vm, i, VM_LEVELS - 1, &first, &end);
    if (vm->cells[i].content == VM_NOTHING)
        return end;
    print_vma(vm, first, end, text);
    if (!is_unread(seenp, first, end))
        return end;
    memcpy(&seenp->cells[first], &vm->cells[first], (end - first) * sizeof *seenp->cells);
    seenp->cells[first].border = true;
    return end;
}

void vm_print_torn(const struct vm *before, const struct vm *after, struct mutate *mutate,
                   struct vm *seenp, char text[VM_MAPS_SIZE])
{
    const struct vm *vm = before;
    size_t i = 0, last = 0;

    *seenp = (struct vm){0};
    text[0] = '\0';
    while (i < VM_CELLS) {
        if (mutate_below(mutate, 3) == 0)
            vm = vm == before ? after : before;
        if (seenp->cells[last].content != VM_NOTHING && mutate_below(mutate, 8) == 0)
            read_vma(vm, last, seenp, text); /* once more */
        last = i;
        i = read_vma(vm, i, seenp, text);
    }
}
