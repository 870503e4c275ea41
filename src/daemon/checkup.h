#pragma once
/*
 * Checkup: the doctor's report as the daemon keeps it. Anybody may ask, so it is made anew at most
 * once a second.
 */
#include "report/doctor.h"

struct checkup {
    struct doctor_report report;
    uint64_t made_nsec; /* 0: never */
};

/* The report at `now`. Return: 0 or a negative errno; *reportp is valid until the next call. */
int checkup_report(struct checkup *checkup, const struct doctor_options *options, uint64_t now,
                   const struct doctor_report **reportp);
void checkup_deinit(struct checkup *checkup);
