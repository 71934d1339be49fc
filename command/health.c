/* health.c - `rondo health`: does the node serve clients?  For scripts and health checks: the
 * answer is the exit code, the words are for people.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/http.h"
#include "command/nodes.h"

enum { ASK_MS = 2000 };

int health_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct http_answer answer = { 0 };
    size_t size = strcspn(o->hosts, ",");
    const char *host = arena_text(&arena, bytes_of(o->hosts, size));
    int code = EXIT_FAILED;
    enum err err =
        http_get(&arena, host, (uint16_t)o->admin_port, "/health/ready", ASK_MS, &answer);
    if (err != OK || answer.status != 200) {
        nodes_tell_silence(o, err, &answer);
    } else {
        printf("%s:%u serves clients\n", host, (unsigned)o->admin_port);
        code = EXIT_DONE;
    }
    arena_deinit(&arena);
    return code;
}
