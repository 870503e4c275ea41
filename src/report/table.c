/*
 * Table
 */
#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"
#include "util/array.h"

static void clear_cells(struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    table->n_cells = 0;
}

void table_deinit(struct table *table)
{
    clear_cells(table);
    free(table->cells);
    free(table->columns);
    *table = TABLE_NULL;
}

int table_add_column(struct table *table, enum table_align align, const char *format, ...)
{
    struct table_column *column;
    va_list arguments;

    if (ARRAY_RESERVE(table->columns, table->columns_cap, table->n_columns + 1) < 0)
        return -ENOMEM;
    column = &table->columns[table->n_columns++];
    column->align = align;
    va_start(arguments, format);
    vsnprintf(column->title, sizeof column->title, format, arguments);
    va_end(arguments);
    column->width = text_width(column->title);
    return 0;
}

int table_add_cell(struct table *table, const char *text)
{
    struct table_column *column = &table->columns[table->n_cells % table->n_columns];
    size_t width = text_width(text);
    char *cell = NULL;

    if (ARRAY_RESERVE(table->cells, table->cells_cap, table->n_cells + 1) < 0)
        return -ENOMEM;
    cell = strdup(text);
    if (!cell)
        return -ENOMEM;
    table->cells[table->n_cells++] = cell;
    if (width > column->width) {
        column->width = width;
        table->header_due = true;
    }
    return 0;
}

/* The last column is not padded: no line ends in blanks. */
static void print_cell(const struct table *table, FILE *file, size_t n, const char *text)
{
    const struct table_column *column = &table->columns[n];
    bool last = n + 1 == table->n_columns;
    int padding = (int)(column->width - text_width(text));

    if (column->align == TABLE_RIGHT)
        fprintf(file, "%*s%s", padding, "", text);
    else
        fprintf(file, "%s%*s", text, last ? 0 : padding, "");
    fputs(last ? "\n" : "  ", file);
}

void table_print(struct table *table, FILE *file)
{
    for (size_t i = 0; table->header_due && i < table->n_columns; i++)
        print_cell(table, file, i, table->columns[i].title);
    table->header_due = false;
    for (size_t i = 0; i < table->n_cells; i++)
        print_cell(table, file, i % table->n_columns, table->cells[i]);
    clear_cells(table);
}
