/* name.c - names of files, TOC.txt, Digest.crc32.
 *
 *     nb - 17 - big - Data.db                  version, id, format, component
 *     oa - 3gl6_0xhs_1n5s12q9wf2s7hqwim - big - Data.db
 *
 * An id is a number of 1 to 10 digits, or 28 characters of base 36 in three parts, which Cassandra
 * makes of a time uuid when it is told to.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/name.h"

#include <inttypes.h>

static const char *const files[COMPONENT_COUNT] = {
#define X(component, file) file,
    SSTABLE_COMPONENT_LIST(X)
#undef X
};
static const char *const versions[] = { [SSTABLE_NB] = "nb", [SSTABLE_OA] = "oa" };
enum { DIGITS_MAX = 10, PARTS = 4 };

const char *sstable_component_name(enum sstable_component component)
{
    ensure(component < COMPONENT_COUNT);
    return files[component];
}

struct sstable_name sstable_name_of(enum sstable_version version, uint64_t generation)
{
    ensure(version == SSTABLE_NB || version == SSTABLE_OA);
    ensure(generation <= 9999999999);
    struct sstable_name name = { .version = version, .generation = generation };
    snprintf(name.id, sizeof name.id, "%" PRIu64, generation);
    return name;
}

static bool is_all(struct bytes text, const char *from)
{
    for (size_t i = 0; i < text.size; i++)
        if (!text.data[i] || !strchr(from, text.data[i]))
            return false;
    return text.size > 0;
}

static bool is_uuid_id(struct bytes id)
{
    if (id.size != SSTABLE_ID_BYTES - 1 || id.data[4] != '_' || id.data[9] != '_')
        return false;
    static const char base36[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    return is_all(bytes_of(id.data, 4), base36) && is_all(bytes_of(id.data + 5, 4), base36) &&
           is_all(bytes_of(id.data + 10, 18), base36);
}

static bool take_id(struct bytes id, struct sstable_name *out)
{
    out->generation = UINT64_MAX;
    bool is_number = id.size <= DIGITS_MAX && is_all(id, "0123456789");
    if (!is_number && !is_uuid_id(id))
        return false;
    if (is_number)
        out->generation = 0;
    for (size_t i = 0; is_number && i < id.size; i++)
        out->generation = out->generation * 10 + (uint64_t)(id.data[i] - '0');
    memset(out->id, 0, sizeof out->id);
    memcpy(out->id, id.data, id.size);
    return true;
}

/* The text's index among `count` ones, or `count`. */
static size_t index_of(const char *const *texts, size_t count, struct bytes text)
{
    size_t i = 0;
    while (i < count && !(texts[i] && bytes_equal(bytes_text(texts[i]), text)))
        i++;
    return i;
}

static enum err newer(struct report *report, const char *file, const char *what, struct bytes text)
{
    return report_set(report, ERR_NEWER, "%.100s: the %s '%.*s' of an SSTable is not known here",
                      file, what, (int)u64_min(text.size, 40), text.data);
}

enum err sstable_name_parse(const char *file, struct sstable_name *out,
                            enum sstable_component *component, struct report *report)
{
    struct bytes parts[PARTS] = { { 0 } };
    const char *at = file;
    for (size_t i = 0; i < PARTS; i++) {
        const char *end = i + 1 < PARTS ? strchr(at, '-') : at + strlen(at);
        parts[i] = bytes_of(at, end ? (size_t)(end - at) : 0);
        at = end ? end + 1 : "";
    }
    *out = (struct sstable_name){ 0 };
    if (!is_all(parts[0], "abcdefghijklmnopqrstuvwxyz") || !take_id(parts[1], out) ||
        !is_all(parts[2], "abcdefghijklmnopqrstuvwxyz") || !parts[3].size)
        return report_set(report, ERR_INVALID, "%.100s: no file of an SSTable", file);
    size_t version = index_of(versions, array_count(versions), parts[0]);
    if (version == array_count(versions))
        return newer(report, file, "version", parts[0]);
    out->version = (enum sstable_version)version;
    if (!bytes_equal(parts[2], bytes_text("big")))
        return newer(report, file, "format", parts[2]);
    *component = (enum sstable_component)index_of(files, COMPONENT_COUNT, parts[3]);
    if (*component == COMPONENT_COUNT)
        return newer(report, file, "component", parts[3]);
    return OK;
}

void sstable_name_print(const struct sstable_name *name, enum sstable_component component,
                        char out[SSTABLE_NAME_BYTES])
{
    ensure(name->version == SSTABLE_NB || name->version == SSTABLE_OA);
    int size = snprintf(out, SSTABLE_NAME_BYTES, "%s-%s-big-%s", versions[name->version], name->id,
                        sstable_component_name(component));
    ensure(size > 0 && size < SSTABLE_NAME_BYTES);
}

unsigned sstable_toc_decode(struct bytes text)
{
    unsigned components = 0;
    for (size_t at = 0; at < text.size;) {
        const uint8_t *line = text.data + at, *end = memchr(line, '\n', text.size - at);
        size_t size = end ? (size_t)(end - line) : text.size - at;
        at += size + 1;
        if (size && line[size - 1] == '\r')
            size--;
        components |= 1U << index_of(files, COMPONENT_COUNT, bytes_of(line, size));
    }
    return components & ((1U << COMPONENT_COUNT) - 1);
}

void sstable_toc_encode(unsigned components, struct buf *out)
{
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        if (components >> i & 1)
            buf_printf(out, "%s\n", files[i]);
}

bool sstable_digest_decode(struct bytes text, uint32_t *out)
{
    uint64_t digest = 0;
    size_t i = 0;
    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9' && i < DIGITS_MAX; i++)
        digest = digest * 10 + (uint64_t)(text.data[i] - '0');
    bool is_line = i > 0 && (i == text.size || text.data[i] == '\n' || text.data[i] == '\r');
    if (!is_line || digest > UINT32_MAX)
        return false;
    *out = (uint32_t)digest;
    return true;
}

void sstable_digest_encode(uint32_t digest, struct buf *out)
{
    buf_printf(out, "%" PRIu32, digest);
}
