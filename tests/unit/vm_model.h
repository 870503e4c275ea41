#pragma once
/*
 * The address space of a process as an array of cells: what is mapped in each, and nothing else.
 * There are no VMAs in it; neighbours that look as one mapping are one line of maps.
 *
 * Cells lie around the borders that ranges and groups have (2 to 512 MiB). Those of at most 2 MiB
 * may be accessed; what lies between is wide, so that few cells make up a large space.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mutate.h"

#define VM_CELLS 40
#define VM_MAPS_SIZE (VM_CELLS * 4 * 96)
/* Which pieces an address lies in: its range, and groups of 8 MiB ... the whole VMA. */
#define VM_LEVELS 6

enum vm_prot {
    VM_PROT_NONE,
    VM_PROT_READ,
    VM_PROT_WRITE, /* and read */
};

enum vm_content {
    VM_NOTHING,
    VM_ANONYMOUS,
    VM_FILE,   /* private */
    VM_SHARED, /* of a file or of shared memory */
};

struct vm_cell {
    enum vm_content content;
    enum vm_prot prot;
    unsigned inode;  /* 0: anonymous */
    uint64_t offset; /* bytes into the file */
    bool border;     /* a VMA begins here, whatever lies before: their flags differ */
    bool present;    /* its pages exist */
    unsigned serial; /* of the mmap that it comes from: no reader of maps knows it */
};

struct vm {
    struct vm_cell cells[VM_CELLS];
    unsigned n_serials;
};

/* [vm_address(i), vm_address(i + 1)) is cell i; i up to VM_CELLS. */
uint64_t vm_address(size_t i);
/* The cell that begins at addr, or VM_CELLS. */
size_t vm_cell_at(uint64_t addr);
/* The cell that holds addr, or VM_CELLS. */
size_t vm_cell_of(uint64_t addr);
/* Is it small enough for accesses? */
bool vm_is_fine(size_t i);

/* Do cells i - 1 and i lie in one VMA? */
bool vm_joined(const struct vm *vm, size_t i);
/* Is it memory of a kind that may be moved? */
bool vm_is_movable(const struct vm_cell *cell);
/*
 * Does maps show the same mapping in both? An anonymous mapping that was unmapped and mapped again
 * shows the same, and so does a file at its old place: nobody who reads maps can know.
 */
bool vm_looks_same(const struct vm_cell *a, const struct vm_cell *b);
/* Do both show the same place of one shared object? */
bool vm_shares_same(const struct vm_cell *a, const struct vm_cell *b);
/* The piece of a level around cell i: cells [*firstp, *endp). */
void vm_piece(const struct vm *vm, size_t i, unsigned level, size_t *firstp, size_t *endp);

/* One change, as by mmap, munmap, mprotect, mremap or madvise; some do nothing. */
void vm_change(struct vm *vm, struct mutate *mutate);
/* Another program: a few new mappings. */
void vm_exec(struct vm *vm, struct mutate *mutate);

/* The text of maps. */
void vm_print(const struct vm *vm, char text[VM_MAPS_SIZE]);
/*
 * A text that is not one snapshot, as the kernel gives it: it stops after any VMA, and goes on with
 * the first one that ends behind that, which may have begun before. *after comes and goes while
 * *before is read; lines come twice. *seenp: what may be believed of it.
 */
void vm_print_torn(const struct vm *before, const struct vm *after, struct mutate *mutate,
                   struct vm *seenp, char text[VM_MAPS_SIZE]);
