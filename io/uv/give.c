/* give.c - sockets that move to another shard.
 *
 * A handle belongs to one loop, so the giver duplicates the descriptor and closes its handle, and
 * the taker opens a handle of its own on the duplicate.  Tickets are descriptors; the world keeps
 * the list of those that are under way, behind the only mutex above the lanes, so that none is lost
 * when the world ends.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

void tickets_open(struct uv_world *world)
{
    list_init(&world->tickets);
    ensure(uv_mutex_init(&world->tickets_mutex) == 0);
}

static void tickets_put(struct uv_world *world, int fd)
{
    struct ticket *ticket = mem_alloc(sizeof *ticket);
    ticket->fd = fd;
    uv_mutex_lock(&world->tickets_mutex);
    list_add(&world->tickets, &ticket->link);
    uv_mutex_unlock(&world->tickets_mutex);
}

static bool tickets_remove(struct uv_world *world, int fd)
{
    struct ticket *found = NULL;
    uv_mutex_lock(&world->tickets_mutex);
    list_each(l, &world->tickets)
    {
        struct ticket *ticket = owner_of(l, struct ticket, link);
        if (ticket->fd == fd)
            found = ticket;
    }
    if (found)
        list_remove(&found->link);
    uv_mutex_unlock(&world->tickets_mutex);
    mem_free(found);
    return found != NULL;
}

void tickets_close(struct uv_world *world)
{
    while (!list_empty(&world->tickets)) {
        struct ticket *ticket = owner_of(world->tickets.next, struct ticket, link);
        list_remove(&ticket->link);
        close(ticket->fd);
        mem_free(ticket);
    }
    uv_mutex_destroy(&world->tickets_mutex);
}

uint64_t io_give(struct io *io, struct io_socket **taken)
{
    struct io_socket *s = *taken;
    uv_os_fd_t fd = -1;
    ensure(s->io == io && !s->recv && !s->send && !s->connecting);
    *taken = NULL;
    ensure(uv_fileno(&s->u.handle, &fd) == 0);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    socket_discard(s);
    if (copy < 0)
        return IO_NO_TICKET;
    tickets_put(io->world, copy);
    return (uint64_t)copy;
}

static uint8_t family_of(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t size = sizeof at;
    ensure(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    return at.ss_family == AF_UNIX ? 1 : at.ss_family == AF_INET ? 4 : 6;
}

struct io_socket *io_take(struct io *io, uint64_t ticket)
{
    if (ticket == IO_NO_TICKET)
        return NULL;
    int fd = (int)ticket;
    ensure(tickets_remove(io->world, fd));
    struct io_socket *s = socket_new(io, family_of(fd));
    socket_open(s, fd);
    return s;
}
