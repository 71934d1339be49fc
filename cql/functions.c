/* functions.c - the native functions: one table, one small function each.
 *
 * Null arguments never come here: the result is null then (expr.c).  Times are the request's, so
 * that an evaluation repeats; now() and uuid() draw from the request's random bits.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/functions.h"

#include "base/uuid.h"

static const int64_t day_millis = 86400000;
static const uint64_t unix_epoch_hundred_ns = 0x01b21dd213814000u;

static enum err give(struct eval *eval, const void *data, size_t size, struct value *out)
{
    uint8_t *room = eval_room(eval, size);
    memcpy(room, data, size);
    *out = (struct value){ VALUE_SET, bytes_of(room, size) };
    return OK;
}

static enum err give_i64(struct eval *eval, int64_t number, struct value *out)
{
    uint8_t raw[8];
    put_be64(raw, (uint64_t)number);
    return give(eval, raw, sizeof raw, out);
}

static enum err give_date(struct eval *eval, int64_t millis, struct value *out)
{
    int64_t days = millis / day_millis - (millis % day_millis < 0);
    if (days < INT32_MIN || days > INT32_MAX)
        return report_set(eval->report, ERR_INVALID, "a timestamp outside the range of dates");
    uint8_t raw[4];
    put_be32(raw, (uint32_t)((uint64_t)days + (UINT64_C(1) << 31)));
    return give(eval, raw, sizeof raw, out);
}

static enum err give_uuid(struct eval *eval, struct uuid id, struct value *out)
{
    return give(eval, id.b, sizeof id.b, out);
}

static int64_t timestamp_of(const struct value *v) { return (int64_t)get_be64(v->bytes.data); }

static int64_t timeuuid_millis(const struct value *v)
{
    struct uuid id;
    memcpy(id.b, v->bytes.data, sizeof id.b);
    return ((int64_t)uuid_time(&id) - (int64_t)unix_epoch_hundred_ns) / 10000;
}

static int64_t date_millis(const struct value *v)
{
    return ((int64_t)get_be32(v->bytes.data) - (INT64_C(1) << 31)) * day_millis;
}

/* An empty value of a fixed-size type has no number in it. */
static bool is_empty(const struct value *v, struct value *out)
{
    *out = (struct value){ .state = VALUE_NULL };
    return v->bytes.size == 0;
}

static enum err call_now(struct eval *eval, const struct value *v, struct value *out)
{
    (void)v;
    uint64_t rest = prng_next(&eval->prng);
    return give_uuid(eval, uuid_timed(uuid_time_of_micros((uint64_t)eval->wall_micros), rest), out);
}

static enum err call_uuid(struct eval *eval, const struct value *v, struct value *out)
{
    (void)v;
    uint64_t high = prng_next(&eval->prng);
    uint64_t low = prng_next(&eval->prng);
    return give_uuid(eval, uuid_random(high, low), out);
}

static enum err call_current_timestamp(struct eval *eval, const struct value *v, struct value *out)
{
    (void)v;
    return give_i64(eval, eval->wall_micros / 1000, out);
}

static enum err call_current_date(struct eval *eval, const struct value *v, struct value *out)
{
    (void)v;
    return give_date(eval, eval->wall_micros / 1000, out);
}

static enum err call_current_time(struct eval *eval, const struct value *v, struct value *out)
{
    (void)v;
    return give_i64(eval, eval->wall_micros % (day_millis * 1000) * 1000, out);
}

/* The smallest and the largest timeuuid of a millisecond: Cassandra's bytes behind the time. */
static enum err bound_timeuuid(struct eval *eval, const struct value *v, bool is_max,
                               struct value *out)
{
    if (is_empty(v, out))
        return OK;
    int64_t ticks = timestamp_of(v);
    if (ticks < -INT64_C(12219292800000) || ticks > INT64_C(100000000000000))
        return report_set(eval->report, ERR_INVALID, "a timestamp outside the range of timeuuids");
    ticks = ticks * 10000 + (int64_t)unix_epoch_hundred_ns + (is_max ? 9999 : 0);
    struct uuid id = uuid_timed((uint64_t)ticks, 0);
    memset(id.b + 8, is_max ? 0x7f : 0x80, 8);
    return give_uuid(eval, id, out);
}

static enum err call_min_timeuuid(struct eval *eval, const struct value *v, struct value *out)
{
    return bound_timeuuid(eval, v, false, out);
}

static enum err call_max_timeuuid(struct eval *eval, const struct value *v, struct value *out)
{
    return bound_timeuuid(eval, v, true, out);
}

static enum err date_of_timeuuid(struct eval *eval, const struct value *v, struct value *out)
{
    return is_empty(v, out) ? OK : give_date(eval, timeuuid_millis(v), out);
}

static enum err date_of_timestamp(struct eval *eval, const struct value *v, struct value *out)
{
    return is_empty(v, out) ? OK : give_date(eval, timestamp_of(v), out);
}

static enum err timestamp_of_timeuuid(struct eval *eval, const struct value *v, struct value *out)
{
    return is_empty(v, out) ? OK : give_i64(eval, timeuuid_millis(v), out);
}

static enum err timestamp_of_date(struct eval *eval, const struct value *v, struct value *out)
{
    return is_empty(v, out) ? OK : give_i64(eval, date_millis(v), out);
}

static enum err unix_of_timestamp(struct eval *eval, const struct value *v, struct value *out)
{
    (void)eval;
    *out = *v;
    return OK;
}

#define ONE(a) \
    1, { TYPE_##a }
#define NONE \
    0, { TYPE_CUSTOM }
static const struct function functions[] = {
    { "now", NULL, NONE, TYPE_TIMEUUID, call_now },
    { "current_timeuuid", "currenttimeuuid", NONE, TYPE_TIMEUUID, call_now },
    { "uuid", NULL, NONE, TYPE_UUID, call_uuid },
    { "current_timestamp", "currenttimestamp", NONE, TYPE_TIMESTAMP, call_current_timestamp },
    { "current_date", "currentdate", NONE, TYPE_DATE, call_current_date },
    { "current_time", "currenttime", NONE, TYPE_TIME, call_current_time },
    { "min_timeuuid", "mintimeuuid", ONE(TIMESTAMP), TYPE_TIMEUUID, call_min_timeuuid },
    { "max_timeuuid", "maxtimeuuid", ONE(TIMESTAMP), TYPE_TIMEUUID, call_max_timeuuid },
    { "to_date", "todate", ONE(TIMEUUID), TYPE_DATE, date_of_timeuuid },
    { "to_date", "todate", ONE(TIMESTAMP), TYPE_DATE, date_of_timestamp },
    { "to_timestamp", "totimestamp", ONE(TIMEUUID), TYPE_TIMESTAMP, timestamp_of_timeuuid },
    { "to_timestamp", "totimestamp", ONE(DATE), TYPE_TIMESTAMP, timestamp_of_date },
    { "to_unix_timestamp", "tounixtimestamp", ONE(TIMEUUID), TYPE_BIGINT, timestamp_of_timeuuid },
    { "to_unix_timestamp", "tounixtimestamp", ONE(TIMESTAMP), TYPE_BIGINT, unix_of_timestamp },
    { "to_unix_timestamp", "tounixtimestamp", ONE(DATE), TYPE_BIGINT, timestamp_of_date },
};

const struct function *function_find(const char *name, size_t nth)
{
    for (size_t i = 0; i < array_count(functions); i++) {
        const struct function *f = &functions[i];
        bool is_it = strcmp(f->name, name) == 0 || (f->old_name && strcmp(f->old_name, name) == 0);
        if (is_it && nth-- == 0)
            return f;
    }
    return NULL;
}

bool function_is_missing(const char *name)
{
    static const char *const missing[] = {
        "floor",
        "abs",
        "exp",
        "log",
        "log10",
        "round",
        "to_json",
        "tojson",
        "from_json",
        "fromjson",
        "map_keys",
        "map_values",
        "collection_count",
        "collection_min",
        "collection_max",
        "collection_sum",
        "collection_avg",
        "similarity_cosine",
        "similarity_euclidean",
        "similarity_dot_product",
        "mask_null",
        "mask_default",
        "mask_replace",
        "mask_inner",
        "mask_outer",
        "mask_hash",
    };
    for (size_t i = 0; i < array_count(missing); i++)
        if (strcmp(missing[i], name) == 0)
            return true;
    return false;
}

static enum err call_to_blob(struct eval *eval, const struct value *v, struct value *out)
{
    (void)eval;
    *out = *v;
    return OK;
}

/* The result is validated against its type by expr.c. */
const struct function function_to_blob = { "as_blob", NULL, NONE, TYPE_BLOB, call_to_blob };
const struct function function_from_blob = { "blob_as", NULL, NONE, TYPE_CUSTOM, call_to_blob };

/* The type between a prefix and a suffix of the name. */
static const struct type *type_within(const char *name, const char *prefix, const char *suffix)
{
    size_t size = strlen(name), before = strlen(prefix), after = strlen(suffix);
    if (size <= before + after || strncmp(name, prefix, before) != 0 ||
        strcmp(name + size - after, suffix) != 0)
        return NULL;
    const struct type *type = type_by_name(bytes_of(name + before, size - before - after));
    return type && type->kind != TYPE_BLOB ? type : NULL;
}

const struct type *function_blob_type(const char *name, bool *is_to_blob)
{
    const struct type *type = type_within(name, "", "_as_blob");
    if (!type)
        type = type_within(name, "", "asblob");
    *is_to_blob = type != NULL;
    if (!type)
        type = type_within(name, "blob_as_", "");
    return type ? type : type_within(name, "blobas", "");
}
