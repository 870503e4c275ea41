#pragma once
/*
 * What the daemon itself is allowed to do.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Without these capabilities the memory of other users' processes can neither be read nor moved.
 * Return: true, or false with one line in `why` that names the missing ones.
 */
bool privilege_check(char *why, size_t why_size);
