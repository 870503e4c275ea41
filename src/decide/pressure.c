#include "decide/pressure.h"

#include "util/scan.h"

/* allocstall_dma, _dma32, _normal, _movable, _device; not pgscan_direct_throttle. */
static bool is_direct(struct scan *line)
{
    struct scan name;

    if (!scan_word(line, &name) || !scan_blanks(line))
        return false;
    if (scan_literal(&name, "allocstall"))
        return scan_at_end(&name) || *name.at == '_';
    return scan_literal(&name, "pgscan_direct") && scan_at_end(&name);
}

bool pressure_parse(const char *text, size_t size, uint64_t *n_directp)
{
    struct scan rest = {text, text + size}, line;
    uint64_t n, sum = 0;
    bool any = false;

    while (scan_line(&rest, &line)) {
        if (!is_direct(&line) || !scan_decimal(&line, UINT64_MAX, &n) || !scan_at_end(&line))
            continue;
        sum += n;
        any = true;
    }
    if (any)
        *n_directp = sum;
    return any;
}

void pressure_note(struct pressure *pressure, uint64_t n_direct, uint64_t now)
{
    if (pressure->known && n_direct > pressure->n_direct)
        pressure->until_nsec = now + PRESSURE_NSEC;
    pressure->known = true;
    pressure->n_direct = n_direct;
}

bool pressure_is_on(const struct pressure *pressure, uint64_t now)
{
    return now < pressure->until_nsec;
}
