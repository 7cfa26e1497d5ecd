// What all forms of attention share: the layout of rows and values, and lengths with their gradients.
#pragma once

#include <vector>

#include "graph.h"
#include "philox.h"
#include "rows.h"

namespace lipgnn {

constexpr int kAhead = 6;  // edges between asking for a row and using it

template <typename Rows>
class Attention {
 protected:
  using T = typename Rows::T;
  static constexpr int L = Rows::L;
  using V = Vector<T, L>;
  using M = Mask<T, L>;
  static constexpr T tiny = std::numeric_limits<T>::min();

  Attention(const Graph& graph, int64_t heads, int64_t width, double dropout, uint64_t seed, const T* edge_weight = nullptr)
      : graph_(graph), rows_(heads, width), dropout_(dropout, seed), edge_weight_(edge_weight),
        scaled_(dropout_.on || edge_weight), size_(rows_.size()), padded_(size_t(rows_.groups()) * L) {}

  // With d_ij = G_i.z_j, a softmax gives back p_ij (d_ij - sum_k p_ik d_ik), which no common part of all d_ij changes:
  // they may be counted from any base. Where scores are bounded that is the first of them; little is lost where all are
  // nearly alike, as they are in deep networks. Where scores are not, it is that of the largest score: this may take
  // nearly all the weight, and the difference, nearly zero, would otherwise be what is rounded off of d_ij, however
  // large that is. Sums over edges are begun before the largest score is known; returned is by how much their base
  // moves, which it does only while all that they hold weighs little.
  static V rebase(V x, V d, V* top, V* base) {
    const M higher = x > *top;
    const V moved = higher ? d - *base : V{};
    *base = higher ? d : *base;
    *top = higher ? x : *top;
    return moved;
  }

  void save(T* to, const V* values) const {
    for (int g = 0; g < rows_.groups(); ++g) store(to + g * L, values[g]);
  }

  // p_ij s_ij, the share of an edge in the entropy of its target's weights p_ij = w_i exp(s_ij). A score below what
  // `exponential` can take leaves a weight that is as good as zero, and not quite.
  static V times_score(V p, V score) { return p * larger(score, fill<T, L>(Exponential<T>::lowest)); }

  // Of the weights of one target: the entropy - sum_j p_ij log p_ij, from sum_j p_ij s_ij, and the largest; `to` is (2, P).
  void save_spread(T* to, V mean_score, V weight, V largest) const {
    V entropy;
    for (int lane = 0; lane < L; ++lane) entropy[lane] = -(mean_score[lane] + std::log(weight[lane]));
    store(to, entropy);
    store(to + padded_, largest);
  }

  // row += gradient of |row|, times d loss / d |row|.
  void add_length_gradient(T* sum, V* gradient, const T* lengths, const T* row) const {
    for (int g = 0; g < rows_.groups(); ++g) {
      const V own = load<V>(lengths + g * L);
      gradient[g] = own > tiny ? gradient[g] / own : V{};
    }
    rows_.add(sum, gradient, row);
  }

  // The longest of a target's neighbours and its number, the first where several are; `lengths` is (sources, stride).
  void find_longest(const T* lengths, size_t stride, int64_t begin, int64_t stop, V* length, M* number) const {
    const int32_t* other = graph_.incoming.other;
    *length = fill<T, L>(-1);
    *number = M{} - 1;
    for (int64_t e = begin; e < stop; ++e) {
      const V candidate = load<V>(lengths + other[e] * stride);
      if (e + 2 * kAhead < graph_.num_edges) __builtin_prefetch(lengths + other[e + 2 * kAhead] * stride);
      const M better = candidate > *length;
      *length = better ? candidate : *length;
      *number = better ? M{} + Integer<T>(other[e]) : *number;
    }
    *length = begin < stop ? *length : V{};
  }

  static void save_numbers(int32_t* to, M numbers) {
    store(to, __builtin_convertvector(numbers, typename Lanes<float, L>::Mask));
  }

  // sum[head][j] = the gradients of all targets whose longest neighbour is j; numbers and gradients are (targets, P)
  // with a stride. Every head on its own, so that no two threads meet and every sum is taken in the order of the targets.
  void bring_to_longest(T* sums, const int32_t* numbers, size_t number_stride, const T* gradients,
                        size_t gradient_stride) const {
#pragma omp parallel for schedule(dynamic, 1) num_threads(int(graph_.threads))
    for (int64_t head = 0; head < int64_t(padded_); ++head) {
      T* sum = sums + head * graph_.num_sources;
      for (int64_t j = 0; j < graph_.num_sources; ++j) sum[j] = 0;
      for (int64_t i = 0; i < graph_.num_targets; ++i) {
        const int32_t j = numbers[i * number_stride + head];
        if (j >= 0) sum[j] += gradients[i * gradient_stride + head];
      }
    }
  }

  V brought(const T* sums, int64_t node, int group) const {
    V result;
    for (int lane = 0; lane < L; ++lane) result[lane] = sums[(group * L + lane) * graph_.num_sources + node];
    return result;
  }

  // The shares of all pieces, always in the same order.
  static void sum_shares(T* sum, size_t size, const T* shares, int64_t pieces, size_t stride) {
    std::fill_n(sum, size, T(0));
    for (int64_t piece = 0; piece < pieces; ++piece)
      for (size_t k = 0; k < size; ++k) sum[k] += shares[piece * stride + k];
  }

  // What dropout multiplies the weights of an edge by.
  V dropped(int64_t edge_id, int group) const {
    return dropout_.on ? dropout_.template factors<L>(edge_id, group * L) : fill<T, L>(1);
  }

  // What they are multiplied by in all, after the softmax; asked for only where they are `scaled_`.
  V keep(int64_t edge_id, int group) const {
    const V factor = dropped(edge_id, group);
    return edge_weight_ ? factor * edge_weight_[edge_id] : factor;
  }

  const Graph& graph_;
  const Rows rows_;
  const Dropout<T> dropout_;
  const T* const edge_weight_;  // (E) by DGL's number of the edge, or null
  const bool scaled_;
  const size_t size_, padded_;
};

}  // namespace lipgnn
