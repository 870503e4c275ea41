#include "daemon/checkup.h"

#include "util/nsec.h"

/* A look takes milliseconds in the loop thread; somebody who repairs things asks less often. */
#define KEEP_NSEC NSEC_PER_SEC

void checkup_deinit(struct checkup *checkup)
{
    doctor_report_deinit(&checkup->report);
    checkup->made_nsec = 0;
}

int checkup_report(struct checkup *checkup, const struct doctor_options *options, uint64_t now,
                   const struct doctor_report **reportp)
{
    int r = 0;

    if (!checkup->made_nsec || now - checkup->made_nsec >= KEEP_NSEC) {
        checkup_deinit(checkup);
        r = doctor_run(&checkup->report, options);
        checkup->made_nsec = r < 0 ? 0 : now;
    }
    *reportp = &checkup->report;
    return r;
}
