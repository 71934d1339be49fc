/* index_sample.c - interpolation with a bound: tokens are hashes, so one guess is nearly right.
 *
 *     low                     guess                      high
 *      |--------- * -----------|---------------------------|
 *                 the answer is looked for from here, in steps that double, then by halves
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/index_sample.h"

void index_sample_init(struct index_sample *s, struct arena *arena, size_t count)
{
    ensure(count > 0);
    s->count = count;
    s->tokens = arena_array(arena, int64_t, count);
    s->places = arena_array(arena, uint64_t, count);
}

/* Where the token ought to be among evenly spread ones. */
static size_t guess(const struct index_sample *s, int64_t token)
{
    int64_t first = s->tokens[0], last = s->tokens[s->count - 1];
    if (token <= first)
        return 0;
    if (token >= last)
        return s->count - 1;
    double part = ((double)token - (double)first) / ((double)last - (double)first);
    return (size_t)u64_min((uint64_t)(part * (double)(s->count - 1)), s->count - 1);
}

size_t index_sample_find(const struct index_sample *s, int64_t token)
{
    size_t low = guess(s, token), high = low + 1, step = 1;
    /* tokens[low] < token, unless low is 0; tokens[high] >= token, unless high is count */
    while (low > 0 && s->tokens[low] >= token) {
        high = low;
        low = low > step ? low - step : 0;
        step *= 2;
    }
    while (high < s->count && s->tokens[high] < token) {
        low = high;
        high = u64_min(high + step, s->count);
        step *= 2;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->tokens[middle] < token)
            low = middle;
        else
            high = middle;
    }
    return low;
}
