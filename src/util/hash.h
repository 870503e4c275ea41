#pragma once
/*
 * uthash with a hash function for small whole numbers: ids and addresses, which are most keys here.
 * Multiplied by 2^64 / golden ratio they differ in the upper half of the product (Knuth, The Art of
 * Computer Programming 6.4), also where only their upper bits do, as in multiples of 2 MiB. Other
 * keys, strings among them, have the one that comes with uthash. All tables are made through here.
 */
#include <stdint.h>
#include <string.h>

static inline unsigned hash_number(const void *key, size_t size)
{
    uint32_t small = 0;
    uint64_t number;

    if (size == sizeof small) {
        memcpy(&small, key, sizeof small);
        number = small;
    } else {
        memcpy(&number, key, sizeof number);
    }
    return (unsigned)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

#define HASH_FUNCTION(key, size, hash)                                                             \
    do {                                                                                           \
        if ((size) == sizeof(uint32_t) || (size) == sizeof(uint64_t))                              \
            (hash) = hash_number(key, size);                                                       \
        else                                                                                       \
            HASH_JEN(key, size, hash);                                                             \
    } while (0)

#include <uthash.h>
