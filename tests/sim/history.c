/* history.c - see history.h. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/history.h"

void history_init(struct history *h)
{
    h->versions_count = 0;
    for (int i = 0; i < HISTORY_CELLS_MAX; i++)
        h->floor[i] = -1;
}

bool version_is_newer(const struct version *a, const struct version *b)
{
    if (a->stamp != b->stamp)
        return a->stamp > b->stamp;
    if (a->is_delete != b->is_delete)
        return a->is_delete;
    return !a->is_delete && a->value > b->value;
}

int history_begin(struct history *h, int cell, int64_t stamp, bool is_delete, int64_t value)
{
    ensure(cell >= 0 && cell < HISTORY_CELLS_MAX && h->versions_count < HISTORY_VERSIONS_MAX);
    h->versions[h->versions_count] = (struct version){
        .cell = cell, .stamp = stamp, .is_delete = is_delete, .value = value, .is_sent = true
    };
    return (int)h->versions_count++;
}

/* What a quorum knows has become at least this new. */
static void floor_raise(struct history *h, int version)
{
    const struct version *v = &h->versions[version];
    int *floor = &h->floor[v->cell];
    if (*floor < 0 || version_is_newer(v, &h->versions[*floor]))
        *floor = version;
}

void history_known(struct history *h, int version, uint64_t now_ns)
{
    h->versions[version].known_ns = now_ns;
}

void history_acked(struct history *h, int version)
{
    h->versions[version].is_acked = true;
    floor_raise(h, version);
}

void history_refused(struct history *h, int version) { h->versions[version].is_sent = false; }

static bool is_as_new(const struct history *h, int version, int floor)
{
    return floor < 0 || version == floor ||
           !version_is_newer(&h->versions[floor], &h->versions[version]);
}

/* The oldest deletion that is as new as the floor; -1: there is none. */
static int oldest_deletion(const struct history *h, const struct told *t)
{
    int oldest = -1;
    for (size_t i = 0; i < h->versions_count; i++) {
        const struct version *v = &h->versions[i];
        if (v->cell == t->cell && v->is_delete && v->is_sent && is_as_new(h, (int)i, t->floor) &&
            (oldest < 0 || version_is_newer(&h->versions[oldest], v)))
            oldest = (int)i;
    }
    return oldest;
}

/* Nothing is explained by nothing that was known, or by a deletion: then the oldest one that does
 * is known from now on, whether its client was told or not. */
static bool found_nothing(struct history *h, const struct told *t, char why[300])
{
    if (t->floor < 0)
        return true;
    int deletion = oldest_deletion(h, t);
    if (deletion >= 0) {
        if (t->is_quorum)
            floor_raise(h, deletion);
        return true;
    }
    const struct version *floor = &h->versions[t->floor];
    snprintf(why, 300, "cell %d is not there, but %s %lld of stamp %lld was %s", t->cell,
             floor->is_delete ? "a deletion" : "value", (long long)floor->value,
             (long long)floor->stamp, floor->is_acked ? "acknowledged before" : "read before");
    return false;
}

bool history_read(struct history *h, const struct told *t, char why[300])
{
    int found = -1;
    if (!t->is_there)
        return found_nothing(h, t, why);
    for (size_t i = 0; i < h->versions_count && found < 0; i++)
        if (h->versions[i].cell == t->cell && !h->versions[i].is_delete && h->versions[i].is_sent &&
            h->versions[i].value == t->value)
            found = (int)i;
    if (found < 0) {
        snprintf(why, 300, "cell %d has value %lld, which nobody has sent", t->cell,
                 (long long)t->value);
        return false;
    }
    if (!is_as_new(h, found, t->floor)) {
        const struct version *floor = &h->versions[t->floor];
        snprintf(why, 300, "cell %d has value %lld of stamp %lld, but %s %lld of stamp %lld was %s",
                 t->cell, (long long)t->value, (long long)h->versions[found].stamp,
                 floor->is_delete ? "a deletion" : "value", (long long)floor->value,
                 (long long)floor->stamp, floor->is_acked ? "acknowledged before" : "read before");
        return false;
    }
    if (t->is_quorum)
        floor_raise(h, found);
    return true;
}
