/* Rows against schema, training ranges and training density: each row in one pass, without temporary arrays.
 *
 * Each number of a row is made in the same order alone and among others, on every processor (compile without
 * contraction to fused multiply-add), so that a row is judged alike in every request.
 *
 * No Python in here: it is called through ctypes, which releases the interpreter lock. Shapes were checked where the
 * tables were made.
 */
#include <math.h> /* NAN, and fabsf, which compilers have built in: the library is not linked */
#include <stdint.h>

#define VERSION 2        /* of everything that the caller has to know; as in kernel.py */
#define MOST_COLUMNS 512 /* so that buffers fit on the stack; as in kernel.py */
#define TOGETHER 8       /* rows whose sums are made side by side, as each sum alone would wait for itself */
#define LANES 16         /* components of the mixture side by side; their number is padded to a multiple of it */
#define FARTHEST 5.0f    /* standard deviations at which values are clipped; as in familiarity.py */

#define PADDED(count) (((count) + LANES - 1) / LANES * LANES)

#define REFUSED 1
#define OUTSIDE 2

#define INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__)
#define EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EACH_PROCESSOR
#endif

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

typedef struct {
    int64_t columns;
    const float *lower, *upper;                 /* possible values [columns] */
    const int32_t *nullable;                    /* [columns] 1 where NaN is a missing value */
    int64_t sentinels;                          /* values that mean missing */
    const int32_t *sentinel_columns;            /* [sentinels] */
    const float *sentinel_values;               /* [sentinels] */
    int64_t choices;                            /* allowed values of columns that have few */
    const int32_t *choice_columns;              /* [choices] ascending */
    const float *choice_values;                 /* [choices] */
    const float *trained_lower, *trained_upper; /* [columns] */
    int64_t directions;                         /* of the density; 0: there is none */
    int64_t components;                         /* a multiple of LANES */
    const float *mean, *deviation, *scale;      /* of each column in training [columns]; scale is 1 / deviation */
    const float *projection;                    /* [columns, PADDED(directions)]; none: directions are columns */
    float rest;                                 /* factor of the squared residual of the projection */
    const float *weights;                       /* of products of two directions [products, components] */
    const float *precisions;                    /* of each component over columns [components, columns, columns] */
    const float *shifts;                        /* precision times mean of each component [components, columns] */
    const float *roots;                         /* of the precisions' diagonals [components, columns] */
} inputs;

INLINE int is_sentinel(const inputs *in, int64_t column, float value)
{
    for (int64_t i = 0; i < in->sentinels; i++)
        if (in->sentinel_columns[i] == column && in->sentinel_values[i] == value)
            return 1;
    return 0;
}

INLINE int is_missing(const inputs *in, int64_t column, float value)
{
    return value != value || is_sentinel(in, column, value);
}

/* Whether a row has a value that is neither among the few of its column nor missing. */
INLINE int has_other_choice(const inputs *in, const float *row)
{
    int other = 0;
    for (int64_t i = 0; i < in->choices;) {
        const int32_t column = in->choice_columns[i];
        const float value = row[column];
        int fine = (value != value && in->nullable[column]) || is_sentinel(in, column, value);
        for (; i < in->choices && in->choice_columns[i] == column; i++)
            fine |= in->choice_values[i] == value;
        other |= !fine;
    }
    return other;
}

INLINE uint8_t judged(const inputs *in, const float *row)
{
    int32_t impossible = 0, outside = 0, sentinels = 0;
    for (int64_t i = 0; i < in->sentinels; i++)
        sentinels |= row[in->sentinel_columns[i]] == in->sentinel_values[i];
    if (!sentinels) {
        for (int64_t f = 0; f < in->columns; f++) {
            const float value = row[f];
            const int32_t inside = (value >= in->lower[f]) & (value <= in->upper[f]);
            impossible |= !(inside | ((value != value) & in->nullable[f]));
            outside |= (value < in->trained_lower[f]) | (value > in->trained_upper[f]);
        }
    } else {
        for (int64_t f = 0; f < in->columns; f++) {
            const float value = row[f];
            if (is_sentinel(in, f, value))
                continue;
            impossible |= !((value >= in->lower[f] && value <= in->upper[f]) || (value != value && in->nullable[f]));
            outside |= value < in->trained_lower[f] || value > in->trained_upper[f];
        }
    }
    return (impossible || has_other_choice(in, row) ? REFUSED : 0) | (outside ? OUTSIDE : 0);
}

/* Standardised and clipped values of a row; a missing one is 0, as is what pads them to whole lanes. */
INLINE void standardise(const inputs *in, const float *row, float *z)
{
    for (int64_t f = 0; f < in->columns; f++) {
        const float value = (row[f] - in->mean[f]) * in->scale[f];
        z[f] = value > FARTHEST ? FARTHEST : value < -FARTHEST ? -FARTHEST : value;
    }
    for (int64_t f = 0; f < in->columns; f++)
        if (z[f] != z[f])
            z[f] = 0.0f;
    for (int64_t i = 0; i < in->sentinels; i++)
        if (row[in->sentinel_columns[i]] == in->sentinel_values[i])
            z[in->sentinel_columns[i]] = 0.0f;
    for (int64_t f = in->columns; f < PADDED(in->columns); f++)
        z[f] = 0.0f;
}

/* Coordinates of some standardised rows in the directions of the density, with a one appended.
 *
 * Here and in `score` the number of rows is TOGETHER or 1: a constant, for which the compiler makes code of its own.
 */
INLINE void project(const inputs *in, const int rows, float z[][MOST_COLUMNS], float x[][MOST_COLUMNS + LANES])
{
    if (in->projection) {
        const int64_t padded = PADDED(in->directions);
        for (int64_t d = 0; d < padded; d += LANES) {
            lanes sums[TOGETHER] = {0};
            for (int64_t f = 0; f < in->columns; f++) {
                const lanes weight = *(const lanes *)(in->projection + f * padded + d);
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++)
                    sums[r] += weight * z[r][f];
            }
            for (int r = 0; r < rows; r++)
                *(lanes *)(x[r] + d) = sums[r];
        }
    } else {
        for (int r = 0; r < rows; r++)
            for (int64_t d = 0; d < in->directions; d++)
                x[r][d] = z[r][d];
    }
    for (int r = 0; r < rows; r++)
        x[r][in->directions] = 1.0f;
}

/* The sum of some lanes, in an order of its own. */
INLINE float total(const lanes *values)
{
    float of[LANES];
    *(lanes *)of = *values;
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            of[k] += of[k + half];
    return of[0];
}

/* The largest of some lanes. */
INLINE float largest(const lanes *values)
{
    float of[LANES];
    *(lanes *)of = *values;
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            of[k] = of[k] > of[k + half] ? of[k] : of[k + half];
    return of[0];
}

/* The score of each of some rows, its negative log-density, and unless `best` is none the component that fits best. */
INLINE void score(const inputs *in, const int rows, float z[][MOST_COLUMNS], float *scores, int64_t *best)
{
    float x[TOGETHER][MOST_COLUMNS + LANES], most[TOGETHER];
    project(in, rows, z, x);
    for (int64_t first = 0; first < in->components; first += LANES) {
        const float *weights = in->weights + first;
        lanes logs[TOGETHER] = {0}; /* weighted log-densities, up to a constant */
        for (int64_t i = 0; i <= in->directions; i++) {
            lanes sums[TOGETHER] = {0}; /* of the products with x[i], without it */
            for (int64_t j = i; j <= in->directions; j++, weights += in->components) {
                const lanes weight = *(const lanes *)weights;
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++)
                    sums[r] += weight * x[r][j];
            }
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++)
                logs[r] += sums[r] * x[r][i];
        }
        for (int r = 0; r < rows; r++) {
            const float here = largest(&logs[r]);
            if (first && here <= most[r])
                continue;
            most[r] = here;
            for (int k = LANES; best && k--;)
                if (logs[r][k] == here)
                    best[r] = first + k;
        }
    }
    for (int r = 0; r < rows; r++) {
        scores[r] = -most[r];
        if (in->projection) {
            lanes squares = {0};
            for (int64_t f = 0; f < in->columns; f += LANES)
                squares += *(const lanes *)(z[r] + f) * *(const lanes *)(z[r] + f);
            float rest = total(&squares);
            for (int64_t d = 0; d < in->directions; d++)
                rest -= x[r][d] * x[r][d];
            scores[r] += rest * in->rest;
        }
    }
}

INLINE int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Bits and scores [count] of rows [count, columns]; returns the bits of all rows together. */
EACH_PROCESSOR
int demur_inputs_judge(const inputs *in, const float *rows, int64_t count, uint8_t *bits, float *scores)
{
    uint8_t all = 0;
    for (int64_t row = 0; row < count; row++)
        all |= bits[row] = judged(in, rows + row * in->columns);
    if (!in->directions)
        return all;
    float z[TOGETHER][MOST_COLUMNS];
    int64_t row = 0;
    for (; row + TOGETHER <= count; row += TOGETHER) {
        for (int r = 0; r < TOGETHER; r++)
            standardise(in, rows + (row + r) * in->columns, z[r]);
        score(in, TOGETHER, z, scores + row, 0);
    }
    for (; row < count; row++) {
        standardise(in, rows + row * in->columns, z[0]);
        score(in, 1, z, scores + row, 0);
    }
    return all;
}

/* Distances of a row's values from their conditional means, in conditional standard deviations, and these means. */
INLINE void conditional(const inputs *in, const float *row, float *distance, float *expected)
{
    float z[1][MOST_COLUMNS], unused, gradient[MOST_COLUMNS];
    int64_t best = 0;
    standardise(in, row, z[0]);
    score(in, 1, z, &unused, &best);
    const int64_t columns = in->columns;
    const float *precision = in->precisions + best * columns * columns;
    for (int64_t f = 0; f < columns; f++)
        gradient[f] = 0.0f;
    for (int64_t g = 0; g < columns; g++) /* the matrix is symmetric */
        for (int64_t f = 0; f < columns; f++)
            gradient[f] += precision[g * columns + f] * z[0][g];
    for (int64_t f = 0; f < columns; f++) {
        gradient[f] -= in->shifts[best * columns + f];
        expected[f] = (z[0][f] - gradient[f] / precision[f * columns + f]) * in->deviation[f] + in->mean[f];
        distance[f] = is_missing(in, f, row[f]) ? 0.0f : gradient[f] / in->roots[best * columns + f];
    }
}

/* The columns in which each of some rows [count] departs most from training, at most `most` a row, worst first.
 *
 * Returns the number of entries; each has the place of its row in `chosen`, column, deviation, and expected value, which
 * is NaN for a value outside the training range.
 */
EACH_PROCESSOR
int64_t demur_inputs_departures(const inputs *in, const float *rows, const int64_t *chosen, int64_t count, int64_t most,
                                int64_t *places, int64_t *columns, float *deviations, float *expecteds)
{
    int64_t entries = 0;
    for (int64_t place = 0; place < count; place++) {
        const float *row = rows + chosen[place] * in->columns;
        float beyond[MOST_COLUMNS], expected[MOST_COLUMNS];
        int outside = 0;
        for (int64_t f = 0; f < in->columns; f++) {
            const float above = row[f] - in->trained_upper[f], below = row[f] - in->trained_lower[f];
            beyond[f] = (above > 0.0f ? above : 0.0f) + (below < 0.0f ? below : 0.0f);
            if (beyond[f] != 0.0f && is_missing(in, f, row[f]))
                beyond[f] = 0.0f;
            outside |= beyond[f] != 0.0f;
            expected[f] = NAN;
        }
        if (outside && in->directions)
            for (int64_t f = 0; f < in->columns; f++)
                beyond[f] /= in->deviation[f];
        else if (in->directions)
            conditional(in, row, beyond, expected);
        for (int64_t rank = 0; rank < smaller(most, in->columns); rank++) {
            int64_t worst = 0;
            for (int64_t f = 1; f < in->columns; f++)
                if (fabsf(beyond[f]) > fabsf(beyond[worst]))
                    worst = f;
            if (beyond[worst] == 0.0f)
                break;
            places[entries] = place;
            columns[entries] = worst;
            deviations[entries] = in->directions ? beyond[worst] : NAN;
            expecteds[entries] = expected[worst];
            entries++;
            beyond[worst] = 0.0f;
        }
    }
    return entries;
}

/* Version, and size of the table, which the caller compares with its own before the first call. */
int64_t demur_inputs_layout(void)
{
    return VERSION * 1000000LL + (int64_t)sizeof(inputs);
}
