/* replay.c - runs a target over files, once each: for compilers without libFuzzer.
 *
 *     fuzz_summary tests/fuzz/corpus/summary
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"

#include <dirent.h>

static int replay(const char *path)
{
    enum { FILE_BYTES_MAX = 1 << 20 };
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    uint8_t *all = mem_alloc(FILE_BYTES_MAX);
    size_t size = fread(all, 1, FILE_BYTES_MAX, f);
    fclose(f);
    uint8_t *exact = mem_alloc(size);
    memcpy(exact, all, size);
    LLVMFuzzerTestOneInput(exact, size);
    mem_free(exact);
    mem_free(all);
    return 1;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        for (struct dirent *e; folder && (e = readdir(folder));) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            if (e->d_name[0] != '.')
                count += replay(path);
        }
        if (folder)
            closedir(folder);
    }
    printf("%d files\n", count);
    return count == 0;
}
