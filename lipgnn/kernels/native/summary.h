// Norm, mean and largest absolute value of an array in one pass, in double precision whatever its type.
#pragma once

#include <algorithm>
#include <vector>

#include "vector.h"

namespace lipgnn {

template <typename T>
struct Summary {
  int64_t size, threads;
  const T* values;
  double* result;  // norm, mean, largest
};

// Sums of squares and of absolute values, and the largest of these.
struct Sums {
  double squares, sizes, largest;
};

template <typename T>
Sums sums_of(const T* values, int64_t size) {
  constexpr int L = 4, kChains = 4;
  using V = Vector<double, L>;
  // Several sums side by side, for an addition takes longer than it takes to begin the next.
  V squares[kChains] = {}, sizes[kChains] = {}, largest[kChains] = {};
  int64_t at = 0;
  for (; at + L * kChains <= size; at += L * kChains) {
    for (int chain = 0; chain < kChains; ++chain) {
      const V value = absolute(__builtin_convertvector(load<Vector<T, L>>(values + at + L * chain), V));
      squares[chain] += value * value;
      sizes[chain] += value;
      largest[chain] = larger(largest[chain], value);
    }
  }
  Sums sums = {};
  for (; at < size; ++at) {
    const double value = std::abs(double(values[at]));
    sums = {sums.squares + value * value, sums.sizes + value, std::max(sums.largest, value)};
  }
  for (int chain = 0; chain < kChains; ++chain) {
    sums.squares += sum_of<double, L>(squares[chain]);
    sums.sizes += sum_of<double, L>(sizes[chain]);
    for (int lane = 0; lane < L; ++lane) sums.largest = std::max(sums.largest, largest[chain][lane]);
  }
  return sums;
}

template <typename T>
void summary(const Summary<T>& a) {
  constexpr int64_t kPiece = 1 << 14;
  const int64_t pieces = (a.size + kPiece - 1) / kPiece;
  std::vector<Sums> sums(pieces);
#pragma omp parallel for schedule(static) num_threads(int(std::min(a.threads, pieces))) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    sums[piece] = sums_of(a.values + piece * kPiece, std::min(kPiece, a.size - piece * kPiece));
  }
  Sums all = {};
  // In the order of the pieces, so that the number of threads makes no difference.
  for (const Sums& each : sums) {
    all = {all.squares + each.squares, all.sizes + each.sizes, std::max(all.largest, each.largest)};
  }
  a.result[0] = std::sqrt(all.squares);
  a.result[1] = all.sizes / double(a.size);
  // A comparison does not see what is not a number; a sum does.
  a.result[2] = std::isnan(all.sizes) ? all.sizes : all.largest;
}

}  // namespace lipgnn
