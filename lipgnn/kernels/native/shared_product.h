// Attention whose heads share queries and keys of R channels and mix them (collaborative heads), with or without
// LipschitzNorm. For every target i, source j and head, with the mixing m of the head:
//
//   x_ij = (sum_r m_r q_ir k_jr) f_i s_i,   p_ij = w_i exp(x_ij - h_i),   sum_j p_ij = 1,   out_i = sum_j p_ij v_j
//
// f_i and s_i are those of dot_product.h with the lengths u = |sqrt|m| q_i| and v = max_j |sqrt|m| k_j|; without a norm
// f_i = 1 and s_i is the scale of the layer. A row of queries or keys is read once for all heads, times a power of two
// under the norm, which the score is divided by again. With d_ij = G_i.v_j, counted from a base (see attention.h):
//
//   t_i = sum_j p_ij d_ij,   c_ij = p_ij (d_ij - t_i) f_i s_i,   A_ir = sum_j c_ij k_jr,   B_jr = sum_i c_ij q_ir
//   dq_ir = sum_heads m_r A_ir + ...,   dk_jr = sum_heads m_r B_jr + ...,   dm_r = sum_i q_ir A_ir + ...
#pragma once

#include "mixing.h"
#include "product_attention.h"

namespace lipgnn {

// All arrays; rows of v and its gradients are in the order of the layout, those of out and grad_out width fastest.
template <typename T>
struct SharedProduct {
  Graph graph;
  int64_t heads, width, heads_fastest;
  int64_t normalize, shift;  // LipschitzNorm; whether scores can be too large for exp without taking off the largest
  int64_t channels;          // R
  double kappa, dropout, scale;
  uint64_t seed;
  const T* query;        // (M, R)
  const T* key;          // (N, R)
  const T* mixing;       // (R, P), zero beyond the last head
  const T* value;        // (N, H D)
  const T* edge_weight;  // (E), or null: multiplies p_ij after the softmax and dropout
  T* query_factor;       // (M): the power of two that q_i is multiplied by
  T* key_factor;         // (N): that of k_j
  T* query_length;       // (M, P): |sqrt|m| q_i|
  T* length;             // (N, 2, P): |sqrt|m| k_j|, |v_j|
  T* target;             // (M, 2 to 6, P): w_i, t_i, then f_i and s_i if normalized, then h_i and the base if shifted
  T* longest_length;     // (M, 2, P): the largest lengths among the neighbours
  int32_t* longest;      // (M, 2, P): the first sources of these lengths, -1 for none
  T* out;                // (M, H, D)
  T* spread;             // (M, 2, P), or null: the entropy of every target's weights, and the largest of them
  // backward
  const T* grad_out;    // (M, H, D)
  T* grad_rows;         // (M, H D): grad_out in the order of the layout, where that is another
  T* grad_length;       // (M, 2, P): d loss / d the largest lengths
  T* grad_longest;      // (2, P, N): these, brought to the longest sources
  T* grad_query;        // (M, R)
  T* grad_key;          // (N, R)
  T* grad_mixing;       // (R, P)
  T* grad_value;        // (N, H D)
  T* grad_edge_weight;  // (E), or null
  T* partial;           // (pieces, 2, R P): shares of grad_mixing, by targets and by sources
};

template <typename Rows>
class SharedProductAttention : ProductAttention<Rows, SharedProduct<typename Rows::T>> {
  using Base = ProductAttention<Rows, SharedProduct<typename Rows::T>>;
  using typename Base::T;
  using typename Base::V;
  using Base::a_, Base::graph_, Base::rows_, Base::scaled_, Base::size_, Base::padded_, Base::L, Base::G, Base::kBlock;
  using Base::own_length, Base::lengths, Base::target, Base::target_size, Base::highest_at, Base::base_at;
  using Base::value, Base::grad, Base::kept_first, Base::kept_second, Base::brought_to, Base::keep, Base::save, Base::weigh;
  // Up to so many edges of a target have their scores and slopes held while its gradient is computed.
  static constexpr int64_t kHeld = 512;

 public:
  explicit SharedProductAttention(const SharedProduct<T>& arrays)
      : Base(arrays, arrays.scale), mixing_(arrays.mixing, arrays.channels, rows_.groups()), channels_(arrays.channels) {}

  void forward() const {
    if (a_.normalize) {
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { measure_targets(first, end); });
      for_pieces(graph_.outgoing, graph_.threads, [&](int64_t, int64_t first, int64_t end) { measure_sources(first, end); });
    }
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { attend(first, end); });
    if (a_.spread)
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { measure_spread(first, end); });
  }

  void backward() const {
    const size_t size = mixing_.size();
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t piece, int64_t first, int64_t end) {
      targets(first, end, a_.partial + piece * 2 * size);
    });
    if (a_.grad_edge_weight)
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { edges(first, end); });
    if (a_.normalize) this->bring_lengths();
    for_pieces(graph_.outgoing, graph_.threads, [&](int64_t piece, int64_t first, int64_t end) {
      sources(first, end, a_.partial + (piece * 2 + 1) * size);
    });
    this->sum_shares(a_.grad_mixing, size, a_.partial, graph_.incoming.num_pieces, 2 * size);
    for (int64_t piece = 0; a_.normalize && piece < graph_.outgoing.num_pieces; ++piece)
      for (size_t k = 0; k < size; ++k) a_.grad_mixing[k] += a_.partial[(piece * 2 + 1) * size + k];
  }

 private:
  const T* query(int64_t node) const { return a_.query + node * channels_; }
  const T* key(int64_t node) const { return a_.key + node * channels_; }
  T query_factor(int64_t node) const { return a_.normalize ? a_.query_factor[node] : T(1); }
  T key_factor(int64_t node) const { return a_.normalize ? a_.key_factor[node] : T(1); }

  void measure_targets(int64_t first, int64_t end) const {
    for (int64_t node = first; node < end; ++node) {
      a_.query_factor[node] = mixing_.factor_of(query(node));
      mixing_.length(query(node), a_.query_factor[node], int(a_.heads), own_length(node));
    }
  }

  void measure_sources(int64_t first, int64_t end) const {
    V length[G];
    for (int64_t node = first; node < end; ++node) {
      a_.key_factor[node] = mixing_.factor_of(key(node));
      mixing_.length(key(node), a_.key_factor[node], int(a_.heads), lengths(node));
      rows_.length(value(node), length);
      save(lengths(node) + padded_, length);
    }
  }

  // Room for a few edges at once.
  struct Together {
    explicit Together(int64_t channels) : products(kTogether * channels), own(channels) {}
    std::vector<T> products, own;
    const T* rows[kTogether];
    T factors[kTogether];
  };

  // x_ij, always by the same operations: scores that are not bounded must have the bits that forward found, see `weigh`.
  V score_of(V sum, const T* at, T of_query, T of_key) const {
    if (!a_.normalize) return rounded(sum * kept_second(at));
    return rounded(sum * kept_first(at) * (1 / of_query) * kept_second(at) * (1 / of_key));
  }

  // The scores of edges of target i, whose query times its factor is `room.own`, (last - block, P).
  void score(int64_t i, int64_t block, int64_t last, Together& room, T* scores) const {
    const int32_t* other = graph_.incoming.other;
    for (int64_t e = block; e < last; e += kTogether) {
      const int count = int(std::min<int64_t>(kTogether, last - e));
      for (int n = 0; n < count; ++n) {
        const int64_t j = other[e + n];
        room.rows[n] = key(j), room.factors[n] = key_factor(j);
        if (e + n + 2 * kAhead < graph_.num_edges) fetch(key(other[e + n + 2 * kAhead]), channels_);
      }
      T* sums = scores + (e - block) * padded_;
      mixing_.mix(room.own.data(), room.rows, room.factors, count, room.products.data(), sums);
      for (int n = 0; n < count; ++n)
        for (int g = 0; g < rows_.groups(); ++g) {
          T* at = sums + n * padded_ + g * L;
          store(at, score_of(load<V>(at), target(i) + g * L, query_factor(i), room.factors[n]));
        }
    }
  }

  // The factors of every target, then its attention.
  void attend(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V first_factor[G], second_factor[G];
    std::vector<T> scores(kBlock * padded_);
    Together room(channels_);
    typename Rows::Row sum(size_);
    for (int64_t i = first; i < end; ++i) {
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      this->find_factors(i, begin, stop, first_factor, second_factor);
      mixing_.scale(room.own.data(), query(i), query_factor(i));
      this->gather(i, begin, stop, scores.data(), sum.data(), [&](int64_t block, int64_t last, T* found) {
        for (int64_t e = block; e < last; ++e) fetch(value(order.other[e]), size_);
        score(i, block, last, room, found);
      });
    }
  }

  void measure_spread(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V mean_score[G], largest[G];
    std::vector<T> scores(kBlock * padded_);
    Together room(channels_);
    for (int64_t i = first; i < end; ++i) {
      for (int g = 0; g < rows_.groups(); ++g) mean_score[g] = largest[g] = V{};
      mixing_.scale(room.own.data(), query(i), query_factor(i));
      for (int64_t block = order.start[i]; block < order.start[i + 1]; block += kBlock) {
        const int64_t last = std::min(block + kBlock, order.start[i + 1]);
        score(i, block, last, room, scores.data());
        for (int64_t e = block; e < last; ++e)
          for (int g = 0; g < rows_.groups(); ++g) {
            const T* at = target(i) + g * L;
            const V x = load<V>(scores.data() + (e - block) * padded_ + g * L), p = weigh(at, x);
            mean_score[g] += this->times_score(p, a_.shift ? x - load<V>(at + highest_at()) : x);
            largest[g] = larger(largest[g], p);
          }
      }
      for (int g = 0; g < rows_.groups(); ++g)
        this->save_spread(a_.spread + i * 2 * padded_ + g * L, mean_score[g], load<V>(target(i) + g * L), largest[g]);
    }
  }

  // What backward holds of the edges of a target, and sums over them.
  struct Held {
    std::vector<T> scores, slopes;
    V top[G], base[G], t[G], total[G], bends[G], turns[G];
  };

  // The scores and the slopes d_ij of edges of target i, (last - block, P) each.
  void measure(int64_t i, int64_t block, int64_t last, Together& room, Held& held) const {
    const EdgeOrder& order = graph_.incoming;
    score(i, block, last, room, held.scores.data());
    V d[G];
    for (int64_t e = block; e < last; ++e) {
      if (e + kAhead < graph_.num_edges) fetch(value(order.other[e + kAhead]), size_);
      rows_.dot(grad(i), value(order.other[e]), d);
      for (int g = 0; scaled_ && g < rows_.groups(); ++g) d[g] *= keep(order.edge_id[e], g);
      save(held.slopes.data() + (e - block) * padded_, d);
    }
  }

  // t_i and the base that it is counted from, and what is needed of the way scores move with their factors.
  void sum_slopes(int64_t i, int64_t begin, int64_t block, int64_t last, Held& held) const {
    for (int64_t e = block; e < last; ++e)
      for (int g = 0; g < rows_.groups(); ++g) {
        const size_t at = (e - block) * padded_ + g * L;
        const V x = load<V>(held.scores.data() + at), d = load<V>(held.slopes.data() + at);
        const V p = weigh(target(i) + g * L, x);
        if (a_.shift) {
          const V moved = this->rebase(x, d, held.top + g, held.base + g);
          held.t[g] -= moved * held.total[g];
          held.turns[g] -= moved * held.bends[g];
          held.total[g] += p;
        } else if (e == begin) {
          held.base[g] = d;
        }
        const V change = p * (d - held.base[g]);
        held.t[g] += change;
        held.bends[g] += p * x;
        held.turns[g] += change * x;
      }
  }

  // A_i without f_i: c_ij is computed in the place of the slopes.
  void add_edges(int64_t i, int64_t block, int64_t last, Together& room, Held& held, T* sums) const {
    for (int64_t e = block; e < last; e += kTogether) {
      const int count = int(std::min<int64_t>(kTogether, last - e));
      T* slopes = held.slopes.data() + (e - block) * padded_;
      for (int n = 0; n < count; ++n) {
        room.rows[n] = key(graph_.incoming.other[e + n]);
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          T* slope = slopes + n * padded_ + g * L;
          const V p = weigh(at, load<V>(held.scores.data() + (e + n - block) * padded_ + g * L));
          store(slope, p * (load<V>(slope) - held.base[g] - held.t[g]) * kept_second(at));
        }
      }
      mixing_.add(sums, room.rows, slopes, count);
    }
  }

  // dq_i and t_i of every target, its share of dm and, through its factors, the gradients of the three lengths.
  void targets(int64_t first, int64_t end, T* share) const {
    const EdgeOrder& order = graph_.incoming;
    Together room(channels_);
    Held held;
    std::vector<T> sums(mixing_.size());
    held.scores.resize(kHeld * padded_), held.slopes.resize(kHeld * padded_);
    std::fill_n(share, mixing_.size(), T(0));
    V factor[G], of_length[G] = {};
    for (int64_t i = first; i < end; ++i) {
      if (Rows::transposed) rows_.read(a_.grad_rows + i * size_, a_.grad_out + i * size_);
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      for (int g = 0; g < rows_.groups(); ++g) {
        held.top[g] = fill<T, L>(std::numeric_limits<T>::lowest());
        held.base[g] = held.t[g] = held.total[g] = held.bends[g] = held.turns[g] = V{};
      }
      mixing_.scale(room.own.data(), query(i), query_factor(i));
      for (int64_t block = begin; block < stop; block += kHeld) {
        const int64_t last = std::min(block + kHeld, stop);
        measure(i, block, last, room, held);
        sum_slopes(i, begin, block, last, held);
      }
      std::fill(sums.begin(), sums.end(), T(0));
      for (int64_t block = begin; block < stop; block += kHeld) {
        const int64_t last = std::min(block + kHeld, stop);
        if (stop - begin > kHeld) measure(i, block, last, room, held);
        add_edges(i, block, last, room, held, sums.data());
      }
      for (int g = 0; g < rows_.groups(); ++g) {
        store(target(i) + padded_ + g * L, a_.shift ? held.t[g] : held.t[g] + held.base[g]);
        if (a_.shift) store(target(i) + base_at() + g * L, held.base[g]);
        factor[g] = kept_first(target(i) + g * L);
        if (a_.normalize) of_length[g] = this->to_lengths(i, g * L, held.t[g] * held.bends[g] - held.turns[g]);
      }
      const T* length = a_.normalize ? own_length(i) : nullptr;
      finish(query(i), sums.data(), factor, of_length, length, a_.grad_query + i * channels_, share, true);
    }
  }

  // From the sums of c over the edges of a node, times `factor`, and the gradients of its lengths, to that of its row and
  // to the mixing, which a sum over the edges reaches only from one of their ends.
  void finish(const T* row, const T* sums, const V* factor, const V* of_length, const T* lengths, T* gradient, T* share,
              bool mixing_too) const {
    V inverse[G] = {};
    for (int g = 0; a_.normalize && g < rows_.groups(); ++g) {
      const V length = load<V>(lengths + g * L);
      inverse[g] = length > Base::tiny ? 1 / length : V{};
    }
    for (int r = 0; r < channels_; ++r) {
      T sum = 0;
      for (int g = 0; g < rows_.groups(); ++g) {
        const size_t at = r * padded_ + g * L;
        const V m = mixing_.at(r, g), through_edges = load<V>(sums + at) * factor[g];
        V to_row = m * through_edges, to_mixing = mixing_too ? through_edges * row[r] : V{};
        if (a_.normalize) {
          // d |sqrt|m| row| = (|m| row d row + sign(m) row^2 / 2 dm) / |sqrt|m| row|; no channel without m has a part.
          const V turned = m != 0 ? of_length[g] * (inverse[g] * row[r]) : V{};
          to_row += absolute(m) * turned;
          to_mixing += (m > 0 ? turned : -turned) * (row[r] / 2);
        }
        sum += sum_of<T, L>(to_row);
        if (mixing_too || a_.normalize) store(share + at, load<V>(share + at) + to_mixing);
      }
      gradient[r] = sum;
    }
  }

  // Gradients of the weights of edges; a pass of its own, since few have such.
  void edges(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V d[G];
    std::vector<T> scores(kBlock * padded_);
    Together room(channels_);
    for (int64_t i = first; i < end; ++i) {
      mixing_.scale(room.own.data(), query(i), query_factor(i));
      for (int64_t block = order.start[i]; block < order.start[i + 1]; block += kBlock) {
        const int64_t last = std::min(block + kBlock, order.start[i + 1]);
        score(i, block, last, room, scores.data());
        for (int64_t e = block; e < last; ++e) {
          rows_.dot(grad(i), value(order.other[e]), d);
          T sum = 0;
          for (int g = 0; g < rows_.groups(); ++g) {
            const V p = weigh(target(i) + g * L, load<V>(scores.data() + (e - block) * padded_ + g * L));
            sum += sum_of<T, L>(p * d[g] * this->dropped(order.edge_id[e], g));
          }
          a_.grad_edge_weight[order.edge_id[e]] = sum;
        }
      }
    }
  }

  // dk_j and dv_j of every source and, under the norm, its share of dm.
  void sources(int64_t first, int64_t end, T* share) const {
    const EdgeOrder& order = graph_.outgoing;
    Together room(channels_);
    std::vector<T> sums(mixing_.size()), scores(kTogether * padded_);
    typename Rows::Row to_value(size_);
    V factor[G], of_length[G] = {};
    for (int g = 0; g < rows_.groups(); ++g) factor[g] = fill<T, L>(1);
    if (a_.normalize) std::fill_n(share, mixing_.size(), T(0));
    for (int64_t j = first; j < end; ++j) {
      mixing_.scale(room.own.data(), key(j), key_factor(j));
      std::fill(sums.begin(), sums.end(), T(0));
      rows_.clear(to_value.data());
      for (int64_t e = order.start[j]; e < order.start[j + 1]; e += kTogether) {
        const int count = int(std::min<int64_t>(kTogether, order.start[j + 1] - e));
        for (int n = 0; n < count; ++n) {
          room.rows[n] = query(order.other[e + n]), room.factors[n] = query_factor(order.other[e + n]);
          if (e + n + kAhead >= graph_.num_edges) continue;
          const int64_t later = order.other[e + n + kAhead];
          fetch(query(later), channels_), fetch(grad(later), size_), fetch(target(later), target_size());
        }
        mixing_.mix(room.own.data(), room.rows, room.factors, count, room.products.data(), scores.data());
        for (int n = 0; n < count; ++n)
          from_target(j, e + n, room.factors[n], scores.data() + n * padded_, to_value.data());
        mixing_.add(sums.data(), room.rows, scores.data(), count);
      }
      for (int g = 0; a_.normalize && g < rows_.groups(); ++g) of_length[g] = this->brought(brought_to(0), j, g);
      const T* length = a_.normalize ? lengths(j) : nullptr;
      finish(key(j), sums.data(), factor, of_length, length, a_.grad_key + j * channels_, share, false);
      if (a_.normalize) {
        for (int g = 0; g < rows_.groups(); ++g) of_length[g] = this->brought(brought_to(1), j, g);
        this->add_length_gradient(to_value.data(), of_length, lengths(j) + padded_, value(j));
      }
      rows_.copy(a_.grad_value + j * size_, to_value.data());
    }
  }

  // The part of one edge in dv_j, and its c_ij in the place of its score.
  void from_target(int64_t j, int64_t e, T of_query, T* score, T* to_value) const {
    const int64_t i = graph_.outgoing.other[e], edge = graph_.outgoing.edge_id[e];
    V d[G], weight[G];
    rows_.dot(grad(i), value(j), d);
    for (int g = 0; g < rows_.groups(); ++g) {
      const T* at = target(i) + g * L;
      const V p = weigh(at, score_of(load<V>(score + g * L), at, of_query, key_factor(j)));
      const V kept = scaled_ ? keep(edge, g) : fill<T, L>(1), own = d[g] * kept;
      const V slope = (a_.shift ? own - load<V>(at + base_at()) : own) - load<V>(at + padded_);
      store(score + g * L, p * slope * kept_second(at) * kept_first(at));
      weight[g] = p * kept;
    }
    rows_.add(to_value, weight, grad(i));
  }

  const Mixing<T, L> mixing_;
  const int64_t channels_;
};

}  // namespace lipgnn
