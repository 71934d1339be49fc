/* table.c - rows in columns, for people.
 *
 * Cells are held as they will be printed.  A width counts characters, not bytes; a cell that is
 * wider than its column (in the rows that come after the held ones) just pushes its line.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/table.h"

#include <stdarg.h>

void table_init(struct table *t, FILE *out) { *t = (struct table){ .out = out }; }

static size_t columns_count(const struct table *t)
{
    return t->columns.size / sizeof(struct table_column);
}

static struct table_column *column_at(const struct table *t, size_t at)
{
    return (struct table_column *)(void *)t->columns.data + at;
}

/* Characters: bytes that do not continue one. */
static size_t width_of(struct bytes text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.size; i++)
        width += (text.data[i] & 0xC0) != 0x80;
    return width;
}

void table_heading(struct table *t, const char *name, bool is_right)
{
    ensure(!t->is_open && t->held_cells == 0);
    struct table_column column = { name, is_right, width_of(bytes_text(name)) };
    buf_put(&t->columns, &column, sizeof column);
}

static void blanks(FILE *out, size_t count)
{
    while (count--)
        fputc(' ', out);
}

static void cell_print(const struct table *t, size_t at, struct bytes text)
{
    const struct table_column *column = column_at(t, at);
    bool is_last = at + 1 == columns_count(t);
    size_t width = width_of(text);
    size_t room = width < column->width ? column->width - width : 0;
    fputs(at ? " | " : " ", t->out);
    if (column->is_right)
        blanks(t->out, room);
    fwrite(text.data, 1, text.size, t->out);
    if (!column->is_right && !is_last)
        blanks(t->out, room);
    if (is_last)
        fputc('\n', t->out);
}

static void head_print(struct table *t)
{
    for (size_t i = 0; i < columns_count(t); i++)
        cell_print(t, i, bytes_text(column_at(t, i)->name));
    for (size_t i = 0; i < columns_count(t); i++) {
        fputs(i ? "+" : "", t->out);
        for (size_t n = column_at(t, i)->width + 2; n; n--)
            fputc('-', t->out);
    }
    fputc('\n', t->out);
    t->is_open = true;
}

static void held_print(struct table *t)
{
    struct cursor c = cursor_of(buf_bytes(&t->held));
    head_print(t);
    for (size_t i = 0; i < t->held_cells; i++)
        cell_print(t, i % columns_count(t), cursor_sized(&c));
    buf_clear(&t->held);
    t->held_cells = 0;
}

static void shown_put(struct buf *out, struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '\n')
            buf_put_text(out, "\\n");
        else if (c == '\t')
            buf_put_text(out, "\\t");
        else if (c < 0x20 || c == 0x7F)
            buf_printf(out, "\\x%02x", c);
        else
            buf_put_u8(out, c);
    }
}

static void cell_hold(struct table *t, struct bytes shown)
{
    struct table_column *column = column_at(t, t->column);
    size_t width = width_of(shown);
    if (column->width < width)
        column->width = width;
    buf_put_sized(&t->held, shown);
    t->held_cells++;
}

void table_cell(struct table *t, struct bytes text)
{
    struct buf shown = { 0 };
    ensure(t->column < columns_count(t));
    shown_put(&shown, text);
    if (t->column == 0 && t->held_cells == TABLE_HELD * columns_count(t))
        held_print(t);
    if (t->is_open)
        cell_print(t, t->column, buf_bytes(&shown));
    else
        cell_hold(t, buf_bytes(&shown));
    t->column = (t->column + 1) % columns_count(t);
    buf_deinit(&shown);
}

void table_printf(struct table *t, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    table_cell(t, bytes_text(text));
}

void table_finish(struct table *t)
{
    ensure(t->column == 0);
    if (!t->is_open && columns_count(t) > 0)
        held_print(t);
    fflush(t->out);
    buf_deinit(&t->columns);
    buf_deinit(&t->held);
}
