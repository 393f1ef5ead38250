/* Sums of oblivious trees over rows: one row with its cache misses overlapped, many rows in blocks.
 *
 * A tree of depth k is k splits and 2^k leaves of `dimension` numbers. A split is a column and a rank in it: true
 * where the row's value is above the column's border of that rank. A leaf is an int32 times the scale of its tree and
 * dimension. Each sum is made in the order of the trees and in double, whatever the number of rows and the processor:
 * the same row has the same bits alone and among others (compile without contraction to fused multiply-add).
 *
 * No Python in here: it is called through ctypes, which releases the interpreter lock. All that is read was checked
 * where the tables were made.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 2      /* of everything that the caller has to know; as in kernel.py */
#define RANKS 256      /* splits a column; their number is column * RANKS + rank */
#define CHUNK 1024     /* rows that pass all trees together, so that leaves come from memory once for all of them */
#define BLOCK 64       /* rows of which a tree's leaves are found by one vector comparison a split */
#define TILE 8         /* trees whose leaves are added to a block before its sums are written */
#define STREAM 1024    /* bytes by which what is read in order is asked for ahead */
#define LINE 64

#define INLINE static inline __attribute__((always_inline))

typedef uint8_t bytes __attribute__((vector_size(16)));
typedef int32_t pair_of_ints __attribute__((vector_size(8), aligned(4)));
typedef double pair __attribute__((vector_size(16), aligned(8)));

typedef struct {
    int64_t trees;
    int64_t dimension;
    int64_t sums;           /* numbers a row of all pieces before this one */
    const uint8_t *depths;  /* [trees] */
    const uint16_t *splits; /* of all trees, one after the other */
    const float *scales;    /* [trees, dimension] */
    const int32_t *leaves;  /* of all trees, [2^depth, dimension] each */
} piece;

typedef struct {
    int64_t columns;
    const int32_t *features; /* [columns] */
    const uint8_t *above;    /* [columns] 1 where a missing value is above all borders, 0 below */
    const uint8_t *steps;    /* [columns] the column has 2^steps - 1 borders */
    const float *borders;    /* [columns, RANKS] ascending, infinity behind the last */
    int64_t pieces;
    const piece *piece;
} ensemble;

/* Where the walk over a piece's trees has come to. */
typedef struct {
    const uint8_t *depths;
    const uint16_t *splits;
    const float *scales;
    const int32_t *leaves;
} place;

INLINE float value(const ensemble *all, int64_t column, const float *row)
{
    const float given = row[all->features[column]];
    return given != given && all->above[column] ? __builtin_inff() : given;
}

INLINE void fetch(const int32_t *leaf, int64_t dimension)
{
    __builtin_prefetch(leaf, 0, 3);
    if (dimension > 2)
        __builtin_prefetch(leaf + dimension - 1, 0, 3);
}

#include "one_row.h"

/* ---- many rows ---- */

/* Number of borders below each value of a block of one column, by bisection. */
INLINE void bins_of(const ensemble *all, int64_t column, const float *rows, int64_t count, int64_t width, uint8_t *bins)
{
    const float *borders = all->borders + column * RANKS;
    float given[BLOCK];
    uint32_t below[BLOCK];
    for (int64_t row = 0; row < BLOCK; row++) {
        given[row] = value(all, column, rows + (row < count ? row : 0) * width);
        below[row] = 0;
    }
    for (uint32_t step = (1u << all->steps[column]) >> 1; step; step >>= 1)
        for (int64_t row = 0; row < BLOCK; row++)
            below[row] += given[row] > borders[below[row] + step - 1] ? step : 0;
    for (int64_t row = 0; row < BLOCK; row++)
        bins[row] = (uint8_t)below[row];
}

/* Leaves of the rows of a block in the trees of a tile. */
typedef struct {
    uint8_t low[TILE][BLOCK];  /* the first eight levels */
    uint8_t high[TILE][BLOCK]; /* the others, where there are */
    const int32_t *leaves[TILE];
} tile;

INLINE void levels_of(const uint8_t *bins, const uint16_t *splits, int levels, uint8_t *leaf)
{
    bytes found[BLOCK / 16];
    memset(found, 0, sizeof found);
    for (int level = 0; level < levels; level++) {
        const bytes *bin = (const bytes *)(bins + (int64_t)(splits[level] / RANKS) * CHUNK);
        const uint8_t rank = (uint8_t)(splits[level] % RANKS), bit = (uint8_t)(1u << level);
        for (int part = 0; part < BLOCK / 16; part++)
            found[part] |= (bytes)(bin[part] > rank) & bit;
    }
    memcpy(leaf, found, sizeof found);
}

INLINE int64_t leaf_in(const tile *found, int64_t tree, int64_t row, int deep)
{
    const int64_t low = found->low[tree][row];
    return deep ? low | (int64_t)found->high[tree][row] << 8 : low;
}

INLINE void find_block(const uint8_t *bins, const place *start, int64_t trees, int64_t dimension, int deep,
                       int64_t fetched, tile *found)
{
    const uint16_t *splits = start->splits;
    const int32_t *leaves = start->leaves;
    for (int64_t tree = 0; tree < trees; tree++) {
        const int depth = start->depths[tree];
        found->leaves[tree] = leaves;
        switch (depth) {
        case 8: levels_of(bins, splits, 8, found->low[tree]); break;
        case 6: levels_of(bins, splits, 6, found->low[tree]); break;
        default: levels_of(bins, splits, depth < 8 ? depth : 8, found->low[tree]);
        }
        if (deep)
            levels_of(bins, splits + 8, depth < 8 ? 0 : depth - 8, found->high[tree]);
        for (int64_t row = 0; row < fetched; row++)
            fetch(leaves + leaf_in(found, tree, row, deep) * dimension, dimension);
        splits += depth;
        leaves += dimension << depth;
    }
}

INLINE void add_pairs(const tile *found, const float *scales, int64_t trees, int64_t rows, int deep, double *sums)
{
    pair scale[TILE];
    for (int64_t tree = 0; tree < trees; tree++)
        scale[tree] = (pair){scales[2 * tree], scales[2 * tree + 1]};
    for (int64_t row = 0; row < rows; row++) {
        pair sum = *(pair *)(sums + 2 * row);
        for (int64_t tree = 0; tree < trees; tree++) {
            const int32_t *leaf = found->leaves[tree] + 2 * leaf_in(found, tree, row, deep);
            sum += __builtin_convertvector(*(const pair_of_ints *)leaf, pair) * scale[tree];
        }
        *(pair *)(sums + 2 * row) = sum;
    }
}

INLINE void add_any(const tile *found, const float *scales, int64_t trees, int64_t rows, int64_t dimension, int deep,
                    double *sums)
{
    for (int64_t tree = 0; tree < trees; tree++)
        for (int64_t row = 0; row < rows; row++) {
            const int32_t *leaf = found->leaves[tree] + dimension * leaf_in(found, tree, row, deep);
            for (int64_t k = 0; k < dimension; k++)
                sums[dimension * row + k] += (double)leaf[k] * (double)scales[tree * dimension + k];
        }
}

INLINE void add_block(const tile *found, const float *scales, int64_t trees, int64_t rows, int64_t dimension, int deep,
                      double *sums)
{
    if (dimension != 2)
        add_any(found, scales, trees, rows, dimension, deep, sums);
    else if (trees == TILE)
        add_pairs(found, scales, TILE, rows, deep, sums);
    else
        add_pairs(found, scales, trees, rows, deep, sums);
}

INLINE void pass(place *at, int64_t trees, int64_t dimension)
{
    for (int64_t tree = 0; tree < trees; tree++) {
        at->splits += at->depths[tree];
        at->leaves += dimension << at->depths[tree];
    }
    at->depths += trees;
    at->scales += trees * dimension;
}

INLINE void piece_of_chunk(const piece *one, const uint8_t *bins, int64_t count, int64_t dimension, int deep,
                           double *sums)
{
    tile found[2];
    place at = {one->depths, one->splits, one->scales, one->leaves};
    const int64_t head = count < BLOCK ? count : BLOCK;
    int64_t ready = one->trees < TILE ? one->trees : TILE;
    find_block(bins, &at, ready, dimension, deep, head, &found[0]);
    for (int64_t done = 0, turn = 0; done < one->trees; turn = !turn) {
        const place here = at;
        const int64_t left = one->trees - done - ready;
        const int64_t next = left < TILE ? left : TILE;
        pass(&at, ready, dimension);
        find_block(bins, &at, next, dimension, deep, head, &found[!turn]); /* these come while the others are added */
        add_block(&found[turn], here.scales, ready, head, dimension, deep, sums);
        for (int64_t row = BLOCK; row < count; row += BLOCK) {
            const int64_t rows = count - row < BLOCK ? count - row : BLOCK;
            find_block(bins + row, &here, ready, dimension, deep, 0, &found[turn]);
            add_block(&found[turn], here.scales, ready, rows, dimension, deep, sums + row * dimension);
        }
        done += ready;
        ready = next;
    }
}

static void pairs_of_chunk(const piece *one, const uint8_t *bins, int64_t count, double *sums)
{
    piece_of_chunk(one, bins, count, 2, 0, sums);
}

static void nines_of_chunk(const piece *one, const uint8_t *bins, int64_t count, double *sums)
{
    piece_of_chunk(one, bins, count, 9, 0, sums);
}

static void any_of_chunk(const piece *one, const uint8_t *bins, int64_t count, double *sums)
{
    piece_of_chunk(one, bins, count, one->dimension, 1, sums);
}

static void bins_of_chunk(const ensemble *all, const float *rows, int64_t width, int64_t count, uint8_t *bins)
{
    for (int64_t row = 0; row < count; row += BLOCK)
        for (int64_t column = 0; column < all->columns; column++)
            bins_of(all, column, rows + row * width, count - row, width, bins + column * CHUNK + row);
}

static int deep(const piece *one)
{
    int depth = 0;
    for (int64_t tree = 0; tree < one->trees; tree++)
        depth = one->depths[tree] > depth ? one->depths[tree] : depth;
    return depth > 8;
}

static void chunk_of_rows(const ensemble *all, const float *rows, int64_t n, int64_t width, int64_t start,
                          int64_t count, uint8_t *bins, double *sums)
{
    bins_of_chunk(all, rows + start * width, width, count, bins);
    for (int64_t number = 0; number < all->pieces; number++) {
        const piece *one = all->piece + number;
        double *own = sums + one->sums * n + start * one->dimension;
        if (one->dimension == 2 && !deep(one))
            pairs_of_chunk(one, bins, count, own);
        else if (one->dimension == 9 && !deep(one))
            nines_of_chunk(one, bins, count, own);
        else
            any_of_chunk(one, bins, count, own);
    }
}

/* What the caller's idea of the structures is compared with. */
int64_t demur_trees_layout(void)
{
    return VERSION * 1000000 + (int64_t)(sizeof(piece) * 1000 + sizeof(ensemble));
}

/* Adds to sums, for each piece an array [n, dimension], behind each other; rows are [n, width]. Below `few` rows they
 * go one by one; a negative `few` is the number below which that is faster. Returns 0, or 1 where memory for n rows is not to be had. */
int demur_trees_sums(const ensemble *all, const float *rows, int64_t n, int64_t width, int64_t few, double *sums)
{
    few = few < 0 ? few_of(all) : few;
    const int64_t size = all->columns * (n < few ? RANKS : CHUNK);
    uint8_t *scratch = aligned_alloc(LINE, (size_t)(size + LINE) / LINE * LINE);
    if (!scratch)
        return 1;
    if (n < few)
        for (int64_t row = 0; row < n; row++)
            one_row(all, rows + row * width, n, row, scratch, sums);
    else
        for (int64_t row = 0; row < n; row += CHUNK)
            chunk_of_rows(all, rows, n, width, row, n - row < CHUNK ? n - row : CHUNK, scratch, sums);
    free(scratch);
    return 0;
}
