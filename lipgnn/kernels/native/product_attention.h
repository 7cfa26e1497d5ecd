// What attention by products of queries and keys shares, of heads apart and of heads that share both: what is kept of
// every target, the weight of an edge from its score, and LipschitzNorm's factors with the gradients of the lengths.
#pragma once

#include "attention.h"

namespace lipgnn {

// `Arrays` has those of DotProduct and SharedProduct that both name alike.
template <typename Rows, typename Arrays>
class ProductAttention : protected Attention<Rows> {
 protected:
  using Base = Attention<Rows>;
  using typename Base::M;
  using typename Base::T;
  using typename Base::V;
  using Base::graph_, Base::rows_, Base::scaled_, Base::size_, Base::padded_, Base::keep, Base::L;
  static constexpr int G = Rows::G;
  static constexpr int kBlock = 16;  // edges whose scores are computed before any of them is used

  // `plain_factor` multiplies the scores where there is no norm.
  ProductAttention(const Arrays& arrays, double plain_factor)
      : Base(arrays.graph, arrays.heads, arrays.width, arrays.dropout, arrays.seed, arrays.edge_weight), a_(arrays),
        plain_factor_(T(plain_factor)) {}

  const T* value(int64_t node) const { return a_.value + node * size_; }
  const T* grad(int64_t node) const { return (Rows::transposed ? a_.grad_rows : a_.grad_out) + node * size_; }
  T* own_length(int64_t node) const { return a_.query_length + node * padded_; }
  T* lengths(int64_t node) const { return a_.length + node * 2 * padded_; }
  T* target(int64_t node) const { return a_.target + node * target_size(); }
  size_t target_size() const { return (2 + 2 * a_.normalize + 2 * a_.shift) * padded_; }
  size_t highest_at() const { return (2 + 2 * a_.normalize) * padded_; }
  size_t base_at() const { return (3 + 2 * a_.normalize) * padded_; }
  V kept_first(const T* at) const { return a_.normalize ? load<V>(at + 2 * padded_) : fill<T, L>(1); }
  V kept_second(const T* at) const { return a_.normalize ? load<V>(at + 3 * padded_) : fill<T, L>(plain_factor_); }
  T* brought_to(int which) const { return a_.grad_longest + which * padded_ * graph_.num_sources; }

  void raise(const T* scores, int64_t count, V* highest, V* total, T* sum) const {
    V down[G];
    for (int g = 0; g < rows_.groups(); ++g) {
      V top = highest[g];
      for (int64_t k = 0; k < count; ++k) top = larger(top, load<V>(scores + k * padded_ + g * L));
      down[g] = exponential<T, L>(highest[g] - top);
      total[g] *= down[g];
      highest[g] = top;
    }
    rows_.scale(sum, down);
  }

  // What comes out of target i: the scores of a block of its edges, by score(block, last, scores), which asks for their
  // values, then these values.
  // Where scores are not bounded, what was summed is scaled down when a block brings a larger one.
  template <typename Score>
  void gather(int64_t i, int64_t begin, int64_t stop, T* scores, T* sum, const Score& score) const {
    const EdgeOrder& order = graph_.incoming;
    V highest[G], total[G], weight[G];
    rows_.clear(sum);
    for (int g = 0; g < rows_.groups(); ++g) {
      total[g] = V{};
      highest[g] = a_.shift ? fill<T, L>(std::numeric_limits<T>::lowest()) : V{};
    }
    for (int64_t block = begin; block < stop; block += kBlock) {
      const int64_t last = std::min(block + kBlock, stop);
      score(block, last, scores);
      if (a_.shift) raise(scores, last - block, highest, total, sum);
      for (int64_t e = block; e < last; ++e) {
        for (int g = 0; g < rows_.groups(); ++g) {
          const V p = exponential<T, L>(load<V>(scores + (e - block) * padded_ + g * L) - highest[g]);
          total[g] += p;
          weight[g] = scaled_ ? p * keep(order.edge_id[e], g) : p;
        }
        rows_.add(sum, weight, value(order.other[e]));
      }
    }
    for (int g = 0; g < rows_.groups(); ++g) {
      const V safe = begin < stop ? total[g] : fill<T, L>(1);
      weight[g] = 1 / safe;
      store(target(i) + g * L, weight[g]);
      if (a_.shift) store(target(i) + highest_at() + g * L, highest[g]);
    }
    rows_.scale(sum, weight);
    rows_.write(a_.out + i * size_, sum);
  }

  // f_i and s_i, kept for backward with the numbers of the longest neighbours; the longest key may be known already.
  template <bool KeyKnown = false>
  void find_factors(int64_t i, int64_t begin, int64_t stop, V* first_factor, V* second_factor,
                    const V* longest_key = nullptr, const M* key_number = nullptr) const {
    for (int g = 0; g < rows_.groups(); ++g) {
      const size_t at = g * L;
      first_factor[g] = fill<T, L>(1);
      second_factor[g] = fill<T, L>(plain_factor_);
      if (a_.normalize) {
        V longest[2];
        for (int which = 0; which < 2; ++which) {
          M number;
          if (KeyKnown && which == 0)
            longest[0] = longest_key[g], number = key_number[g];
          else
            this->find_longest(a_.length + which * padded_ + at, 2 * padded_, begin, stop, longest + which, &number);
          this->save_numbers(a_.longest + (i * 2 + which) * padded_ + at, number);
          store(a_.longest_length + (i * 2 + which) * padded_ + at, longest[which]);
        }
        first_factor[g] = 1 / nonzero<T, L>(second_of(load<V>(own_length(i) + at), longest));
        second_factor[g] = 1 / nonzero<T, L>(larger(longest[0], longest[1])) / T(a_.kappa);
        store(target(i) + 2 * padded_ + at, first_factor[g]);
        store(target(i) + 3 * padded_ + at, second_factor[g]);
      }
    }
  }

  // max{u v, u w, v w} is the larger of v and w times this.
  static V second_of(V query, const V* longest) {
    return larger(query, longest[0] < longest[1] ? longest[0] : longest[1]);
  }

  // The weight of an edge from its score. Where scores are not bounded, the last digit of one can be more than exp can
  // bear: it must be what forward found, to the bit.
  V weigh(const T* at, V x) const {
    return exponential<T, L>(a_.shift ? rounded(x) - load<V>(at + highest_at()) : x) * load<V>(at);
  }

  // From d loss / d log(1 / (f_i s_i)) to v and w, which are kept, and u, which is returned. Equal lengths share.
  V to_lengths(int64_t i, size_t at, V gradient) const {
    const T* lengths_of = a_.longest_length + i * 2 * padded_ + at;
    const V longest[] = {load<V>(lengths_of), load<V>(lengths_of + padded_)};
    const V own = load<V>(own_length(i) + at), lesser = longest[0] < longest[1] ? longest[0] : longest[1];
    const V larger_one = larger(longest[0], longest[1]), second = larger(own, lesser), none{};
    const V to_first = larger_one > Base::tiny ? gradient / larger_one : none;
    const V to_second = second > Base::tiny ? gradient / second : none;
    const V to_lesser = to_second * share(lesser, own), of_key = share(longest[0], longest[1]);
    T* kept = a_.grad_length + i * 2 * padded_ + at;
    store(kept, to_first * of_key + to_lesser * (1 - of_key));
    store(kept + padded_, to_first * (1 - of_key) + to_lesser * of_key);
    return to_second - to_lesser;
  }

  // The share of a in max(a, b): 1, 0, or a half where they are equal.
  static V share(V a, V b) { return a > b ? fill<T, L>(1) : (a == b ? fill<T, L>(T(0.5)) : V{}); }

  // The gradients of max_j |k_j| and max_j |v_j|, brought to the longest sources.
  void bring_lengths() const {
    for (int which = 0; which < 2; ++which) bring_length(which);
  }

  void bring_length(int which) const {
    this->bring_to_longest(brought_to(which), a_.longest + which * padded_, 2 * padded_, a_.grad_length + which * padded_,
                           2 * padded_);
  }

  const Arrays& a_;
  const T plain_factor_;
};

}  // namespace lipgnn
