/* floor.c - see floor.h.
 *
 *     rondo floor 1
 *     0 1764517246000 8192        folder, segment, offset
 *     1 1764517246003 128
 *     crc32c 1a2b3c4d
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/floor.h"

#include "base/arena.h"
#include "store/seal.h"

static const char head[] = "rondo floor 1";

void floor_encode(const struct floor *f, struct buf *out)
{
    buf_printf(out, "%s\n", head);
    for (size_t i = 0; i < f->count; i++)
        buf_printf(out, "%llu %llu %llu\n", (unsigned long long)f->places[i].folder,
                   (unsigned long long)f->places[i].upto.segment,
                   (unsigned long long)f->places[i].upto.offset);
    seal_put(out);
}

static bool place_decode(struct bytes line, struct floor_place *out)
{
    return seal_number(seal_word(&line), &out->folder) &&
           seal_number(seal_word(&line), &out->upto.segment) &&
           seal_number(seal_word(&line), &out->upto.offset) && line.size == 0;
}

enum err floor_decode(struct bytes file, struct arena *arena, struct floor *out)
{
    struct bytes lines, line;
    *out = (struct floor){ 0 };
    if (!seal_check(file, &lines) || !seal_line(&lines, &line) ||
        !bytes_equal(line, bytes_text(head)))
        return ERR_CORRUPT;
    while (seal_line(&lines, &line)) {
        struct floor_place place;
        if (!place_decode(line, &place))
            return ERR_CORRUPT;
        if (out->count && place.folder <= out->places[out->count - 1].folder)
            return ERR_CORRUPT;
        floor_raise(out, arena, place);
    }
    return OK;
}

void floor_raise(struct floor *f, struct arena *arena, struct floor_place place)
{
    size_t i = 0;
    while (i < f->count && f->places[i].folder < place.folder)
        i++;
    if (i < f->count && f->places[i].folder == place.folder) {
        if (log_order(f->places[i].upto, place.upto) < 0)
            f->places[i].upto = place.upto;
        return;
    }
    struct floor_place *places = arena_array(arena, struct floor_place, f->count + 1);
    if (f->count)
        memcpy(places, f->places, i * sizeof *places);
    places[i] = place;
    if (f->count > i)
        memcpy(places + i + 1, f->places + i, (f->count - i) * sizeof *places);
    f->places = places;
    f->count++;
}

bool floor_covers(const struct floor *f, uint64_t folder, struct journal_position at)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->places[i].folder == folder)
            return log_order(at, f->places[i].upto) <= 0;
    return false;
}

bool floor_name_parse(const char *name, uint64_t *generation)
{
    return seal_name_parse(name, "floor-", generation);
}

char *floor_name(struct arena *arena, uint64_t generation)
{
    return arena_printf(arena, "floor-%llu.txt", (unsigned long long)generation);
}
