/* books.c - see books.h. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/books.h"

bool books_mutations_balance(const struct coordinator_book *b)
{
    uint64_t refused = b->withdrawn;
    for (int i = 0; i < HINT_REFUSALS_COUNT; i++)
        refused += b->refused[i];
    return b->sent == b->in_flight + b->acked + b->hinted + refused;
}

bool books_hints_balance(const struct hint_book *b)
{
    uint64_t dropped = 0;
    for (int i = 0; i < HINT_DROPS_COUNT; i++)
        dropped += b->dropped[i];
    return b->written == b->delivered + b->pending + b->expired + dropped;
}
