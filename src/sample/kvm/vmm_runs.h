#pragma once
/*
 * Runs: the writable mappings of a monitor that may hold a guest's memory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vmm_run_kind {
    VMM_RUN_ANONYMOUS, /* private, or shared without a name (/dev/zero, /anon_hugepage) */
    VMM_RUN_MEMFD,
    VMM_RUN_FILE, /* of a file that has a path, deleted or not */
};

struct vmm_run {
    uint64_t start, end; /* [start, end) */
    enum vmm_run_kind kind;
    bool shared;
    uint64_t inode;
    const char *name; /* points into the text, ends at name_size */
    size_t name_size;
};

struct vmm_runs {
    struct vmm_run *items; /* ascending */
    size_t n, cap;
    /* Where the program's interpreter lies: it is mapped before anything that the program maps;
       0 where there is none. */
    uint64_t interpreter;
};

/* Return: 0 or -ENOMEM. The result points into the text. */
int vmm_runs_parse(struct vmm_runs *runs, const char *maps, size_t size);
void vmm_runs_deinit(struct vmm_runs *runs);

/*
 * The mapping `first` and those right behind it of the same kind and name, if they are exactly
 * `bytes` long together: madvise and mbind cut mappings. Mappings that only happen to lie next to
 * it (a thread's stack) stay out. Return: whether there is one.
 */
bool vmm_runs_join(const struct vmm_runs *runs, size_t first, uint64_t bytes, struct vmm_run *run);

bool vmm_run_name_begins(const struct vmm_run *run, const char *with);
bool vmm_run_name_holds(const struct vmm_run *run, const char *part);
