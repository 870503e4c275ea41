/*
 * numabd.conf: what is accepted lies within its documented limits; what is refused is said in one
 * line; the scanner and iniparser never read a file differently.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "numabd/config.h"
#include "util/cleanup.h"
#include "util/nsec.h"

#define TIB (UINT64_C(1) << 40)

static void check_numbers(const struct config *config)
{
    FUZZ_CHECK(config->interval_nsec >= 100 * NSEC_PER_MSEC);
    FUZZ_CHECK(config->interval_nsec <= 60 * NSEC_PER_SEC);
    FUZZ_CHECK(config->min_rss_bytes <= TIB && config->headroom_bytes <= TIB);
    FUZZ_CHECK(config->numa_maps_limit_bytes <= 64 * TIB);
    FUZZ_CHECK(config->cpu_budget_permyriad >= 10 && config->cpu_budget_permyriad <= 1000000);
    FUZZ_CHECK(config->source_mask > 0 && config->source_mask < 1 << 5);
    FUZZ_CHECK(config->rate_hz >= 10 && config->rate_hz <= 10000);
    FUZZ_CHECK(config->sampling_budget_permyriad >= 1);
    FUZZ_CHECK(config->sampling_budget_permyriad <= 10000);
    FUZZ_CHECK(config->scope < 4);
    FUZZ_CHECK(config->min_share_permyriad >= 5000 && config->min_share_permyriad <= 9500);
    FUZZ_CHECK(config->cool_down_rounds >= 1 && config->cool_down_rounds <= 1000);
    FUZZ_CHECK(config->migration_rate_bytes >= 1 << 20 && config->migration_rate_bytes <= TIB);
}

static void check_rules(const struct rule_list *list, unsigned n_lines)
{
    for (size_t i = 0; i < list->n_rules; i++) {
        FUZZ_CHECK(list->rules[i].field < RULE_FIELD_COUNT);
        FUZZ_CHECK(*list->rules[i].pattern);
        FUZZ_CHECK(list->rules[i].line >= 1 && list->rules[i].line <= n_lines);
    }
}

/* "NAME:LINE: what is wrong" */
static void check_message(const char *message)
{
    const char *what = strstr(message, ": ");

    FUZZ_CHECK(what && strncmp(what + 2, "iniparser", strlen("iniparser")));
    for (; *message; message++)
        FUZZ_CHECK((unsigned char)*message >= ' ' && *message != 0x7f);
}

static unsigned count_lines(const uint8_t *data, size_t size)
{
    unsigned n = 1;

    for (size_t i = 0; i < size; i++)
        n += data[i] == '\n';
    return n;
}

static void check_file(const char *path, unsigned n_lines)
{
    CLEANUP(config_freep) struct config *config = NULL;
    struct config_error error = {""};
    int r = config_new(&config, path, &error);

    FUZZ_CHECK(r == 0 || r == CONFIG_INVALID);
    if (r) {
        FUZZ_CHECK(!config);
        check_message(error.message);
        return;
    }
    check_numbers(config);
    check_rules(&config->include, n_lines);
    check_rules(&config->exclude, n_lines);
    check_rules(&config->write_fault, n_lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(fd_closep) int fd = memfd_create("numabd.conf", MFD_CLOEXEC);
    char path[32];

    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    check_file(path, count_lines(data, size));
    return 0;
}
