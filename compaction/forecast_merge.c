/* forecast_merge.c - how large a merged file is, and where it is cut, from descriptions alone.
 *
 *     A |----------------------|      the inputs' ends and the pick's cuts make pieces; in a piece
 *     B        |---------------|      each input has its even share of rows
 *       |  1   |      2    |  3|
 *                          ^ a cut
 *
 * Rows of a piece, of n that there are in it:
 *     fresh    loaded rows: they add up, no row was loaded twice
 *     again    updated rows: u1, u2, ... of n, drawn uniformly.  A row is in none of them with the
 *              chance (1 - u1/n)(1 - u2/n)..., so n * (1 - that) distinct rows are left: the usual
 *              formula of occupancy
 *     bytes    fresh * row_bytes + again * (1 - fresh/n) * update_bytes: an update that meets its
 *              row takes the place of what was there
 *
 * Invariants:
 *     1. Without rows (options.rows.rows is 0) bytes add up exactly.
 *     2. What leaves the pieces is what entered them: cutting moves bytes, it makes none.
 *
 * What it leaves out: that larger files compress better, that an index and a filter take space too,
 * and that rows of a partition lie together.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/forecast_inside.h"
#include "compaction/garbage.h"

#include <math.h>
#include <stdlib.h>

struct piece {
    int64_t first, last;
    struct forecast_load load;
    double bytes;
};

double forecast_share(const struct forecast *f, int64_t first, int64_t last)
{
    double tokens = (double)((uint64_t)last - (uint64_t)first) + 1;
    double raw = local_coverage_raw(&f->local, first, last) / f->local.coverage;
    return raw + tokens * 0x1p-64 * 1e-9;
}

static int by_token(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The first tokens of pieces, ascending, none twice. */
static size_t starts_of(struct forecast *f, const struct compaction_pick *pick, int64_t **out)
{
    size_t n = 0, kept = 0;
    int64_t *starts = arena_array(&f->step, int64_t, 2 * pick->count + pick->cuts_count);
    for (size_t i = 0; i < pick->count; i++) {
        const struct compaction_file *file = &f->files[pick->files[i]];
        starts[n++] = file->first;
        if (file->last != INT64_MAX)
            starts[n++] = file->last + 1;
    }
    for (size_t i = 0; i < pick->cuts_count; i++)
        if (pick->cuts[i] != INT64_MAX)
            starts[n++] = pick->cuts[i] + 1;
    qsort(starts, n, sizeof *starts, by_token);
    for (size_t i = 0; i < n; i++)
        if (!kept || starts[i] != starts[kept - 1])
            starts[kept++] = starts[i];
    *out = starts;
    return kept;
}

/* What the inputs have between the piece's ends. */
static void fill(const struct forecast *f, const struct compaction_pick *pick, const double *shares,
                 struct piece *piece)
{
    const struct forecast_rows *rows = &f->options.rows;
    double share = forecast_share(f, piece->first, piece->last), missed = 1;
    double n = rows->rows * share;
    for (size_t i = 0; i < pick->count; i++) {
        const struct compaction_file *file = &f->files[pick->files[i]];
        const struct forecast_load *load = &f->loads[pick->files[i]];
        if (file->first > piece->first || file->last < piece->last)
            continue;
        double part = share / shares[i];
        if (pick->kind == COMPACTION_TOMBSTONES)
            part *= 1 - fmin(1, garbage_ratio(file, f->now_seconds - f->options.gc_grace_seconds));
        piece->bytes += (double)file->bytes * part;
        piece->load.fresh += load->fresh * part;
        missed *= 1 - fmin(1, n > 0 ? load->again * part / n : 0);
    }
    if (!(n > 0))
        return;
    piece->load.again = n * (1 - missed);
    piece->bytes = piece->load.fresh * rows->row_bytes +
                   piece->load.again * (1 - fmin(1, piece->load.fresh / n)) * rows->update_bytes;
}

/* Those in which there is anything. */
static size_t pieces_of(struct forecast *f, const struct compaction_pick *pick, struct piece **out)
{
    int64_t *starts, last = INT64_MIN;
    size_t starts_count = starts_of(f, pick, &starts), count = 0;
    double *shares = arena_array(&f->step, double, pick->count);
    *out = arena_array(&f->step, struct piece, starts_count);
    for (size_t i = 0; i < pick->count; i++) {
        const struct compaction_file *file = &f->files[pick->files[i]];
        shares[i] = forecast_share(f, file->first, file->last);
        last = file->last > last ? file->last : last;
    }
    for (size_t i = 0; i < starts_count && starts[i] <= last; i++) {
        struct piece *piece = &(*out)[count];
        *piece = (struct piece){ .first = starts[i], .last = last };
        if (i + 1 < starts_count && starts[i + 1] <= last)
            piece->last = starts[i + 1] - 1;
        fill(f, pick, shares, piece);
        count += piece->bytes > 0;
    }
    return count;
}

/* ---- into files ---- */

struct output {
    struct forecast *f;
    const struct compaction_pick *pick;
    struct compaction_file like; /* what all outputs have in common */
    size_t number;
    bool has_any;
    struct piece file; /* so far */
    uint64_t written;
};

static const struct compact_output *order_of(const struct output *out)
{
    size_t last = out->pick->outputs_count - 1;
    return &out->pick->outputs[out->number < last ? out->number : last];
}

static void add(struct output *out, const struct piece *piece)
{
    if (!out->has_any)
        out->file = (struct piece){ .first = piece->first };
    out->has_any = true;
    out->file.last = piece->last;
    out->file.bytes += piece->bytes;
    out->file.load.fresh += piece->load.fresh;
    out->file.load.again += piece->load.again;
}

static void end(struct output *out)
{
    struct compaction_file file = out->like;
    file.bytes = file.all_bytes = (uint64_t)llround(out->file.bytes);
    if (out->has_any && file.bytes) {
        file.id = ++out->f->id;
        file.first = out->file.first;
        file.last = out->file.last;
        file.level = order_of(out)->level;
        file.coverage = local_coverage(&out->f->local, file.first, file.last);
        forecast_put(out->f, &file, out->file.load);
        out->written += file.bytes;
        out->number++;
    }
    out->has_any = false;
}

/* The token up to which the piece has this part (0..1) of what is in it. */
static int64_t token_at(const struct forecast *f, const struct piece *piece, double part)
{
    double all = forecast_share(f, piece->first, piece->last);
    uint64_t low = 0, high = (uint64_t)piece->last - (uint64_t)piece->first;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int64_t token = (int64_t)((uint64_t)piece->first + middle);
        if (forecast_share(f, piece->first, token) < part * all)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)((uint64_t)piece->first + low);
}

/* Takes the piece's beginning, of so many bytes, away from it. */
static struct piece take(const struct forecast *f, struct piece *piece, double bytes)
{
    double part = bytes / piece->bytes;
    struct piece taken = *piece;
    taken.last = token_at(f, piece, part);
    taken.bytes = bytes;
    taken.load.fresh *= part;
    taken.load.again *= part;
    piece->first = taken.last + 1;
    piece->bytes -= bytes;
    piece->load.fresh -= taken.load.fresh;
    piece->load.again -= taken.load.again;
    return taken;
}

/* A file ends when it has what its order allows, within half a byte. */
static void put(struct output *out, struct piece piece)
{
    for (;;) {
        uint64_t limit = order_of(out)->bytes;
        double room = (double)limit - (out->has_any ? out->file.bytes : 0);
        if (limit == UINT64_MAX || piece.bytes < room + 0.5)
            break;
        struct piece part = take(out->f, &piece, fmax(room, 0));
        if (part.last >= piece.last)
            break;
        add(out, &part);
        end(out);
    }
    add(out, &piece);
}

static struct compaction_file likeness(const struct forecast *f, const struct compaction_pick *pick)
{
    struct compaction_file like = { .timestamp_min = INT64_MAX,
                                    .timestamp_max = INT64_MIN,
                                    .created_seconds = f->now_seconds };
    for (size_t i = 0; i < pick->count; i++) {
        const struct compaction_file *file = &f->files[pick->files[i]];
        if (file->timestamp_min < like.timestamp_min)
            like.timestamp_min = file->timestamp_min;
        if (file->timestamp_max > like.timestamp_max)
            like.timestamp_max = file->timestamp_max;
        if (file->seconds_max > like.seconds_max)
            like.seconds_max = file->seconds_max;
    }
    return like;
}

uint64_t forecast_write(struct forecast *f, const struct compaction_pick *pick)
{
    struct piece *pieces;
    size_t count = pieces_of(f, pick, &pieces), cut = 0;
    struct output out = { .f = f, .pick = pick, .like = likeness(f, pick) };
    for (size_t i = 0; i < count; i++) {
        int64_t last = pieces[i].last;
        while (cut < pick->cuts_count && pick->cuts[cut] < pieces[i].first) {
            end(&out);
            cut++;
        }
        put(&out, pieces[i]);
        if (cut < pick->cuts_count && pick->cuts[cut] <= last) {
            end(&out);
            cut++;
        }
    }
    end(&out);
    return out.written;
}

double forecast_floor(struct forecast *f)
{
    struct compaction_pick all = { .count = f->count,
                                   .files = arena_array(&f->step, size_t, f->count) };
    struct piece *pieces;
    double bytes = 0;
    for (size_t i = 0; i < f->count; i++)
        all.files[i] = i;
    size_t count = pieces_of(f, &all, &pieces);
    for (size_t i = 0; i < count; i++)
        bytes += pieces[i].bytes;
    return bytes;
}
