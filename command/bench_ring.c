/* bench_ring.c - which of the nodes that a benchmark speaks to are replicas of a key.
 *
 * The owner of a token is the first node at or behind it on the ring, its replicas the next others
 * (SimpleStrategy, which is what the benchmark's keyspace has).
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/bench_ring.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

static size_t tokens_count(const struct bench_ring *r)
{
    return r->tokens.size / sizeof(struct bench_token);
}

static struct bench_token *token_at(const struct bench_ring *r, size_t at)
{
    return (struct bench_token *)(void *)r->tokens.data + at;
}

bool bench_ring_add(struct bench_ring *r, unsigned place, const char *tokens)
{
    size_t before = r->tokens.size;
    for (const char *at = strchr(tokens, '\''); at; at = strchr(at, '\'')) {
        char *end;
        errno = 0;
        struct bench_token token = { strtoll(at + 1, &end, 10), place };
        if (errno != 0 || end == at + 1 || *end != '\'')
            return false;
        buf_put(&r->tokens, &token, sizeof token);
        at = end + 1;
    }
    return r->tokens.size > before;
}

static int token_compare(const void *left, const void *right)
{
    const struct bench_token *a = left, *b = right;
    return (a->token > b->token) - (a->token < b->token);
}

void bench_ring_finish(struct bench_ring *r, unsigned places_count, unsigned factor)
{
    r->places_count = places_count;
    r->factor = factor < places_count ? factor : places_count;
    qsort(r->tokens.data, tokens_count(r), sizeof(struct bench_token), token_compare);
}

void bench_ring_deinit(struct bench_ring *r) { buf_deinit(&r->tokens); }

/* Murmur3's first half; the least number belongs to no token (facts: cql-protocol.md 4). */
static int64_t key_token(const uint8_t key[BENCH_KEY_BYTES])
{
    uint64_t hash[2];
    murmur3_cassandra(bytes_of(key, BENCH_KEY_BYTES), hash);
    return (int64_t)hash[0] == INT64_MIN ? INT64_MAX : (int64_t)hash[0];
}

/* The first token at or behind it; the count of tokens when there is none. */
static size_t ring_find(const struct bench_ring *r, int64_t token)
{
    size_t least = 0, most = tokens_count(r);
    while (least < most) {
        size_t middle = (least + most) / 2;
        if (token_at(r, middle)->token < token)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

unsigned bench_ring_replicas(const struct bench_ring *r, const uint8_t key[BENCH_KEY_BYTES],
                             unsigned out[BENCH_PLACES_MAX])
{
    size_t count = tokens_count(r);
    size_t first = ring_find(r, key_token(key));
    uint64_t seen = 0;
    unsigned found = 0;
    for (size_t i = 0; i < count && found < r->factor; i++) {
        unsigned place = token_at(r, (first + i) % count)->place;
        if (seen >> place & 1)
            continue;
        seen |= UINT64_C(1) << place;
        out[found++] = place;
    }
    return found;
}
