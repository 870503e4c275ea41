#pragma once
/*
 * The kvm source: bounds that its tests know too. kvm_new is in numabd/sample.h.
 *
 * What it claims cannot be tried on a machine without KVM: its tests run on trees of files written
 * after what QEMU, Cloud Hypervisor and Linux 6.12 show.
 */
#include <stdint.h>

#include "util/nsec.h"

/* A process is looked at when it is new and then in this time, or in 1,000 times what it cost. */
#define KVM_LOOK_NSEC (60 * NSEC_PER_SEC)
#define KVM_LOOK_COST_FACTOR 1000
/* While a machine starts: vCPUs without a name are known by the time that they ran. */
#define KVM_LOOK_SOON_NSEC (5 * NSEC_PER_SEC)
/* Processes looked at in a round, some 2 ms each, so that others' requests are not held up. */
#define KVM_LOOKS_PER_ROUND 16

/* Accesses of a round: all guests together, and the least for one. */
#define KVM_RECORDS_PER_ROUND ((uint64_t)4096)
#define KVM_RECORDS_MIN ((uint64_t)64)
/*
 * Addresses of all guests. Each may cost a range and five groups of evidence: 41,000 of RANGES_MAX
 * (attribute.h) at the worst, so that guests never take all of it. Up to 16 GiB they are 2 MiB
 * apart; what lies between them goes along.
 */
#define KVM_POINTS_MAX ((uint64_t)8192)
