/* One row, with its cache misses overlapped. Part of kernel.c, after its structures.
 *
 * Leaves of trees are found some trees before they are added, so that memory brings many of them at the same time. Where
 * the processor looks up bytes in registers, all splits of TILE trees are one comparison, and memory is asked sooner.
 */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define BYTES_PERMUTED __attribute__((target("avx512f,avx512bw,avx512vbmi"))) /* by __builtin_cpu_supports */
#endif

#define AHEAD 64       /* trees of one row whose leaves are on their way from memory together */
#define FEW 4          /* rows below which they go one by one */

INLINE uint32_t leaf_of_one(const uint8_t *truths, const uint16_t *splits, int depth)
{
    uint32_t leaf = 0;
    for (int level = 0; level < depth; level++)
        leaf |= (uint32_t)truths[splits[level]] << level;
    return leaf;
}

/* Finds the leaf of the next tree and asks memory for it. */
INLINE const int32_t *find_one(const uint8_t *truths, place *at, int64_t dimension)
{
    const int depth = *at->depths++;
    uint32_t leaf;
    switch (depth) { /* the papers' depths without a loop */
    case 8: leaf = leaf_of_one(truths, at->splits, 8); break;
    case 6: leaf = leaf_of_one(truths, at->splits, 6); break;
    default: leaf = leaf_of_one(truths, at->splits, depth);
    }
    const int32_t *found = at->leaves + leaf * dimension;
    fetch(found, dimension);
    __builtin_prefetch(at->splits + STREAM / sizeof(uint16_t)); /* the processor's own stops at each page */
    at->splits += depth;
    at->leaves += dimension << depth;
    return found;
}

INLINE void add_one(const int32_t *leaf, const float *scales, int64_t dimension, double *sums)
{
    __builtin_prefetch(scales + STREAM / sizeof(float));
    if (dimension == 2) {
        const pair scale = {scales[0], scales[1]};
        *(pair *)sums += __builtin_convertvector(*(const pair_of_ints *)leaf, pair) * scale;
        return;
    }
    for (int64_t k = 0; k < dimension; k++)
        sums[k] += (double)leaf[k] * (double)scales[k];
}

/* Each tree's leaf is added AHEAD trees after it was asked for. */
INLINE void piece_of_one(const piece *one, const uint8_t *truths, int64_t dimension, double *sums)
{
    const int32_t *found[AHEAD];
    place at = {one->depths, one->splits, one->scales, one->leaves};
    const int64_t head = one->trees < AHEAD ? one->trees : AHEAD;
    int64_t tree = 0;
    for (; tree < head; tree++)
        found[tree] = find_one(truths, &at, dimension);
    for (; tree < one->trees; tree++) {
        add_one(found[tree % AHEAD], at.scales, dimension, sums);
        at.scales += dimension;
        found[tree % AHEAD] = find_one(truths, &at, dimension);
    }
    for (tree -= head; tree < one->trees; tree++) {
        add_one(found[tree % AHEAD], at.scales, dimension, sums);
        at.scales += dimension;
    }
}

#ifdef BYTES_PERMUTED
#define IN_REGISTERS 128 /* columns whose bins are the bytes of two registers */
#define FAR_AHEAD 256    /* as AHEAD, a multiple of TILE: the places in memory are known sooner */
#define FEW_BY_BINS 12   /* as FEW */

/* Finds the leaves of the next trees, all of one depth, with one comparison for all their splits, at most 64. */
BYTES_PERMUTED INLINE void find_some(__m512i low, __m512i high, __m512i evens, place *at, int trees, int depth,
                                     int64_t dimension, const int32_t **found)
{
    const int splits = trees * depth;
    const __mmask64 used = splits ? ~(__mmask64)0 >> (64 - splits) : 0;
    const __m512i first = _mm512_maskz_loadu_epi16((__mmask32)used, at->splits);
    const __m512i second = _mm512_maskz_loadu_epi16((__mmask32)(used >> 32), at->splits + 32);
    const __m512i ranks = _mm512_permutex2var_epi8(first, evens, second);
    const __m512i columns = _mm512_permutex2var_epi8(first, _mm512_or_si512(evens, _mm512_set1_epi8(1)), second);
    uint64_t leaf = _mm512_cmpgt_epu8_mask(_mm512_permutex2var_epi8(low, columns, high), ranks);
    for (int tree = 0; tree < trees; tree++, leaf >>= depth) {
        found[tree] = at->leaves + (int64_t)(leaf & ((1u << depth) - 1)) * dimension;
        fetch(found[tree], dimension);
        at->leaves += dimension << depth;
    }
    __builtin_prefetch((const char *)at->splits + STREAM); /* the processor's own stops at each page */
    __builtin_prefetch((const char *)at->splits + STREAM + LINE);
    at->splits += splits;
    at->depths += trees;
}

INLINE int alike(const uint8_t *depths)
{
    return depths[0] <= 8 && !memcmp(depths, depths + 1, TILE - 1);
}

/* As piece_of_one, from bins [IN_REGISTERS]. */
BYTES_PERMUTED INLINE void piece_by_bins(const piece *one, const uint8_t *bins, int64_t dimension, double *sums)
{
    const __m512i low = _mm512_loadu_si512(bins), high = _mm512_loadu_si512(bins + 64);
    uint8_t even[64];
    for (int place = 0; place < 64; place++)
        even[place] = (uint8_t)(2 * place);
    const __m512i evens = _mm512_loadu_si512(even);
    const int32_t *found[FAR_AHEAD];
    place at = {one->depths, one->splits, one->scales, one->leaves};
    int64_t added = 0;
    for (int64_t tree = 0; tree < one->trees; tree += TILE) {
        const int32_t **next = found + tree % FAR_AHEAD;
        const int64_t left = one->trees - tree < TILE ? one->trees - tree : TILE;
        if (tree >= FAR_AHEAD)
            for (const int64_t end = added + TILE; added < end; added++, at.scales += dimension)
                add_one(found[added % FAR_AHEAD], at.scales, dimension, sums);
        if (left < TILE || !alike(at.depths))
            for (int64_t each = 0; each < left; each++)
                find_some(low, high, evens, &at, 1, *at.depths, dimension, next + each);
        else if (*at.depths == 8) /* the paper's depth without a loop */
            find_some(low, high, evens, &at, TILE, 8, dimension, next);
        else
            find_some(low, high, evens, &at, TILE, *at.depths, dimension, next);
    }
    for (; added < one->trees; added++, at.scales += dimension)
        add_one(found[added % FAR_AHEAD], at.scales, dimension, sums);
}

/* As one_row, on processors that look up bytes in registers; at most IN_REGISTERS columns. */
BYTES_PERMUTED static void one_row_by_bins(const ensemble *all, const float *row, int64_t n, int64_t index, double *sums)
{
    uint8_t bins[IN_REGISTERS] = {0};
    for (int64_t column = 0; column < all->columns; column++) {
        const float given = value(all, column, row);
        const float *borders = all->borders + column * RANKS;
        const int64_t count = ((int64_t)1 << all->steps[column]) - 1;
        uint32_t below = 0;
        for (int64_t rank = 0; rank < count; rank++)
            below += given > borders[rank];
        bins[column] = (uint8_t)below;
    }
    for (int64_t number = 0; number < all->pieces; number++) {
        const piece *one = all->piece + number;
        double *own = sums + one->sums * n + index * one->dimension;
        if (one->dimension == 2)
            piece_by_bins(one, bins, 2, own);
        else
            piece_by_bins(one, bins, one->dimension, own);
    }
}

static int by_bins(const ensemble *all)
{
    return all->columns <= IN_REGISTERS && __builtin_cpu_supports("avx512vbmi");
}
#endif

static void one_row(const ensemble *all, const float *row, int64_t n, int64_t index, uint8_t *truths,
                               double *sums)
{
#ifdef BYTES_PERMUTED
    if (by_bins(all)) {
        one_row_by_bins(all, row, n, index, sums);
        return;
    }
#endif
    for (int64_t column = 0; column < all->columns; column++) {
        const float given = value(all, column, row);
        const float *borders = all->borders + column * RANKS;
        const int64_t count = ((int64_t)1 << all->steps[column]) - 1;
        for (int64_t rank = 0; rank < count; rank++)
            truths[column * RANKS + rank] = given > borders[rank];
    }
    for (int64_t number = 0; number < all->pieces; number++) {
        const piece *one = all->piece + number;
        double *own = sums + one->sums * n + index * one->dimension;
        if (one->dimension == 2)
            piece_of_one(one, truths, 2, own);
        else
            piece_of_one(one, truths, one->dimension, own);
    }
}

static int64_t few_of(const ensemble *all)
{
#ifdef BYTES_PERMUTED
    if (by_bins(all))
        return FEW_BY_BINS;
#endif
    (void)all;
    return FEW;
}
