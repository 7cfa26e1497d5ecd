// out = x + scale ELU(y), the end of every block, and its gradient in y: scale G where y > 0, else scale G e^y.
#pragma once

#include <algorithm>

#include "vector.h"

namespace lipgnn {

template <typename T>
struct ResidualElu {
  int64_t size, threads;
  double scale;
  const T* x;  // null: nothing is added
  const T* y;
  const T* grad_out;
  T* result;  // out, or the gradient of y
};

// Calls combine(at, L or 1 lanes) for all entries, vectors first.
template <typename T, typename Combine>
void for_entries(const ResidualElu<T>& a, const Combine& combine) {
  constexpr int L = 32 / sizeof(T);
  constexpr int64_t kPiece = 1 << 14;
  const int64_t pieces = (a.size + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) num_threads(int(std::min(a.threads, pieces))) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t end = std::min(a.size, (piece + 1) * kPiece);
    int64_t at = piece * kPiece;
    for (; at + L <= end; at += L) store(a.result + at, combine(at, Lanes<T, L>{}));
    // The rest goes through a vector too, so that an entry does not depend on where it lies.
    for (; at < end; ++at) a.result[at] = combine(at, Lanes<T, 1>{})[0];
  }
}

template <typename T>
void residual_elu_forward(const ResidualElu<T>& a) {
  const T scale = T(a.scale);
  for_entries(a, [&](int64_t at, auto lanes) {
    using V = typename decltype(lanes)::Vector;
    constexpr int L = sizeof(V) / sizeof(T);
    const V y = load<V>(a.y + at);
    const V elu = (y > 0 ? y : exponential_less_one<T, L>(y)) * scale;
    return a.x ? load<V>(a.x + at) + elu : elu;
  });
}

template <typename T>
void residual_elu_backward(const ResidualElu<T>& a) {
  const T scale = T(a.scale);
  for_entries(a, [&](int64_t at, auto lanes) {
    using V = typename decltype(lanes)::Vector;
    constexpr int L = sizeof(V) / sizeof(T);
    const V y = load<V>(a.y + at), grad = load<V>(a.grad_out + at) * scale;
    return y > 0 ? grad : grad * exponential<T, L>(y);
  });
}

}  // namespace lipgnn
