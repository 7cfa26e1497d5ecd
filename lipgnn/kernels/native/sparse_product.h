// A sparse matrix times a dense one: result_r = bias + sum over the entries of row r of value times a row of `dense`.
#pragma once

#include "graph.h"
#include "vector.h"

namespace lipgnn {

template <typename T>
struct SparseProduct {
  EdgeOrder order;  // rows; other: the column of an entry; edge_id: where its value is
  int64_t width, threads;
  const T* values;  // (entries)
  const T* dense;   // (columns, width)
  const T* bias;    // (width), or null
  T* result;        // (rows, width)
};

template <typename T>
void sparse_product(const SparseProduct<T>& a) {
  constexpr int L = 32 / sizeof(T);
  using V = Vector<T, L>;
  for_pieces(a.order, a.threads, [&](int64_t, int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      T* sum = a.result + row * a.width;
      for (int64_t c = 0; c < a.width; ++c) sum[c] = a.bias ? a.bias[c] : T(0);
      for (int64_t k = a.order.start[row]; k < a.order.start[row + 1]; ++k) {
        const T value = a.values[a.order.edge_id[k]];
        // Dropout leaves many zeros behind.
        if (value == 0) continue;
        const T* other = a.dense + a.order.other[k] * a.width;
        int64_t c = 0;
        for (; c + L <= a.width; c += L) store(sum + c, load<V>(sum + c) + value * load<V>(other + c));
        for (; c < a.width; ++c) sum[c] += value * other[c];
      }
    }
  });
}

}  // namespace lipgnn
