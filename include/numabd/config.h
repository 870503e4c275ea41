#pragma once
/*
 * Configuration: numabd.conf as a struct. config_new validates everything before it returns, so
 * that a bad file changes nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/cleanup.h"

#define CONFIG_PATH "/etc/numabd.conf"

enum {
    CONFIG_MISSING = 1, /* the file does not exist; message says so */
    /* message is "numabd.conf:LINE: ..." (the name as given, without folders), or "PATH: ..." for a
       file that exists but cannot be read */
    CONFIG_INVALID,
};

enum rule_field {
    RULE_COMM,   /* glob on the command name (15 bytes kept by the kernel) */
    RULE_EXE,    /* glob on the path of the executable */
    RULE_USER,   /* glob on the user's name, or a number: the uid */
    RULE_UNIT,   /* glob on the systemd unit, "postgresql@*.service" */
    RULE_CGROUP, /* glob on the cgroup path; "/system.slice/" is that group and below */
    RULE_PID,    /* a number */
    RULE_FIELD_COUNT
};

/* One pattern of a list. */
struct rule {
    enum rule_field field;
    char *pattern;
    unsigned line; /* in the file, for `numabctl match` */
    /* RULE_USER, after config_resolve_users: who it stands for */
    uid_t *uids;
    size_t n_uids, uids_cap;
    bool resolved;
};

enum kernel_balancing_wish {
    KERNEL_BALANCING_PAUSE, /* while numabd balances the whole machine */
    KERNEL_BALANCING_LEAVE,
};

struct rule_list {
    struct rule *rules;
    size_t n_rules, cap;
};

struct config {
    /* [daemon] */
    uint64_t interval_nsec; /* one round; default 1 s, 100 ms to 60 s */
    bool observe;           /* decide and report, move nothing; default no */
    uint64_t min_rss_bytes; /* smaller processes are left alone; default 32 MiB, 0 to 1 TiB */
    unsigned cpu_budget_permyriad;  /* of one CPU, and a hundredth of it more for each CPU: all that
                                       numabd does but copying pages; default 2 %, 0.1 % to 10000 %
                                     */
    uint64_t numa_maps_limit_bytes; /* totals of larger processes are not refreshed; 64 GiB,
                                       0 to 64 TiB */
    /* [sampling] */
    unsigned source_mask; /* bit per source, in the order of src/sample/sources.c; default all */
    unsigned rate_hz;     /* the usual samples per second and CPU; default 250, 10 to 10000 */
    unsigned sampling_budget_permyriad; /* of the sampled CPUs' time; default 1 %, 0.01 to 100 % */
    unsigned scope;     /* enum sample_scope: where events are opened; default auto */
    unsigned mask_bits; /* of the masks of threads; default 256, 64 to 4096, rounded up to 64s */
    uint64_t mask_window_nsec; /* a thread is remembered for one to two; default 4 s, 1 s to 60 s */
    unsigned scan_filter;      /* enum scan_filter_kind; default numabd */
    /* [decide] */
    unsigned min_share_permyriad; /* Wilson bound to pass; default 60 %, 50 % to 95 % */
    unsigned cool_down_rounds;    /* default 5, 1 to 1000 */
    uint64_t headroom_bytes;      /* never used on a target; default 256 MiB, 0 to 1 TiB; at least
                                     1 % and at most a sixteenth of the node is kept in any case */
    bool use_page_cache;          /* clean page cache counts as room; default yes */
    /* [migrate] */
    uint64_t migration_rate_bytes; /* per second and target node; default 1 GiB, 1 MiB to 1 TiB */
    unsigned kernel_balancing;     /* enum kernel_balancing_wish; default pause */
    /* [include], [exclude], and whose soft-dirty bits may be cleared */
    struct rule_list include, exclude, write_fault;
};

struct config_error {
    char message[512]; /* one line, without a newline */
};

/* A config with all defaults and empty lists. Return: 0 or -ENOMEM. */
int config_new_default(struct config **configp);

/* Return: 0, CONFIG_MISSING, CONFIG_INVALID (both fill *error), or a negative errno. */
int config_new(struct config **configp, const char *path, struct config_error *error);

/*
 * Finds the users of all rules, by the names of ROOT/etc/passwd and, for whole names on the live
 * machine (root is "/"), by whatever the name service asks: this can block. A rule that was not
 * resolved counts as one whose facts are unknown.
 * Return: 0, CONFIG_INVALID (fills *error; a name that nobody has), or -ENOMEM.
 */
int config_resolve_users(struct config *config, const char *path, const char *root,
                         struct config_error *error);
struct config *config_free(struct config *config);
CLEANUP_DEFINE(struct config *, config_free)

/* cpu_budget on a machine with so many CPUs, in CPU time per second. */
double config_cpu_budget(const struct config *config, unsigned n_cpus);
