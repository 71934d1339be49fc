/* birth.c - the one entry that begins a cluster, as a pure function of its members.
 *
 * How a birth is safe at a crash anywhere (seeds.c carries it out):
 *
 *   1. Before a node says anything, what it is (host id, addresses, data centre, rack, tokens) is
 *      durable, and from then on it says exactly that until the cluster is born, whatever its
 *      configuration has become.  So "the members" are fixed by their host ids.
 *   2. A node makes the entry when it has the statement of every seed of its list, and the last
 *      statement of each says that it knows the same set of host ids.  The entry is computed from
 *      those statements alone, so two nodes that make it, make the same bytes: it does not matter
 *      who does so first, nor whether one crashes between its own birth and the others'.
 *   3. A born node says the entry with every statement.  A seed that is a member of it takes it
 * over instead of making its own; one that is not (its folder was emptied after others had met it,
 *      or it belongs elsewhere) stops: joining is not there yet.
 *   4. If a folder is emptied during a birth, the node comes back with another host id: the sets no
 *      longer agree, so nobody makes an entry until all have heard of the new one.  A node that
 * made its entry before cannot have told the new one that it knows it, so the new one, and everyone
 *      who counts on it, cannot complete a second, different set.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/birth.h"

#include "cluster/metadata.h"
#include "cluster/pack.h"

static int member_compare(const struct member *a, const struct member *b)
{
    const struct io_addr *x = &a->internode, *y = &b->internode;
    int order = (int)x->family - (int)y->family;
    if (order == 0)
        order = memcmp(x->ip, y->ip, sizeof x->ip);
    if (order == 0)
        order = (int)x->port - (int)y->port;
    return order ? order : memcmp(&a->host_id, &b->host_id, sizeof a->host_id);
}

/* By insertion: there are at most NODES_MAX. */
static void members_sort(struct member *m, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct member held = m[i];
        size_t at = i;
        for (; at > 0 && member_compare(&m[at - 1], &held) > 0; at--)
            m[at] = m[at - 1];
        m[at] = held;
    }
}

struct uuid birth_digest(const struct uuid *host_ids, unsigned *count)
{
    struct uuid sorted[NODES_MAX];
    unsigned n = 0;
    ensure(*count <= NODES_MAX);
    for (unsigned i = 0; i < *count; i++) {
        unsigned at = n;
        while (at > 0 && memcmp(&sorted[at - 1], &host_ids[i], sizeof sorted[0]) > 0)
            at--;
        if (at > 0 && uuid_equal(&sorted[at - 1], &host_ids[i]))
            continue;
        memmove(&sorted[at + 1], &sorted[at], (n - at) * sizeof sorted[0]);
        sorted[at] = host_ids[i];
        n++;
    }
    *count = n;
    return uuid_named(bytes_of(sorted, n * sizeof sorted[0]));
}

void birth_entry_make(const char *cluster_name, const struct member *members, size_t count,
                      struct birth_entry *out)
{
    struct buf named = { 0 };
    struct uuid ids[NODES_MAX];
    ensure(count > 0 && count <= NODES_MAX);
    memset(out, 0, sizeof *out);
    snprintf(out->cluster_name, sizeof out->cluster_name, "%s", cluster_name);
    out->count = count;
    memcpy(out->members, members, count * sizeof *members);
    members_sort(out->members, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = members[i].host_id;
    unsigned distinct = (unsigned)count;
    struct uuid digest = birth_digest(ids, &distinct);
    ensure(distinct == count);
    pack_uuid(&named, &digest);
    pack_text(&named, cluster_name);
    out->cluster_id = uuid_named(buf_bytes(&named));
    buf_deinit(&named);
}

void birth_entry_encode(const struct birth_entry *e, struct buf *value)
{
    struct buf payload = { 0 };
    pack_array(&payload, 3);
    pack_uuid(&payload, &e->cluster_id);
    pack_text(&payload, e->cluster_name);
    pack_array(&payload, e->count);
    for (size_t i = 0; i < e->count; i++)
        member_encode(&e->members[i], &payload);
    struct entry entry = { .kind = ENTRY_BIRTH, .payload = buf_bytes(&payload) };
    entry_encode(&entry, value);
    buf_deinit(&payload);
}

enum err birth_entry_decode(struct bytes value, struct birth_entry *out)
{
    struct entry entry;
    enum err err = entry_decode(value, &entry);
    if (err != OK)
        return err;
    memset(out, 0, sizeof *out);
    struct cursor c = cursor_of(entry.payload);
    unpack_array(&c, 3);
    unpack_uuid(&c, &out->cluster_id);
    unpack_text(&c, out->cluster_name, sizeof out->cluster_name);
    out->count = unpack_count(&c, NODES_MAX);
    for (size_t i = 0; i < out->count; i++)
        member_decode(&c, &out->members[i]);
    bool is_good = !c.bad && entry.kind == ENTRY_BIRTH && out->count > 0;
    return is_good ? OK : ERR_CORRUPT;
}

unsigned birth_entry_number(const struct birth_entry *e, const struct uuid *host_id)
{
    for (size_t i = 0; i < e->count; i++)
        if (uuid_equal(&e->members[i].host_id, host_id))
            return (unsigned)i + 1;
    return 0;
}

void statement_encode(const struct statement *s, struct buf *out)
{
    pack_array(out, 6);
    member_encode(&s->self, out);
    pack_u64(out, s->known_count);
    pack_bool(out, s->is_complete);
    pack_uuid(out, &s->known);
    pack_text(out, s->seeds);
    pack_bytes(out, s->value);
}

enum err statement_decode(struct bytes in, struct statement *out)
{
    struct cursor c = cursor_of(in);
    memset(out, 0, sizeof *out);
    unpack_array(&c, 6);
    member_decode(&c, &out->self);
    out->known_count = (unsigned)unpack_u64_max(&c, NODES_MAX);
    out->is_complete = unpack_bool(&c);
    unpack_uuid(&c, &out->known);
    unpack_text(&c, out->seeds, sizeof out->seeds);
    out->value = unpack_bytes(&c);
    return c.bad ? ERR_CORRUPT : OK;
}
