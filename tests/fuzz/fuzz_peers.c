/* fuzz_peers.c - what other nodes say on their connections and in their metadata logs: frames,
 * greetings, pings, statements of seeds, members, proposals and answers of Paxos, entries, records.
 *
 * No random bytes have the right checksums, so that a frame gets those of what stands there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "cluster/birth.h"
#include "cluster/frame.h"
#include "cluster/metadata.h"
#include "fuzz.h"

enum choice {
    CHOICE_FRAME,
    CHOICE_HELLO,
    CHOICE_PING,
    CHOICE_STATEMENT,
    CHOICE_BIRTH,
    CHOICE_ENTRY,
    CHOICE_PROPOSAL,
    CHOICE_PAXOS,
    CHOICE_RECORD,
    CHOICES
};

static void frame_try(struct bytes rest)
{
    struct frame f;
    size_t used;
    struct arena arena = { 0 };
    struct bytes body;
    uint8_t *all = mem_alloc(FRAME_PREFIX_BYTES + rest.size);
    put_be32(all, (uint32_t)rest.size);
    put_be32(all + 4, crc32c_of(0, rest));
    put_be32(all + 8, crc32c_of(0, bytes_of(all, 8)));
    if (rest.size)
        memcpy(all + FRAME_PREFIX_BYTES, rest.data, rest.size);
    struct bytes whole = bytes_of(all, FRAME_PREFIX_BYTES + rest.size);
    enum err err = frame_decode(whole, FRAME_BYTES_MAX, &f, &used);
    ensure(err == OK || err == ERR_CORRUPT);
    if (err == OK) {
        ensure(used == whole.size && f.err < ERR_COUNT);
        if (frame_body(&f, &arena, &body) == OK)
            ensure(body.size == (f.unpacked_size ? f.unpacked_size : f.body.size));
    }
    arena_deinit(&arena);
    mem_free(all);
}

static void hello_try(struct bytes in)
{
    struct hello hello, again;
    struct buf out = { 0 };
    if (hello_decode(in, &hello) == OK) {
        hello_encode(&hello, &out);
        enum err err = hello_decode(buf_bytes(&out), &again);
        ensure(err == OK && memcmp(&hello.host_id, &again.host_id, sizeof again.host_id) == 0);
        ensure(strcmp(hello.cluster_name, again.cluster_name) == 0);
        ensure(refusal_text(hello.refusal) && lane_name(hello.lane));
    }
    buf_deinit(&out);
}

static void ping_try(struct bytes in)
{
    struct ping ping, again;
    struct buf out = { 0 };
    if (ping_decode(in, &ping) == OK) {
        ping_encode(&ping, &out);
        enum err err = ping_decode(buf_bytes(&out), &again);
        ensure(err == OK && ping.epoch == again.epoch && ping.is_ready == again.is_ready);
    }
    buf_deinit(&out);
}

static void birth_try(struct bytes in)
{
    static struct birth_entry entry, again;
    struct buf out = { 0 };
    if (birth_entry_decode(in, &entry) == OK) {
        ensure(entry.count <= NODES_MAX);
        birth_entry_encode(&entry, &out);
        enum err err = birth_entry_decode(buf_bytes(&out), &again);
        ensure(err == OK && again.count == entry.count);
    }
    buf_deinit(&out);
}

static void record_try(struct bytes in)
{
    static const struct member self = { .tokens_count = 1 };
    struct metadata *m = metadata_new();
    struct buf out = { 0 };
    record_self(&out, "ring", &self);
    enum err err = metadata_replay(m, buf_bytes(&out));
    ensure(err == OK);
    while (in.size && err == OK) {
        size_t size = (size_t)u64_min(1 + in.data[0], in.size);
        err = metadata_replay(m, bytes_of(in.data + 1, size - 1));
        in = bytes_of(in.data + size, in.size - size);
    }
    ensure(m->addresses_count <= NODES_MAX);
    buf_deinit(&out);
    metadata_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = bytes_of(data, size);
    struct statement statement;
    struct entry entry;
    struct proposal proposal;
    struct paxos_answer answer;
    switch ((enum choice)fuzz_choice(&in, CHOICES)) {
    case CHOICE_FRAME:
        frame_try(in);
        break;
    case CHOICE_HELLO:
        hello_try(in);
        break;
    case CHOICE_PING:
        ping_try(in);
        break;
    case CHOICE_STATEMENT:
        if (statement_decode(in, &statement) == OK)
            ensure(strlen(statement.seeds) < sizeof statement.seeds);
        break;
    case CHOICE_BIRTH:
        birth_try(in);
        break;
    case CHOICE_ENTRY:
        if (entry_decode(in, &entry) == OK)
            ensure(entry.payload.size <= in.size);
        break;
    case CHOICE_PROPOSAL:
        if (proposal_decode(in, &proposal) == OK)
            ensure(proposal.value.size <= in.size);
        break;
    case CHOICE_PAXOS:
        if (paxos_answer_decode(in, &answer) == OK)
            ensure(answer.value.size <= in.size);
        break;
    case CHOICE_RECORD:
        record_try(in);
        break;
    case CHOICES:
        break;
    }
    return 0;
}
