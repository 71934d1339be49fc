/* fuzz_toc.c - the three texts of an SSTable: TOC.txt, Digest.crc32, the name of a file. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "sstable/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    struct arena arena = { 0 };
    struct buf out = buf_in(&arena);
    uint32_t digest, again;
    struct sstable_name name;
    enum sstable_component component;
    struct report report;
    unsigned set = sstable_toc_decode(in);
    sstable_toc_encode(set, &out);
    ensure(sstable_toc_decode(buf_bytes(&out)) == set);
    buf_clear(&out);
    if (sstable_digest_decode(in, &digest)) {
        sstable_digest_encode(digest, &out);
        ensure(sstable_digest_decode(buf_bytes(&out), &again) && again == digest);
    }
    const char *text = arena_text(&arena, in);
    if (sstable_name_parse(text, &name, &component, &report) == OK) {
        char file[SSTABLE_NAME_BYTES];
        sstable_name_print(&name, component, file);
        ensure(strcmp(file, text) == 0);
    }
    arena_deinit(&arena);
    return 0;
}
