#include "daemon/privilege.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/array.h"

static const struct {
    unsigned capability;
    const char *name;
} needed[] = {
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}, /* maps, code bytes, move_pages of other processes */
    {CAP_SYS_NICE, "CAP_SYS_NICE"},     /* move_pages between nodes for other users */
};

bool privilege_check(char *why, size_t why_size)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    char missing[64] = "";

    if (syscall(SYS_capget, &header, data) < 0)
        return true; /* cannot be asked: each refusal will say so itself */
    for (size_t i = 0; i < ARRAY_LENGTH(needed); i++) {
        unsigned bit = needed[i].capability;

        if (data[bit / 32].effective & (UINT32_C(1) << (bit % 32)))
            continue;
        if (missing[0])
            strcat(missing, " and ");
        strcat(missing, needed[i].name);
    }
    if (!missing[0])
        return true;
    snprintf(why, why_size, "%s missing: other users' memory cannot be read or moved; run as root",
             missing);
    return false;
}
