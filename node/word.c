/* word.c - the sentences of errors that came as numbers: who is down, how many were needed, where;
 * and a warning of keyspaces that want more replicas than there are nodes.
 *
 * A report that has its sentence already keeps it.  Levels that are of a data centre name it, since
 * "3 alive" would be true of another one.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/session.h"

/* "in data center dc2: ", where the level counts the replicas of one. */
static void word_place(const struct shard *s, const struct failure *f, char *out, size_t room)
{
    const struct ring *ring = cluster_ring(s->cluster);
    enum level level = (enum level)f->consistency;
    unsigned node = f->outcome.missing;
    out[0] = 0;
    if (level_is_local(level))
        node = cluster_self(s->cluster);
    else if (level != LEVEL_EACH_QUORUM)
        node = 0;
    if (node)
        snprintf(out, room, " in data center %s", ring->nodes[node - 1].data_center);
}

static void word_unavailable(const struct shard *s, struct failure *f)
{
    const struct coordinator_outcome *o = &f->outcome;
    const struct ring *ring = cluster_ring(s->cluster);
    char missing[IO_ADDR_TEXT_BYTES] = "", place[96];
    word_place(s, f, place, sizeof place);
    if (o->missing)
        io_addr_print(&ring->nodes[o->missing - 1].internode, missing);
    const char *none = level_is_local((enum level)f->consistency)
                           ? "none: the keyspace has too few replicas there"
                           : "none: the ring has too few nodes";
    snprintf(f->report.text, sizeof f->report.text,
             "Cannot achieve consistency level %s%s: %u replicas required, %u alive; down: %s",
             consistency_name(f->consistency), place, o->required, o->alive,
             missing[0] ? missing : none);
}

/* A level that this kind of statement cannot have. */
static void word_level(struct failure *f)
{
    const char *cl = consistency_name(f->consistency);
    bool is_serial = f->consistency == CL_SERIAL || f->consistency == CL_LOCAL_SERIAL;
    if (is_serial)
        snprintf(f->report.text, sizeof f->report.text,
                 "%s is the consistency level of transactions (IF ...), which are not there yet",
                 cl);
    else
        snprintf(f->report.text, sizeof f->report.text,
                 "%s ConsistencyLevel is only supported for writes", cl);
}

void failure_word(const struct shard *s, struct failure *f)
{
    const struct coordinator_outcome *o = &f->outcome;
    const char *cl = consistency_name(f->consistency);
    enum err err = f->report.err;
    if (err == ERR_UNAVAILABLE && o->required) {
        word_unavailable(s, f);
    } else if (err == ERR_WRITE_TIMEOUT || err == ERR_READ_TIMEOUT) {
        snprintf(f->report.text, sizeof f->report.text,
                 "Operation timed out - received only %u responses of %u required at %s",
                 o->received, o->required, cl);
    } else if (err == ERR_WRITE_FAILURE || err == ERR_READ_FAILURE) {
        snprintf(f->report.text, sizeof f->report.text,
                 "Operation failed - received %u responses of %u required at %s, %u failures",
                 o->received, o->required, cl, o->failed);
    } else if (err == ERR_INVALID) {
        word_level(f);
    } else {
        const char *why = err == ERR_OVERLOADED && s->store ? store_refusal(s->store) : NULL;
        snprintf(f->report.text, sizeof f->report.text, "%s", why ? why : err_text(err));
    }
}

/* ---- more replicas than nodes ---- */

static void factor_word(struct buf *text, const struct keyspace *k, const char *data_center,
                        unsigned factor, unsigned nodes)
{
    if (factor <= nodes)
        return;
    buf_printf(text,
               "%sYour replication factor %u for keyspace %s is higher than the number of nodes %u",
               text->size ? "; " : "", factor, k->name, nodes);
    if (data_center)
        buf_printf(text, " for datacenter %s", data_center);
}

struct bytes factor_warning(const struct shard *s, const struct keyspace *k, struct arena *arena)
{
    const struct ring *ring = cluster_ring(s->cluster);
    struct buf text = buf_in(arena);
    if (k->replication == REPLICATION_SIMPLE)
        factor_word(&text, k, NULL, k->factor, (unsigned)ring->nodes_count);
    for (size_t d = 0; k->replication == REPLICATION_TOPOLOGY && d < k->datacenters_count; d++) {
        const struct datacenter_factor *dc = &k->datacenters[d];
        unsigned nodes = 0;
        for (size_t i = 0; i < ring->nodes_count; i++)
            nodes += strcmp(ring->nodes[i].data_center, dc->name) == 0;
        factor_word(&text, k, dc->name, dc->factor, nodes);
    }
    return buf_bytes(&text);
}
