#pragma once
/*
 * Page frames: which frame of memory lies behind an address of a process, and which frame stands
 * for it where pages are looked at by frame.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/host.h"

struct page_frame {
    uint64_t addr; /* of a page */
    uint64_t pfn;  /* its frame; 0: none, or none whose accesses can be told */
    uint64_t head; /* the first frame of its folio, the only one with an idle bit; else 0 */
};

/* A growing list. All zero is an empty one. */
struct page_frames {
    struct page_frame *items;
    size_t n, cap;
};

void page_frames_deinit(struct page_frames *frames);
/* Return: 0 or -ENOMEM. */
int page_frames_add(struct page_frames *frames, const struct page_frame *frame);

/* The files behind it. A pagemap that is open stays that of the address space it was opened for. */
struct page_files {
    int pagemap, kpageflags; /* -1: not open yet */
    bool without_flags;      /* kpageflags cannot be read: each page is its own head */
};

#define PAGE_FILES_NULL ((struct page_files){.pagemap = -1, .kpageflags = -1})

void page_files_deinit(struct page_files *files);

enum {
    PAGE_FRAMES_GONE = 1, /* the process or that address space has gone */
    PAGE_FRAMES_DENIED,   /* this process's pagemap is not for us */
    PAGE_FRAMES_HIDDEN,   /* the kernel shows frame 0 for a present page: no CAP_SYS_ADMIN */
};

/*
 * Looks up pfn and head of n addresses. Both are 0 for pages that are absent or swapped, and, where
 * kpageflags can be read, for those that are on no LRU list (hugetlb, the zero page, isolated
 * ones). KSM pages cannot be told: kernels such as 6.12 flag every anonymous page as one. Blocks on
 * the process's mmap_lock.
 * Return: 0, a condition above, or a negative errno.
 */
int page_frames_read(const struct host *host, pid_t pid, struct page_files *files,
                     struct page_frame *frames, size_t n);
