/* bench_server.c - what the nodes counted of themselves while a benchmark ran.
 *
 * All counts of /api/v1/status, added up over the nodes; what matters is their growth.  A node
 * whose admin port is closed is left out, and then nothing is said about the server.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/bench.h"
#include "command/http.h"
#include "command/tree.h"

enum { ASK_MS = 2000 };

static struct bench_count *count_find(struct bench_counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->count; i++)
        if (strcmp(counts->list[i].name, name) == 0)
            return &counts->list[i];
    if (counts->count == BENCH_COUNTS_MAX)
        return NULL;
    counts->list[counts->count] = (struct bench_count){ .name = name };
    return &counts->list[counts->count++];
}

void bench_counts_take(struct bench *b, struct bench_counts *counts)
{
    memset(counts, 0, sizeof *counts);
    for (unsigned i = 0; i < b->places_count; i++) {
        struct http_answer answer;
        if (http_get(&b->arena, b->places[i].host, (uint16_t)b->options->admin_port,
                     "/api/v1/status", ASK_MS, &answer) != OK ||
            answer.status != 200)
            continue;
        const struct tree *list = tree_get(tree_parse(&b->arena, answer.body), "counts");
        counts->nodes_count += list != NULL;
        for (const struct tree *m = list ? list->first : NULL; m; m = m->next) {
            struct bench_count *count = count_find(counts, m->name);
            if (count)
                count->value += tree_number(list, m->name, 0);
        }
    }
}

double bench_counts_value(const struct bench_counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->count; i++)
        if (strcmp(counts->list[i].name, name) == 0)
            return counts->list[i].value;
    return 0;
}

void bench_counts_grow(struct bench_counts *growth, const struct bench_counts *before,
                       const struct bench_counts *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct bench_count *now = &after->list[i];
        double value = now->value - bench_counts_value(before, now->name);
        struct bench_count *into = count_find(growth, now->name);
        if (into)
            into->value += value > 0 ? value : 0;
    }
}
