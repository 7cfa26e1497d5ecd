// Dropout of features, result = x m with m = 0 or 1 / (1 - p), drawn by Philox from the seed and the place of an entry:
// the gradient is the same function of the gradient that comes in, and no mask is kept.
#pragma once

#include <algorithm>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "philox.h"

namespace lipgnn {

template <typename T>
struct FeatureDropout {
  int64_t size, threads;
  double p;
  uint64_t seed;
  const T* x;
  T* result;
};

// Sixteen counters go through the rounds of Philox together.
constexpr int kCounters = 16, kBlock = 4 * kCounters;
using Words = Vector<uint32_t, 8>;

// The upper and the lower halves of the products of eight numbers with a constant.
inline void multiply(Words numbers, uint32_t constant, Words* high, Words* low) {
#if defined(__AVX2__)
  // The processor multiplies every second number of 32 bits into one of 64.
  const __m256i factor = _mm256_set1_epi32(int(constant)), all = __m256i(numbers);
  const __m256i even = _mm256_mul_epu32(all, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(all, 32), factor);
  *high = Words(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0b10101010));
  *low = Words(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0b10101010));
#else
  for (int k = 0; k < 8; ++k) {
    const uint64_t product = uint64_t(constant) * numbers[k];
    (*high)[k] = uint32_t(product >> 32), (*low)[k] = uint32_t(product);
  }
#endif
}

// The numbers of the kBlock entries of block `block`: word w of counter c is that of entry 16 w + c.
inline void draw_block(uint64_t seed, uint64_t block, uint32_t* numbers) {
  // Blocks begin at multiples of sixteen, so that the upper half is the same for all.
  const uint64_t counter = block * kCounters;
  const Words first = Words{0, 1, 2, 3, 4, 5, 6, 7} + uint32_t(counter), upper = Words{} + uint32_t(counter >> 32);
  Words c0[2]{first, first + 8}, c1[2]{upper, upper}, c2[2]{}, c3[2]{};
  uint32_t key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int half = 0; half < 2; ++half) {
      Words high_a, low_a, high_b, low_b;
      multiply(c0[half], kPhiloxA, &high_a, &low_a);
      multiply(c2[half], kPhiloxB, &high_b, &low_b);
      c0[half] = high_b ^ c1[half] ^ key0, c1[half] = low_b;
      c2[half] = high_a ^ c3[half] ^ key1, c3[half] = low_a;
    }
    key0 += kPhiloxKey0;
    key1 += kPhiloxKey1;
  }
  for (int half = 0; half < 2; ++half) {
    store(numbers + 8 * half, c0[half]), store(numbers + 16 + 8 * half, c1[half]);
    store(numbers + 32 + 8 * half, c2[half]), store(numbers + 48 + 8 * half, c3[half]);
  }
}

template <typename T>
void feature_dropout(const FeatureDropout<T>& a) {
  // By their order as signed numbers, which vectors are compared by.
  const int32_t threshold = int32_t(uint32_t(a.p * 4294967296.0) ^ 0x80000000u);
  const T kept = T(1 / (1 - a.p));
  constexpr int64_t kPiece = 1 << 14;
  static_assert(kPiece % kBlock == 0, "a block must not lie in two pieces");
  const int64_t pieces = (a.size + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) num_threads(int(std::min(a.threads, pieces))) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t end = std::min(a.size, (piece + 1) * kPiece);
    for (int64_t at = piece * kPiece; at < end; at += kBlock) {
      uint32_t numbers[kBlock];
      draw_block(a.seed, uint64_t(at / kBlock), numbers);
      T factors[kBlock];
      for (int k = 0; k < kBlock; ++k) factors[k] = int32_t(numbers[k] ^ 0x80000000u) < threshold ? T(0) : kept;
      const int count = int(std::min<int64_t>(kBlock, end - at));
      const T* x = a.x + at;
      T* result = a.result + at;
      for (int k = 0; k < count; ++k) result[k] = x[k] * factors[k];
    }
  }
}

}  // namespace lipgnn
