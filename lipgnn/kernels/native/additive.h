// Attention with additive scores (GAT), with or without LipschitzNorm. For every target i, source j and head:
//
//   x_ij = (a_l.z_j + a_r.z_i) c_i,   c_i = 1 or 1 / (kappa |a| sqrt(max_j |z_j|^2 + |z_i|^2))
//   p_ij = w_i exp(LeakyReLU(x_ij) - h_i),   sum_j p_ij = 1,   out_i = sum_j p_ij z_j + bias
//
// where h_i is the largest score, or 0 where all are bounded. Backward recomputes p_ij from the values of its two nodes.
// With G = d loss / d out, d_ij = G_i.z_j counted from a base (see attention.h), and slope m_ij:
//
//   t_i = sum_j p_ij d_ij,   dx_ij = m_ij p_ij (d_ij - t_i),   dz_j = sum_i p_ij G_i + ...,   d log c_i = sum_j dx_ij x_ij
#pragma once

#include "attention.h"

namespace lipgnn {

// All arrays; rows of z, attn and grad_z are in the order of the layout, those of out and grad_out width fastest.
// P is the number of heads, filled up to whole vectors. N sources and M targets; where z_target is null, both are the
// same nodes with the same features. Edge weights multiply p_ij after the softmax and dropout.
template <typename T>
struct Additive {
  Graph graph;
  int64_t heads, width, heads_fastest;
  int64_t normalize, shift;  // LipschitzNorm; whether scores can be too large for exp without taking off the largest
  double kappa, slope, dropout;
  uint64_t seed;
  const T* z;           // (N, H D)
  const T* z_target;    // (M, H D), or null
  const T* attn;        // (2, H D): a_l, a_r
  const T* bias;        // (H D), or null
  const T* edge_weight; // (E), or null
  T* attn_length;       // (P): |a|
  T* source;            // (N, 2, P): a_l.z_j, |z_j|
  T* target;            // (M, 4 to 6, P): a_r.z_i, w_i, t_i, then c_i if normalized, then h_i and the base if shifted
  T* own_length;        // (M, P): |z_i| of targets that are no sources; else null
  T* longest_length;    // (M, P): max_j |z_j|
  int32_t* longest;     // (M, P): the first source of that length, -1 for none
  T* out;               // (M, H, D)
  T* spread;            // (M, 2, P), or null: the entropy of every target's weights, and the largest of them
  // backward
  const T* grad_out;    // (M, H, D)
  T* grad_rows;         // (M, H D): grad_out in the order of the layout, where that is another
  T* grad_right;        // (M, P): d loss / d a_r.z_i
  T* grad_length;       // (M, 2, P): d loss / d |z_i| as target, d loss / d max_j |z_j|
  T* grad_longest;      // (P, N): the latter, brought to the longest sources
  T* grad_z;            // (N, H D)
  T* grad_z_target;     // (M, H D), or null
  T* grad_attn;         // (2, H D)
  T* grad_bias;         // (H D), or null
  T* grad_edge_weight;  // (E), or null
  T* partial;           // (pieces, 3 H D + P): shares of d loss / d a_l, d loss / d a_r, d loss / d bias, d loss / d log |a|
};

template <typename Rows>
class AdditiveAttention : Attention<Rows> {
  using Base = Attention<Rows>;
  using typename Base::M;
  using typename Base::T;
  using typename Base::V;
  using Base::graph_, Base::rows_, Base::scaled_, Base::size_, Base::padded_, Base::L, Base::keep, Base::save;
  static constexpr int G = Rows::G;

 public:
  explicit AdditiveAttention(const Additive<T>& arrays)
      : Base(arrays.graph, arrays.heads, arrays.width, arrays.dropout, arrays.seed, arrays.edge_weight), a_(arrays), slope_(T(arrays.slope)) {}

  void forward() const {
    if (a_.normalize) measure_attn();
    describe();
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { attend(first, end); });
    if (a_.spread)
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) {
        a_.shift ? measure_spread<true>(first, end) : measure_spread<false>(first, end);
      });
  }

  void backward() const { a_.shift ? backward<true>() : backward<false>(); }

 private:
  // Scores that need no shift are those of LipschitzNorm.
  template <bool Shift>
  bool normalized() const { return !Shift || a_.normalize; }

  template <bool Shift>
  void backward() const {
    const size_t share = 3 * size_ + padded_;
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t piece, int64_t first, int64_t end) {
      targets<Shift>(first, end, a_.partial + piece * share + 2 * size_);
    });
    if (a_.grad_edge_weight)
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { edges<Shift>(first, end); });
    if (a_.normalize) this->bring_to_longest(a_.grad_longest, a_.longest, padded_, a_.grad_length + padded_, 2 * padded_);
    for_pieces(graph_.outgoing, graph_.threads, [&](int64_t piece, int64_t first, int64_t end) {
      sources<Shift>(first, end, a_.partial + piece * share);
    });
    add_shares(share);
  }

  T* source(int64_t node) const { return a_.source + node * 2 * padded_; }
  T* target(int64_t node) const { return a_.target + node * target_size(); }
  size_t target_size() const { return (3 + a_.normalize + 2 * a_.shift) * padded_; }
  size_t scale_at() const { return 3 * padded_; }
  size_t highest_at() const { return (3 + a_.normalize) * padded_; }
  size_t base_at() const { return (4 + a_.normalize) * padded_; }
  const T* z(int64_t node) const { return a_.z + node * size_; }
  const T* own_z(int64_t node) const { return (a_.z_target ? a_.z_target : a_.z) + node * size_; }
  const T* own_length(int64_t node) const {
    return a_.z_target ? a_.own_length + node * padded_ : source(node) + padded_;
  }
  const T* grad(int64_t node) const { return (Rows::transposed ? a_.grad_rows : a_.grad_out) + node * size_; }

  // |a| with a = [a_l, a_r].
  void measure_attn() const {
    V left[G], right[G];
    rows_.length(a_.attn, left);
    rows_.length(a_.attn + size_, right);
    for (int g = 0; g < rows_.groups(); ++g) {
      const V size = nonzero<T, L>(larger(left[g], right[g]));
      const V ratio = nonzero<T, L>((left[g] / size) * (left[g] / size) + (right[g] / size) * (right[g] / size));
      store(a_.attn_length + g * L, size * root<T, L>(ratio));
    }
  }

  // a_l.z, a_r.z and |z| of every node; in one pass where sources are targets too.
  void describe() const {
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) {
      for (int64_t node = first; node < end; ++node) {
        if (!a_.z_target) describe_source(node);
        describe_target(node);
      }
    });
    if (!a_.z_target) return;
    for_pieces(graph_.outgoing, graph_.threads, [&](int64_t, int64_t first, int64_t end) {
      for (int64_t node = first; node < end; ++node) describe_source(node);
    });
  }

  void describe_source(int64_t node) const {
    V value[G];
    rows_.dot(a_.attn, z(node), value);
    save(source(node), value);
    if (!a_.normalize) return;
    rows_.length(z(node), value);
    save(source(node) + padded_, value);
  }

  void describe_target(int64_t node) const {
    V value[G];
    rows_.dot(a_.attn + size_, own_z(node), value);
    save(target(node), value);
    if (!a_.normalize || !a_.z_target) return;
    rows_.length(own_z(node), value);
    save(a_.own_length + node * padded_, value);
  }

  // c_i and the largest score of every target, then its attention in one pass over its neighbours.
  void attend(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V inverse[G], highest[G], total[G], weight[G], once[G];
    typename Rows::Row sum(size_);
    for (int g = 0; g < rows_.groups(); ++g) once[g] = fill<T, L>(1);
    for (int64_t i = first; i < end; ++i) {
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      scan_neighbours(i, begin, stop, inverse, highest);
      for (int g = 0; g < rows_.groups(); ++g) total[g] = V{};
      rows_.clear(sum.data());
      for (int64_t e = begin; e < stop; ++e) {
        const int64_t j = order.other[e];
        if (e + kAhead < graph_.num_edges) fetch(z(order.other[e + kAhead]), size_);
        for (int g = 0; g < rows_.groups(); ++g) {
          const V x = (load<V>(source(j) + g * L) + load<V>(target(i) + g * L)) * inverse[g];
          const V p = exponential<T, L>(leaky(x, slope_) - highest[g]);
          total[g] += p;
          weight[g] = scaled_ ? p * keep(order.edge_id[e], g) : p;
        }
        rows_.add(sum.data(), weight, z(j));
      }
      for (int g = 0; g < rows_.groups(); ++g) {
        const V safe = begin < stop ? total[g] : fill<T, L>(1);
        weight[g] = 1 / safe;
        store(target(i) + padded_ + g * L, weight[g]);
        if (a_.normalize) store(target(i) + scale_at() + g * L, inverse[g]);
        if (a_.shift) store(target(i) + highest_at() + g * L, highest[g]);
      }
      rows_.scale(sum.data(), weight);
      if (a_.bias) rows_.add(sum.data(), once, a_.bias);
      rows_.write(a_.out + i * size_, sum.data());
    }
  }

  // First pass over the neighbours of a target: the longest of them, which gives c_i, and the largest score, which is
  // that of the largest a_l.z_j because LeakyReLU rises.
  void scan_neighbours(int64_t i, int64_t begin, int64_t stop, V* inverse, V* highest) const {
    for (int g = 0; g < rows_.groups(); ++g) {
      const size_t at = g * L;
      inverse[g] = fill<T, L>(1);
      highest[g] = V{};
      if (a_.normalize) {
        V longest;
        M number;
        this->find_longest(a_.source + padded_ + at, 2 * padded_, begin, stop, &longest, &number);
        this->save_numbers(a_.longest + i * padded_ + at, number);
        store(a_.longest_length + i * padded_ + at, longest);
        const V size = size_of(i, at, longest), root_of_ratio = root<T, L>(ratio_of(i, at, longest, size));
        inverse[g] = (1 / size) * (1 / load<V>(a_.attn_length + at)) / (T(a_.kappa) * root_of_ratio);
      }
      if (a_.shift && begin < stop) {
        V left = load<V>(source(graph_.incoming.other[begin]) + at);
        for (int64_t e = begin + 1; e < stop; ++e) {
          if (e + 2 * kAhead < graph_.num_edges) __builtin_prefetch(source(graph_.incoming.other[e + 2 * kAhead]) + at);
          left = larger(left, load<V>(source(graph_.incoming.other[e]) + at));
        }
        highest[g] = leaky((left + load<V>(target(i) + at)) * inverse[g], slope_);
      }
    }
  }

  // max(longest neighbour, own length), or 1 where both are zero.
  V size_of(int64_t i, size_t at, V longest) const {
    return nonzero<T, L>(larger(longest, load<V>(own_length(i) + at)));
  }

  // (longest^2 + own^2) / size^2, or 1 where both are zero.
  V ratio_of(int64_t i, size_t at, V longest, V size) const {
    const V own = load<V>(own_length(i) + at) / size;
    longest /= size;
    return nonzero<T, L>(longest * longest + own * own);
  }

  // Scores, slopes and weights of an edge, from what forward kept and by the same operations: scores may be so large
  // that the last digit of one is more than exp can bear.
  template <bool Shift>
  void weigh(const T* at, V left, V* x, V* m, V* p) const {
    *x = left + load<V>(at);
    if (normalized<Shift>()) *x *= load<V>(at + scale_at());
    *m = *x > 0 ? fill<T, L>(1) : fill<T, L>(slope_);
    const V score = Shift ? leaky(*x, slope_) - load<V>(at + highest_at()) : *x * *m;
    *p = exponential<T, L>(score) * load<V>(at + padded_);
  }

  template <bool Shift>
  void measure_spread(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    for (int64_t i = first; i < end; ++i) {
      for (int g = 0; g < rows_.groups(); ++g) {
        const T* at = target(i) + g * L;
        V mean_score{}, largest{};
        for (int64_t e = order.start[i]; e < order.start[i + 1]; ++e) {
          V x, m, p;
          weigh<Shift>(at, load<V>(source(order.other[e]) + g * L), &x, &m, &p);
          mean_score += this->times_score(p, Shift ? leaky(x, slope_) - load<V>(at + highest_at()) : x * m);
          largest = larger(largest, p);
        }
        this->save_spread(a_.spread + i * 2 * padded_ + g * L, mean_score, load<V>(at + padded_), largest);
      }
    }
  }

  // Gradients of the values of every target: t_i, d a_r.z_i and, through log c_i, of both lengths. The shares of
  // the piece are written to `shares`: of the bias, and of log |a| behind it.
  template <bool Shift>
  void targets(int64_t first, int64_t end, T* shares) const {
    const EdgeOrder& order = graph_.incoming;
    V d[G], top[G], base[G], t[G], total[G], slopes[G], gains[G], bends[G], turns[G], sum[G], once[G];
    for (int g = 0; g < rows_.groups(); ++g) sum[g] = V{}, once[g] = fill<T, L>(1);
    rows_.clear(shares);
    if (a_.z_target) rows_.clear(shares - size_);
    for (int64_t i = first; i < end; ++i) {
      if (Rows::transposed) rows_.read(a_.grad_rows + i * size_, a_.grad_out + i * size_);
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      for (int g = 0; g < rows_.groups(); ++g) {
        top[g] = fill<T, L>(std::numeric_limits<T>::lowest());
        base[g] = t[g] = total[g] = slopes[g] = gains[g] = bends[g] = turns[g] = V{};
      }
      for (int64_t e = begin; e < stop; ++e) {
        const int64_t j = order.other[e];
        if (e + kAhead < graph_.num_edges) {
          fetch(z(order.other[e + kAhead]), size_);
          fetch(source(order.other[e + kAhead]), padded_);
        }
        rows_.dot(grad(i), z(j), d);
        for (int g = 0; g < rows_.groups(); ++g) {
          V x, m, p;
          weigh<Shift>(target(i) + g * L, load<V>(source(j) + g * L), &x, &m, &p);
          if (scaled_) d[g] *= keep(order.edge_id[e], g);
          if constexpr (Shift) {
            const V moved = this->rebase(x, d[g], top + g, base + g);
            t[g] -= moved * total[g];
            gains[g] -= moved * slopes[g];
            if (a_.normalize) turns[g] -= moved * bends[g];
            total[g] += p;
          } else if (e == begin) {
            base[g] = d[g];
          }
          const V change = d[g] - base[g], pm = p * m;
          t[g] += p * change;
          slopes[g] += pm;
          gains[g] += pm * change;
          if (normalized<Shift>()) {
            bends[g] += pm * x;
            turns[g] += pm * change * x;
          }
        }
      }
      for (int g = 0; g < rows_.groups(); ++g) {
        const size_t at = g * L;
        store(target(i) + 2 * padded_ + at, Shift ? t[g] : t[g] + base[g]);
        if constexpr (Shift) store(target(i) + base_at() + at, base[g]);
        V right = gains[g] - t[g] * slopes[g];
        if (normalized<Shift>()) {
          right *= load<V>(target(i) + scale_at() + at);
          sum[g] += to_lengths(i, at, t[g] * bends[g] - turns[g]);
        }
        store(a_.grad_right + i * padded_ + at, right);
      }
      if (a_.grad_bias) rows_.add(shares, once, grad(i));
      if (a_.z_target) through_target(i, shares - size_);
    }
    save(shares + size_, sum);
  }

  // From d loss / d log(1 / c_i) to the two lengths under its root; the same goes to log |a|.
  V to_lengths(int64_t i, size_t at, V gradient) const {
    const V longest = load<V>(a_.longest_length + i * padded_ + at);
    const V size = size_of(i, at, longest);
    const V share = gradient / (ratio_of(i, at, longest, size) * size);
    T* lengths = a_.grad_length + i * 2 * padded_ + at;
    store(lengths, share * (load<V>(own_length(i) + at) / size));
    store(lengths + padded_, share * (longest / size));
    return gradient;
  }

  // Gradients of the weights of edges; a pass of its own, since few have such.
  template <bool Shift>
  void edges(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V d[G];
    for (int64_t i = first; i < end; ++i) {
      for (int64_t e = order.start[i]; e < order.start[i + 1]; ++e) {
        const int64_t j = order.other[e], edge = order.edge_id[e];
        rows_.dot(grad(i), z(j), d);
        T sum = 0;
        for (int g = 0; g < rows_.groups(); ++g) {
          V x, m, p;
          weigh<Shift>(target(i) + g * L, load<V>(source(j) + g * L), &x, &m, &p);
          sum += sum_of<T, L>(p * d[g] * this->dropped(edge, g));
        }
        a_.grad_edge_weight[edge] = sum;
      }
    }
  }

  // a_r.z_i and |z_i| of a target that is no source back to z_i, and the first to a_r.
  void through_target(int64_t i, T* grad_right) const {
    V right[G], length[G];
    T* sum = a_.grad_z_target + i * size_;
    for (int g = 0; g < rows_.groups(); ++g) right[g] = load<V>(a_.grad_right + i * padded_ + g * L);
    rows_.clear(sum);
    rows_.add(sum, right, a_.attn + size_);
    rows_.add(grad_right, right, own_z(i));
    if (!a_.normalize) return;
    for (int g = 0; g < rows_.groups(); ++g) length[g] = load<V>(a_.grad_length + i * 2 * padded_ + g * L);
    this->add_length_gradient(sum, length, own_length(i), own_z(i));
  }

  // Gradient of every node's features, as a source of others and through its own values.
  template <bool Shift>
  void sources(int64_t first, int64_t end, T* grad_attn) const {
    const EdgeOrder& order = graph_.outgoing;
    V d[G], weight[G], left[G];
    typename Rows::Row sum(size_);
    rows_.clear(grad_attn);
    if (!a_.z_target) rows_.clear(grad_attn + size_);
    for (int64_t j = first; j < end; ++j) {
      for (int g = 0; g < rows_.groups(); ++g) left[g] = V{};
      rows_.clear(sum.data());
      for (int64_t e = order.start[j]; e < order.start[j + 1]; ++e) {
        const int64_t i = order.other[e];
        if (e + kAhead < graph_.num_edges) {
          fetch(grad(order.other[e + kAhead]), size_);
          fetch(target(order.other[e + kAhead]), target_size());
        }
        rows_.dot(grad(i), z(j), d);
        for (int g = 0; g < rows_.groups(); ++g) {
          V x, m, p;
          const T* at = target(i) + g * L;
          weigh<Shift>(at, load<V>(source(j) + g * L), &x, &m, &p);
          const V kept = scaled_ ? keep(order.edge_id[e], g) : fill<T, L>(1);
          d[g] *= kept;
          if constexpr (Shift) d[g] -= load<V>(at + base_at());
          d[g] -= load<V>(at + 2 * padded_);
          if (normalized<Shift>()) d[g] *= load<V>(at + scale_at());
          left[g] += p * m * d[g];
          weight[g] = p * kept;
        }
        rows_.add(sum.data(), weight, grad(i));
      }
      through_own_values(j, left, sum.data(), grad_attn);
      rows_.copy(a_.grad_z + j * size_, sum.data());
    }
  }

  // a_l.z_j, a_r.z_j and |z_j| back to z_j, and the first two to a_l and a_r; of sources that are no targets, without a_r.
  void through_own_values(int64_t j, const V* left, T* sum, T* grad_attn) const {
    V right[G], length[G];
    rows_.add(sum, left, a_.attn);
    rows_.add(grad_attn, left, z(j));
    if (!a_.z_target) {
      for (int g = 0; g < rows_.groups(); ++g) right[g] = load<V>(a_.grad_right + j * padded_ + g * L);
      rows_.add(sum, right, a_.attn + size_);
      rows_.add(grad_attn + size_, right, z(j));
    }
    if (!a_.normalize) return;
    for (int g = 0; g < rows_.groups(); ++g) {
      length[g] = this->brought(a_.grad_longest, j, g);
      if (!a_.z_target) length[g] = load<V>(a_.grad_length + j * 2 * padded_ + g * L) + length[g];
    }
    this->add_length_gradient(sum, length, source(j) + padded_, z(j));
  }

  // The shares of all pieces in d loss / d a and d loss / d bias, always in the same order; d log|a| = a.da / |a|^2.
  void add_shares(size_t share) const {
    V to_log[G];
    for (int g = 0; g < rows_.groups(); ++g) to_log[g] = V{};
    for (int64_t piece = 0; piece < graph_.incoming.num_pieces; ++piece)
      for (int g = 0; g < rows_.groups(); ++g) to_log[g] += load<V>(a_.partial + piece * share + 3 * size_ + g * L);
    const int64_t right_pieces = (a_.z_target ? graph_.incoming : graph_.outgoing).num_pieces;
    this->sum_shares(a_.grad_attn, size_, a_.partial, graph_.outgoing.num_pieces, share);
    this->sum_shares(a_.grad_attn + size_, size_, a_.partial + size_, right_pieces, share);
    if (a_.grad_bias) this->sum_shares(a_.grad_bias, size_, a_.partial + 2 * size_, graph_.incoming.num_pieces, share);
    if (!a_.normalize) return;
    for (int g = 0; g < rows_.groups(); ++g) {
      const V length = load<V>(a_.attn_length + g * L);
      to_log[g] = to_log[g] / length / length;
    }
    rows_.add(a_.grad_attn, to_log, a_.attn);
    rows_.add(a_.grad_attn + size_, to_log, a_.attn + size_);
  }

  const Additive<T>& a_;
  const T slope_;
};

}  // namespace lipgnn
