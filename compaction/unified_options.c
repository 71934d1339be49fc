/* unified_options.c - what the options of the unified strategy mean, and its scaling parameter.
 *
 *     written   W       fan factor   threshold
 *     T<n>      n - 2       n            n        tiered: wait for n files, merge them once
 *     N         0           2            2        (T2 and L2 are the same)
 *     L<n>      2 - n       n            2        leveled: merge each newcomer at once
 *
 * The fan factor is how much denser each level may be than the one below it; the threshold is how
 * many files over one key make a level due.  Facts: compaction.md 1.1, 3.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/unified.h"

#include <strings.h>

#define MIB 1048576.0
#define GIB (1024 * MIB)
#define GROWTH 0.333

static enum overlap_inclusion inclusion_of(const char *text)
{
    if (text && strcasecmp(text, "NONE") == 0)
        return OVERLAP_NONE;
    return text && strcasecmp(text, "SINGLE") == 0 ? OVERLAP_SINGLE : OVERLAP_TRANSITIVE;
}

void unified_options_read(const struct compaction_params *params,
                          const struct strategy_scale *scale, struct unified_options *out)
{
    size_t count = compaction_scaling(params, NULL, 0);
    ensure(count);
    int64_t most = compaction_whole(params, "max_sstables_to_compact", 0);
    *out = (struct unified_options){
        .scaling_count = count,
        .scaling = mem_alloc(count * sizeof *out->scaling),
        .target_bytes = compaction_size(params, "target_sstable_size", GIB),
        .least_bytes = compaction_size(params, "min_sstable_size", 100 * MIB),
        .growth = compaction_share(params, "sstable_growth", GROWTH),
        .base_slices = (uint32_t)compaction_whole(params, "base_shard_count", 4),
        .flush_bytes = compaction_size(params, "flush_size_override", 0),
        .most_files = most > 0 ? (uint64_t)most : UINT64_MAX,
        .expired_seconds = compaction_whole(params, "expired_sstable_check_frequency_seconds", 600),
        .inclusion = inclusion_of(compaction_option(params, "overlap_inclusion_method")),
        .floor_bytes = scale && scale->flush_floor_bytes ? scale->flush_floor_bytes : (uint64_t)MIB,
        .round_bytes = scale && scale->flush_round_bytes ? scale->flush_round_bytes : (uint64_t)MIB,
    };
    compaction_scaling(params, out->scaling, count);
    ensure(out->base_slices);
}

void unified_options_deinit(struct unified_options *options) { mem_free(options->scaling); }

int32_t unified_scaling(const struct unified_options *options, size_t level)
{
    size_t last = options->scaling_count - 1;
    return options->scaling[level < last ? level : last];
}

uint64_t unified_fanout(const struct unified_options *options, size_t level)
{
    int64_t w = unified_scaling(options, level);
    return (uint64_t)(2 + (w < 0 ? -w : w));
}

uint64_t unified_threshold(const struct unified_options *options, size_t level)
{
    int64_t w = unified_scaling(options, level);
    return w <= 0 ? 2 : (uint64_t)(2 + w);
}

const char *unified_setting(int32_t scaling, char out[UNIFIED_SETTING_BYTES])
{
    int64_t fanout = 2 + (scaling < 0 ? -(int64_t)scaling : (int64_t)scaling);
    if (scaling)
        snprintf(out, UNIFIED_SETTING_BYTES, "%c%lld", scaling < 0 ? 'L' : 'T', (long long)fanout);
    else
        snprintf(out, UNIFIED_SETTING_BYTES, "N");
    return out;
}
