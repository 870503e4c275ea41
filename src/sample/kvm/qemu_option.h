#pragma once
/*
 * One argument of a QEMU command line with its keys and values, in either spelling:
 *
 *     memory-backend-ram,id=ram-node0,size=4G
 *     {"qom-type":"memory-backend-ram","id":"ram-node0","size":4294967296}
 */
#include <stdbool.h>
#include <stdint.h>

struct qemu_options {
    const char *at; /* what is left; begin with the whole argument */
    bool json, begun;
};

struct qemu_option {
    char key[64];     /* "" for a first value without one */
    char value[4096]; /* unescaped; "" for a JSON array or object; longer ones are cut */
};

struct qemu_options qemu_options_of(const char *argument);

/* Return: whether there was one more. It ends at whatever is malformed. */
bool qemu_option_next(struct qemu_options *options, struct qemu_option *option);

/*
 * A size: digits, a fraction with a suffix, or 0x and hexadecimal digits; suffixes B K M G T P E,
 * `unit` bytes without one. Return: whether it is one, and not 0.
 */
bool qemu_size_parse(const char *text, uint64_t unit, uint64_t *bytesp);
