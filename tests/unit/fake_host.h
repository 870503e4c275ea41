#pragma once
/*
 * A host for the tests of attribute: files, links and page locations are what the test says, calls
 * are counted. For inline pools: it has no lock.
 */
#include "numabd/host.h"

struct fake_file {
    char *path, *text;
    int r; /* what reading it gives; the text counts if 0 */
};

/* Pages [start, end) and the status that a query gives for them. */
struct fake_place {
    uint64_t start, end;
    int status;
};

struct fake_host {
    struct host host; /* for the code under test */
    struct fake_file *files;
    size_t n_files, files_cap;
    struct fake_place *places;
    size_t n_places, places_cap;
    unsigned epoch; /* +1 with each exec */
    char log[4096]; /* one word for each call: maps, numa_maps, task, pages */
    size_t n_maps, n_files_read, n_calls, n_pages;
    size_t last_limit; /* of the last read_file */
    int list_r;        /* what listing /proc gives; its folders are those with maps */
    long call_error;   /* result of move_pages from call `call_error_from` on */
    size_t call_error_from;
    int write_result;                 /* of writing to a file that is there; 0: its text changes */
    void (*on_write)(void *userdata); /* called first; NULL: not */
    void *on_write_userdata;
    bool scans;      /* there is PAGEMAP_SCAN: of the places, as base pages but for those below */
    long scan_error; /* its result, if not 0 */
    uint64_t huge_start, huge_end, swapped_start, swapped_end; /* [start, end) */
    size_t n_scan_tries, n_scans;                              /* all, and those that worked */
    uint64_t scanned_bytes, longest_scan;                      /* of all scans; of one */
};

void fake_host_init(struct fake_host *fake);
void fake_host_deinit(struct fake_host *fake);

/* The text of a file; reading it gives 0. */
void fake_host_set_file(struct fake_host *fake, const char *path, const char *text);
/* Reading it gives r. Files that were never set give PROCFS_GONE. */
void fake_host_set_result(struct fake_host *fake, const char *path, int r);

/* Maps files that are open now read as 0 bytes from here on. */
void fake_host_exec(struct fake_host *fake);

/* Later places win; pages without one are absent. */
void fake_host_place(struct fake_host *fake, uint64_t start, uint64_t end, int status);

void fake_host_clear_log(struct fake_host *fake);
