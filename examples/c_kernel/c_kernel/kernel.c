// One workgroup's tile of a row-major product C = A B. M, N, K and the knobs come from -D options.
// IREE loads it without a C library: no globals, no calls.
#include <stddef.h>

typedef float vector __attribute__((vector_size(4 * WIDTH), aligned(4)));

void product_tile(const float *restrict a, const float *restrict b, float *restrict c,
                  size_t tile_row, size_t tile_column) {
  for (size_t i = tile_row * TILE_M; i < (tile_row + 1) * TILE_M; i += ROWS)
    for (size_t j = tile_column * TILE_N; j < (tile_column + 1) * TILE_N; j += WIDTH * VECTORS) {
      vector sum[ROWS][VECTORS] = {0};
      for (size_t k = 0; k < K; k++)
        for (size_t row = 0; row < ROWS; row++)
          for (size_t v = 0; v < VECTORS; v++)
            sum[row][v] += a[(i + row) * K + k] * *(const vector *)&b[k * N + j + v * WIDTH];
      for (size_t row = 0; row < ROWS; row++)
        for (size_t v = 0; v < VECTORS; v++)
          *(vector *)&c[(i + row) * N + j + v * WIDTH] = sum[row][v];
    }
}
