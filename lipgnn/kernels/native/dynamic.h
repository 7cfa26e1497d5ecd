// Attention with dynamic scores (GATv2), with or without LipschitzNorm. For every target i, source j and head:
//
//   x_ij = c_i a.LeakyReLU(k_j + q_i),   c_i = 1 or 1 / (kappa sqrt(2) |a| sqrt(max_j |k_j|^2 + |q_i|^2))
//   p_ij = w_i exp(x_ij - h_i),   sum_j p_ij = 1,   out_i = sum_j p_ij (k_j + bias)
//
// where h_i is the largest score, or 0 where all are bounded. Backward recomputes p_ij. With G = d loss / d out, d_ij =
// G_i.(k_j + bias) counted from a base (see attention.h), and the slopes m_ij of all channels:
//
//   t_i = sum_j p_ij d_ij,   dx_ij = p_ij (d_ij - t_i),   u_i = c_i sum_j dx_ij m_ij,   s_j = sum_i c_i dx_ij m_ij
//   dq_i = a u_i + ...,   dk_j = a s_j + sum_i p_ij G_i + ...,   da = sum_i u_i q_i + sum_j s_j k_j + ...
//
// by channel, since LeakyReLU(v) = m v.
#pragma once

#include "attention.h"

namespace lipgnn {

// All arrays; rows of key, query, attn, bias and their gradients are in the order of the layout, those of out and grad_out
// width fastest. N sources and M targets; of a graph with one kind of nodes they are the same.
template <typename T>
struct Dynamic {
  Graph graph;
  int64_t heads, width, heads_fastest;
  int64_t normalize, shift;  // LipschitzNorm; whether scores can be too large for exp without taking off the largest
  double kappa, slope, dropout;
  uint64_t seed;
  const T* key;          // (N, H D)
  const T* query;        // (M, H D)
  const T* attn;         // (H D)
  const T* bias;         // (H D), or null
  const T* edge_weight;  // (E), or null: multiplies p_ij after the softmax and dropout
  T* attn_length;        // (P): |a|
  T* key_length;         // (N, P)
  T* query_length;       // (M, P)
  T* target;             // (M, 3 to 6, P): G_i.bias, w_i, t_i, then c_i if normalized, then h_i and the base if shifted
  T* longest_length;     // (M, P): max_j |k_j|
  int32_t* longest;      // (M, P): the first source of that length, -1 for none
  T* out;                // (M, H, D)
  T* spread;             // (M, 2, P), or null: the entropy of every target's weights, and the largest of them
  // backward
  const T* grad_out;     // (M, H, D)
  T* grad_rows;          // (M, H D): grad_out in the order of the layout, where that is another
  T* grad_length;        // (M, P): d loss / d max_j |k_j|
  T* grad_longest;       // (P, N): that, brought to the longest sources
  T* grad_key;           // (N, H D)
  T* grad_query;         // (M, H D)
  T* grad_attn;          // (H D)
  T* grad_bias;          // (H D), or null
  T* grad_edge_weight;   // (E), or null
  T* partial;            // (pieces, 3 H D + P): shares of d loss / d a by sources and by targets, of the bias, of log |a|
};

template <typename Rows>
class DynamicAttention : Attention<Rows> {
  using Base = Attention<Rows>;
  using typename Base::M;
  using typename Base::T;
  using typename Base::V;
  using Base::graph_, Base::rows_, Base::scaled_, Base::size_, Base::padded_, Base::L, Base::keep, Base::save;
  static constexpr int G = Rows::G;
  static constexpr int kBlock = 16;  // edges whose scores are computed before any of them is used

 public:
  explicit DynamicAttention(const Dynamic<T>& arrays)
      : Base(arrays.graph, arrays.heads, arrays.width, arrays.dropout, arrays.seed, arrays.edge_weight), a_(arrays),
        slope_(T(arrays.slope)) {}

  void forward() const {
    if (a_.normalize) {
      measure(a_.attn_length, a_.attn, 0, 1);
      for_pieces(graph_.incoming, graph_.threads,
                 [&](int64_t, int64_t first, int64_t end) { measure(a_.query_length, a_.query, first, end); });
      for_pieces(graph_.outgoing, graph_.threads,
                 [&](int64_t, int64_t first, int64_t end) { measure(a_.key_length, a_.key, first, end); });
    }
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { attend(first, end); });
    if (a_.spread)
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { measure_spread(first, end); });
  }

  void backward() const {
    const size_t share = 3 * size_ + padded_;
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t piece, int64_t first, int64_t end) {
      targets(first, end, a_.partial + piece * share + size_);
    });
    if (a_.grad_edge_weight)
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { edges(first, end); });
    if (a_.normalize) this->bring_to_longest(a_.grad_longest, a_.longest, padded_, a_.grad_length, padded_);
    for_pieces(graph_.outgoing, graph_.threads, [&](int64_t piece, int64_t first, int64_t end) {
      sources(first, end, a_.partial + piece * share);
    });
    add_shares(share);
  }

 private:
  T* target(int64_t node) const { return a_.target + node * target_size(); }
  size_t target_size() const { return (3 + a_.normalize + 2 * a_.shift) * padded_; }
  size_t scale_at() const { return 3 * padded_; }
  size_t highest_at() const { return (3 + a_.normalize) * padded_; }
  size_t base_at() const { return (4 + a_.normalize) * padded_; }
  const T* key(int64_t node) const { return a_.key + node * size_; }
  const T* query(int64_t node) const { return a_.query + node * size_; }
  const T* query_length(int64_t node) const { return a_.query_length + node * padded_; }
  const T* grad(int64_t node) const { return (Rows::transposed ? a_.grad_rows : a_.grad_out) + node * size_; }
  // Whether the bias of values, which is common to all neighbours, changes what weights are worth to a target.
  bool bias_counts() const { return a_.bias && scaled_; }

  void measure(T* lengths, const T* rows, int64_t first, int64_t end) const {
    V length[G];
    for (int64_t node = first; node < end; ++node) {
      rows_.length(rows + node * size_, length);
      save(lengths + node * padded_, length);
    }
  }

  // x_ij of all heads, by the same operations on every way: scores may be so large that the last digit of one is more
  // than exp can bear. So a product must be rounded before anything is taken off it.
  void score(int64_t i, int64_t j, V* x) const {
    rows_.bent_dot(a_.attn, key(j), query(i), slope_, x);
    if (!a_.normalize) return;
    for (int g = 0; g < rows_.groups(); ++g) {
      x[g] *= load<V>(target(i) + scale_at() + g * L);
      if (a_.shift) asm("" : "+m"(x[g]));
    }
  }

  // c_i of every target, then its attention: scores of a block of neighbours, then their values. Where scores are not
  // bounded, what was summed is scaled down when a block brings a larger one.
  void attend(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V highest[G], total[G], held[G], weight[G];
    std::vector<T> scores(kBlock * padded_);
    typename Rows::Row sum(size_);
    for (int64_t i = first; i < end; ++i) {
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      if (a_.normalize) find_scale(i, begin, stop);
      rows_.clear(sum.data());
      for (int g = 0; g < rows_.groups(); ++g) {
        total[g] = held[g] = V{};
        highest[g] = a_.shift ? fill<T, L>(std::numeric_limits<T>::lowest()) : V{};
      }
      for (int64_t block = begin; block < stop; block += kBlock) {
        const int64_t last = block + kBlock < stop ? block + kBlock : stop;
        for (int64_t e = block; e < last; ++e) {
          if (e + kAhead < graph_.num_edges) fetch(key(order.other[e + kAhead]), size_);
          score(i, order.other[e], weight);
          save(scores.data() + (e - block) * padded_, weight);
        }
        if (a_.shift) raise(scores.data(), last - block, highest, total, held, sum.data());
        for (int64_t e = block; e < last; ++e) {
          for (int g = 0; g < rows_.groups(); ++g) {
            const V p = exponential<T, L>(load<V>(scores.data() + (e - block) * padded_ + g * L) - highest[g]);
            total[g] += p;
            weight[g] = scaled_ ? p * keep(order.edge_id[e], g) : p;
            held[g] += weight[g];
          }
          rows_.add(sum.data(), weight, key(order.other[e]));
        }
      }
      if (a_.bias) rows_.add(sum.data(), held, a_.bias);
      for (int g = 0; g < rows_.groups(); ++g) {
        const V safe = begin < stop ? total[g] : fill<T, L>(1);
        weight[g] = 1 / safe;
        store(target(i) + padded_ + g * L, weight[g]);
        if (a_.shift) store(target(i) + highest_at() + g * L, highest[g]);
      }
      rows_.scale(sum.data(), weight);
      rows_.write(a_.out + i * size_, sum.data());
    }
  }

  void raise(const T* scores, int64_t count, V* highest, V* total, V* held, T* sum) const {
    V down[G];
    for (int g = 0; g < rows_.groups(); ++g) {
      V top = highest[g];
      for (int64_t k = 0; k < count; ++k) top = larger(top, load<V>(scores + k * padded_ + g * L));
      down[g] = exponential<T, L>(highest[g] - top);
      total[g] *= down[g];
      held[g] *= down[g];
      highest[g] = top;
    }
    rows_.scale(sum, down);
  }

  // c_i, kept for backward with the number of the longest neighbour.
  void find_scale(int64_t i, int64_t begin, int64_t stop) const {
    for (int g = 0; g < rows_.groups(); ++g) {
      const size_t at = g * L;
      V longest;
      M number;
      this->find_longest(a_.key_length + at, padded_, begin, stop, &longest, &number);
      this->save_numbers(a_.longest + i * padded_ + at, number);
      store(a_.longest_length + i * padded_ + at, longest);
      const V size = size_of(i, at, longest), attn = nonzero<T, L>(load<V>(a_.attn_length + at));
      const V near_one = T(a_.kappa * std::sqrt(2.0)) * root<T, L>(ratio_of(i, at, longest, size));
      store(target(i) + scale_at() + at, (1 / size) * (1 / attn) / near_one);
    }
  }

  // max(longest neighbour, own length), or 1 where both are zero.
  V size_of(int64_t i, size_t at, V longest) const { return nonzero<T, L>(larger(longest, load<V>(query_length(i) + at))); }

  // (longest^2 + own^2) / size^2, or 1 where both are zero.
  V ratio_of(int64_t i, size_t at, V longest, V size) const {
    const V own = load<V>(query_length(i) + at) / size;
    longest /= size;
    return nonzero<T, L>(longest * longest + own * own);
  }

  // The weight of an edge from its score.
  V weigh(const T* at, V x) const {
    return exponential<T, L>(a_.shift ? x - load<V>(at + highest_at()) : x) * load<V>(at + padded_);
  }

  // What the value of an edge is worth to its target, G_i.(k_j + bias); without the bias where that makes no difference.
  void worth(int64_t i, int64_t j, V* d) const {
    rows_.dot(grad(i), key(j), d);
    for (int g = 0; bias_counts() && g < rows_.groups(); ++g) d[g] += load<V>(target(i) + g * L);
  }

  void measure_spread(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V x[G], mean_score[G], largest[G];
    for (int64_t i = first; i < end; ++i) {
      for (int g = 0; g < rows_.groups(); ++g) mean_score[g] = largest[g] = V{};
      for (int64_t e = order.start[i]; e < order.start[i + 1]; ++e) {
        score(i, order.other[e], x);
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          const V p = weigh(at, x[g]);
          mean_score[g] += this->times_score(p, a_.shift ? x[g] - load<V>(at + highest_at()) : x[g]);
          largest[g] = larger(largest[g], p);
        }
      }
      for (int g = 0; g < rows_.groups(); ++g)
        this->save_spread(a_.spread + i * 2 * padded_ + g * L, mean_score[g], load<V>(target(i) + padded_ + g * L),
                          largest[g]);
    }
  }

  // dq_i and t_i of every target and, through log c_i, the gradients of both lengths. The shares of the piece are written
  // to `shares`: of a, of the bias, and of log |a|.
  void targets(int64_t first, int64_t end, T* shares) const {
    const EdgeOrder& order = graph_.incoming;
    V x[G], d[G], top[G], base[G], t[G], total[G], held[G], bends[G], turns[G], gain[G], moved[G], sum[G];
    typename Rows::Row gains(size_), slopes(size_);
    for (int g = 0; g < rows_.groups(); ++g) sum[g] = V{};
    rows_.clear(shares);
    rows_.clear(shares + size_);
    for (int64_t i = first; i < end; ++i) {
      if (Rows::transposed) rows_.read(a_.grad_rows + i * size_, a_.grad_out + i * size_);
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      if (bias_counts()) {
        rows_.dot(grad(i), a_.bias, d);
        save(target(i), d);
      }
      for (int g = 0; g < rows_.groups(); ++g) {
        top[g] = fill<T, L>(std::numeric_limits<T>::lowest());
        base[g] = t[g] = total[g] = held[g] = bends[g] = turns[g] = V{};
      }
      rows_.clear(gains.data());
      rows_.clear(slopes.data());
      for (int64_t e = begin; e < stop; ++e) {
        const int64_t j = order.other[e];
        if (e + kAhead < graph_.num_edges) fetch(key(order.other[e + kAhead]), size_);
        score(i, j, x);
        worth(i, j, d);
        bool any_moved = false;
        for (int g = 0; g < rows_.groups(); ++g) {
          const V p = weigh(target(i) + g * L, x[g]);
          const V kept = scaled_ ? keep(order.edge_id[e], g) : fill<T, L>(1);
          d[g] *= kept;
          if (a_.shift) {
            moved[g] = -this->rebase(x[g], d[g], top + g, base + g);
            t[g] += moved[g] * total[g];
            turns[g] += moved[g] * bends[g];
            total[g] += p;
            for (int lane = 0; lane < L; ++lane) any_moved |= moved[g][lane] != 0;
          } else if (e == begin) {
            base[g] = d[g];
          }
          gain[g] = p * (d[g] - base[g]);
          t[g] += gain[g];
          held[g] += p * kept;
          bends[g] += p * x[g];
          turns[g] += gain[g] * x[g];
          x[g] = p;
        }
        if (any_moved && e > begin) rows_.add(gains.data(), moved, slopes.data());
        rows_.template add_slopes<2>({gains.data(), slopes.data()}, {gain, x}, key(j), query(i), slope_);
      }
      for (int g = 0; g < rows_.groups(); ++g) {
        store(target(i) + 2 * padded_ + g * L, a_.shift ? t[g] : t[g] + base[g]);
        if (a_.shift) store(target(i) + base_at() + g * L, base[g]);
        d[g] = -t[g];
      }
      rows_.add(gains.data(), d, slopes.data());
      if (a_.grad_bias) rows_.add(shares + size_, held, grad(i));
      for (int g = 0; a_.normalize && g < rows_.groups(); ++g) {
        x[g] = load<V>(target(i) + scale_at() + g * L);
        sum[g] += t[g] * bends[g] - turns[g];
        d[g] = to_lengths(i, g * L, t[g] * bends[g] - turns[g]);
      }
      if (a_.normalize) rows_.scale(gains.data(), x);
      through_scores(a_.grad_query + i * size_, shares, gains.data(), query(i));
      if (a_.normalize) this->add_length_gradient(a_.grad_query + i * size_, d, query_length(i), query(i));
    }
    save(shares + 2 * size_, sum);
  }

  // From the gradients of LeakyReLU's argument, over a and by channel: to a row in it, which is begun, and to a.
  void through_scores(T* grad_row, T* grad_attn, const T* gains, const T* row) const {
    for (size_t k = 0; k < size_; ++k) {
      grad_row[k] = a_.attn[k] * gains[k];
      grad_attn[k] += gains[k] * row[k];
    }
  }

  // From d loss / d log(1 / c_i) to the longest neighbour's length, which is kept, and to that of q_i, which is returned.
  V to_lengths(int64_t i, size_t at, V gradient) const {
    const V longest = load<V>(a_.longest_length + i * padded_ + at);
    const V size = size_of(i, at, longest);
    const V share = gradient / (ratio_of(i, at, longest, size) * size);
    store(a_.grad_length + i * padded_ + at, share * (longest / size));
    return share * (load<V>(query_length(i) + at) / size);
  }

  // Gradients of the weights of edges; a pass of its own, since few have such.
  void edges(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V x[G], d[G];
    for (int64_t i = first; i < end; ++i) {
      for (int64_t e = order.start[i]; e < order.start[i + 1]; ++e) {
        const int64_t j = order.other[e], edge = order.edge_id[e];
        score(i, j, x);
        worth(i, j, d);
        T sum = 0;
        for (int g = 0; g < rows_.groups(); ++g)
          sum += sum_of<T, L>(weigh(target(i) + g * L, x[g]) * d[g] * this->dropped(edge, g));
        a_.grad_edge_weight[edge] = sum;
      }
    }
  }

  // dk_j of every source, as a value and in the scores.
  void sources(int64_t first, int64_t end, T* grad_attn) const {
    const EdgeOrder& order = graph_.outgoing;
    V x[G], d[G], weight[G];
    typename Rows::Row gains(size_), sum(size_);
    rows_.clear(grad_attn);
    for (int64_t j = first; j < end; ++j) {
      rows_.clear(gains.data());
      rows_.clear(sum.data());
      for (int64_t e = order.start[j]; e < order.start[j + 1]; ++e) {
        const int64_t i = order.other[e];
        if (e + kAhead < graph_.num_edges) {
          fetch(query(order.other[e + kAhead]), size_);
          fetch(grad(order.other[e + kAhead]), size_);
          fetch(target(order.other[e + kAhead]), target_size());
        }
        score(i, j, x);
        worth(i, j, d);
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          const V p = weigh(at, x[g]), kept = scaled_ ? keep(order.edge_id[e], g) : fill<T, L>(1);
          d[g] *= kept;
          if (a_.shift) d[g] -= load<V>(at + base_at());
          d[g] = p * (d[g] - load<V>(at + 2 * padded_));
          if (a_.normalize) d[g] *= load<V>(at + scale_at());
          weight[g] = p * kept;
        }
        rows_.template add_slopes<1>({gains.data()}, {d}, key(j), query(i), slope_);
        rows_.add(sum.data(), weight, grad(i));
      }
      T* grad_key = a_.grad_key + j * size_;
      through_scores(grad_key, grad_attn, gains.data(), key(j));
      for (int g = 0; g < rows_.groups(); ++g) weight[g] = fill<T, L>(1);
      rows_.add(grad_key, weight, sum.data());
      if (!a_.normalize) continue;
      for (int g = 0; g < rows_.groups(); ++g) d[g] = this->brought(a_.grad_longest, j, g);
      this->add_length_gradient(grad_key, d, a_.key_length + j * padded_, key(j));
    }
  }

  // The shares of all pieces in d loss / d a and d loss / d bias, always in the same order; d|a| = (a / |a|).da.
  void add_shares(size_t share) const {
    this->sum_shares(a_.grad_attn, size_, a_.partial, graph_.outgoing.num_pieces, share);
    if (a_.grad_bias) this->sum_shares(a_.grad_bias, size_, a_.partial + 2 * size_, graph_.incoming.num_pieces, share);
    for (int64_t piece = 0; piece < graph_.incoming.num_pieces; ++piece)
      for (size_t k = 0; k < size_; ++k) a_.grad_attn[k] += a_.partial[piece * share + size_ + k];
    if (!a_.normalize) return;
    V to_length[G], inverse[G];
    typename Rows::Row unit(size_);
    for (int g = 0; g < rows_.groups(); ++g) {
      const V length = load<V>(a_.attn_length + g * L);
      inverse[g] = length > Base::tiny ? 1 / length : V{};
      to_length[g] = V{};
      for (int64_t piece = 0; piece < graph_.incoming.num_pieces; ++piece)
        to_length[g] += load<V>(a_.partial + piece * share + 3 * size_ + g * L);
      to_length[g] *= inverse[g];
    }
    rows_.copy(unit.data(), a_.attn);
    rows_.scale(unit.data(), inverse);
    rows_.add(a_.grad_attn, to_length, unit.data());
  }

  const Dynamic<T>& a_;
  const T slope_;
};

}  // namespace lipgnn
