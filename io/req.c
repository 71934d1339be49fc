/* req.c - how every request begins and ends, in both worlds and in the leaves built on top.
 *
 * begin holds the op, end drops and thereby wakes it; between the two the request is busy, and
 * neither it nor the memory it was given may move.  The result is stored before the op can look.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/io.h"

void io_req_begin(struct io_req *req, struct op *op)
{
    ensure(op && !req->busy);
    *req = (struct io_req){ .op = op, .busy = true };
    list_init(&req->link);
    op_hold(op);
}

void io_req_end(struct io_req *req, enum err err)
{
    ensure(req->busy);
    ensure(list_empty(&req->link));
    req->busy = false;
    req->err = err;
    req->impl = NULL;
    op_drop(req->op);
}
