#pragma once
/*
 * Return codes, the same everywhere:
 *   negative  an errno, fatal to the caller's job; never matched on, only forwarded;
 *   0         success;
 *   positive  a documented condition of that one function, which its caller handles and does not
 *             forward ("the process is gone" is such a condition, never an error).
 * A function either returns a failure or logs it, never both.
 */
#include <errno.h>

/* The errno of the call that just failed, as a return code; never 0. */
static inline int error_errno(void)
{
    return errno > 0 ? -errno : -EIO;
}
