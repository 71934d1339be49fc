/* phi.c - the window of intervals and what a silence is worth by it.  See phi.h.
 *
 * Bursts (several answers in one round) move the last word but add no interval: else a moment of
 * much talk would make the next ordinary pause look like death.
 *
 * Invariant: sum_us is the sum of the window's intervals, each between PHI_LEAST_US and
 * PHI_MOST_US, so the mean is too.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/phi.h"

static const double ln_10 = 2.302585092994046;

static void phi_add(struct phi *p, uint32_t us)
{
    ensure(us >= PHI_LEAST_US && us <= PHI_MOST_US);
    if (p->count == PHI_WINDOW)
        p->sum_us -= p->intervals_us[p->next];
    else
        p->count++;
    p->intervals_us[p->next] = us;
    p->sum_us += us;
    p->next = (p->next + 1) % PHI_WINDOW;
}

void phi_begin(struct phi *p, uint64_t now_ns)
{
    if (p->count == 0)
        phi_add(p, PHI_FIRST_US);
    p->heard_ns = now_ns;
}

void phi_heard(struct phi *p, uint64_t now_ns)
{
    if (p->count == 0) {
        phi_begin(p, now_ns);
        return;
    }
    ensure(now_ns >= p->heard_ns);
    uint64_t us = (now_ns - p->heard_ns) / 1000;
    p->heard_ns = now_ns;
    if (us >= PHI_LEAST_US / 2)
        phi_add(p, (uint32_t)u64_min(u64_max(us, PHI_LEAST_US), PHI_MOST_US));
}

void phi_pass(struct phi *p, uint64_t ns, uint64_t now_ns)
{
    p->heard_ns = u64_min(p->heard_ns + ns, now_ns);
}

uint64_t phi_mean_ns(const struct phi *p) { return p->count ? p->sum_us / p->count * 1000 : 0; }

double phi_of(const struct phi *p, uint64_t now_ns)
{
    if (p->count == 0 || now_ns <= p->heard_ns)
        return 0;
    return (double)(now_ns - p->heard_ns) / (double)phi_mean_ns(p) / ln_10;
}
