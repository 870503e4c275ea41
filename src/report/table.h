#pragma once
/*
 * Table: rows of cells in aligned columns. Columns are as wide as their widest cell so far, so that
 * a table that is printed again and again (--watch) stays aligned and repeats its header only when
 * it had to widen.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum table_align {
    TABLE_LEFT,
    TABLE_RIGHT,
};

struct table_column {
    char title[24];
    enum table_align align;
    size_t width;
};

struct table {
    struct table_column *columns;
    size_t n_columns, columns_cap;
    char **cells; /* row by row, waiting to be printed */
    size_t n_cells, cells_cap;
    bool header_due;
};

#define TABLE_NULL ((struct table){.header_due = true})

void table_deinit(struct table *table);

/* Return: 0 or -ENOMEM. All columns come before the first cell. */
int table_add_column(struct table *table, enum table_align align, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int table_add_cell(struct table *table, const char *text);

/* Prints the waiting rows, below the header where that is due, and forgets them. */
void table_print(struct table *table, FILE *file);
