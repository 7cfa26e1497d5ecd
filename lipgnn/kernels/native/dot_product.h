// Attention with dot-product scores (Graph Transformer), with or without LipschitzNorm. For every target i, source j, head:
//
//   x_ij = (f_i q_i).k_j s_i,   p_ij = w_i exp(x_ij - h_i),   sum_j p_ij = 1,   out_i = sum_j p_ij v_j
//
// f_i s_i = 1 / (kappa max{u v, u w, v w}) with u = |q_i|, v = max_j |k_j|, w = max_j |v_j|; two factors, because their
// product could be too small to write down. Without a norm f_i = 1, s_i = 1 / sqrt(D). h_i is the largest score, or 0
// where all are bounded. Backward recomputes p_ij. With d_ij = G_i.v_j, counted from a base (see attention.h):
//
//   t_i = sum_j p_ij d_ij,   dx_ij = p_ij (d_ij - t_i),   dq_i = f_i s_i sum_j dx_ij k_j + ...,   dk_j = sum_i dx_ij f_i s_i q_i + ...
//
// Where edges have types, the key of an edge of type t is k_j + e_t, and v the length of the longest such. The sum is made
// anew, in registers or the nearest cache, whenever an edge is met: there are few codes e_t, which stay near, and
// |k + e|^2 from products would be rounding errors alone where k and -e are nearly the same.
#pragma once

#include "product_attention.h"

namespace lipgnn {

// All arrays; rows of q, k, v and their gradients are in the order of the layout, those of out and grad_out width fastest.
// N sources and M targets; of a graph with one kind of nodes they are the same.
template <typename T>
struct DotProduct {
  Graph graph;
  int64_t heads, width, heads_fastest;
  int64_t normalize, shift;  // LipschitzNorm; whether scores can be too large for exp without taking off the largest
  int64_t types, shares;     // of edges, and of the gradient of their codes; 0 without types
  double kappa, dropout;
  uint64_t seed;
  const T* query;        // (M, H D)
  const T *key, *value;  // (N, H D)
  const T* edge_weight;  // (E), or null: multiplies p_ij after the softmax and dropout
  T* query_length;       // (M, P): |q_i|
  T* length;             // (N, 2, P): |k_j|, |v_j|; with types the first is left as it is
  T* target;             // (M, 4 or 6, P): w_i, t_i, then f_i and s_i if normalized, then h_i and the base if shifted
  T* longest_length;     // (M, 2, P): max_j |k_j|, max_j |v_j|
  int32_t* longest;      // (M, 2, P): the first sources of these lengths, -1 for none; with types the edge of the first
  T* out;                // (M, H, D)
  T* spread;             // (M, 2, P), or null: the entropy of every target's weights, and the largest of them
  // backward
  const T* grad_out;        // (M, H, D)
  T* grad_rows;             // (M, H D): grad_out in the order of the layout, where that is another
  T* grad_length;           // (M, 2, P): d loss / d max_j |k_j|, over max_j |k_j| with types; d loss / d max_j |v_j|
  T* grad_longest;          // (2, P, N): these, brought to the longest sources; with types the second alone
  T* grad_query;            // (M, H D)
  T *grad_key, *grad_value; // (N, H D)
  T* grad_edge_weight;      // (E), or null
  // of edges with types
  const T* code;                                 // (types, H D)
  const int32_t *incoming_type, *outgoing_type;  // (E): that of every edge, in either order
  T* grad_code;                                  // (types, H D)
  T* partial;                                    // (shares, types, H D): grad_code of a share of the sources
};

template <typename Rows, bool Typed>
class DotProductForm : ProductAttention<Rows, DotProduct<typename Rows::T>> {
  using Base = ProductAttention<Rows, DotProduct<typename Rows::T>>;
  using typename Base::M;
  using typename Base::T;
  using typename Base::V;
  using Base::a_, Base::graph_, Base::rows_, Base::scaled_, Base::size_, Base::padded_, Base::L, Base::G, Base::kBlock;
  using Base::own_length, Base::lengths, Base::target, Base::target_size, Base::highest_at, Base::base_at;
  using Base::value, Base::grad, Base::kept_first, Base::kept_second, Base::brought_to, Base::keep, Base::save, Base::weigh;

 public:
  explicit DotProductForm(const DotProduct<T>& arrays) : Base(arrays, 1 / std::sqrt(double(arrays.width))) {}

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
    for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { targets(first, end); });
    if (a_.grad_edge_weight)
      for_pieces(graph_.incoming, graph_.threads, [&](int64_t, int64_t first, int64_t end) { edges(first, end); });
    if constexpr (Typed) {
      if (a_.normalize) this->bring_length(1);
      shares_of_codes();
    } else {
      if (a_.normalize) this->bring_lengths();
      for_pieces(graph_.outgoing, graph_.threads, [&](int64_t, int64_t first, int64_t end) { sources(first, end); });
    }
  }

 private:
  const T* query(int64_t node) const { return a_.query + node * size_; }
  const T* key(int64_t node) const { return a_.key + node * size_; }
  const T* code(int32_t type) const { return a_.code + type * size_; }

  // The key of the edge at place e of the incoming ones; where it is a sum, `room` holds it.
  const T* key_of(int64_t e, T* room) const {
    const T* own = key(graph_.incoming.other[e]);
    if constexpr (Typed) {
      rows_.sum(room, own, code(a_.incoming_type[e]));
      return room;
    }
    return own;
  }

  void measure_targets(int64_t first, int64_t end) const {
    V length[G];
    for (int64_t node = first; node < end; ++node) {
      rows_.length(query(node), length);
      save(own_length(node), length);
    }
  }

  void measure_sources(int64_t first, int64_t end) const {
    V length[G];
    for (int64_t node = first; node < end; ++node) {
      if constexpr (!Typed) {
        rows_.length(key(node), length);
        save(lengths(node), length);
      }
      rows_.length(value(node), length);
      save(lengths(node) + padded_, length);
    }
  }

  // The factors of every target, then its attention.
  void attend(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V first_factor[G], second_factor[G];
    std::vector<T> scores(kBlock * padded_);
    typename Rows::Row scaled(size_), sum(size_), room(size_);
    for (int64_t i = first; i < end; ++i) {
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      if constexpr (Typed) {
        V longest[G];
        M edge[G];
        if (a_.normalize) find_longest_key(begin, stop, longest, edge, room.data());
        this->template find_factors<true>(i, begin, stop, first_factor, second_factor, longest, edge);
      } else {
        this->find_factors(i, begin, stop, first_factor, second_factor);
      }
      rows_.copy(scaled.data(), query(i));
      rows_.scale(scaled.data(), first_factor);
      this->gather(i, begin, stop, scores.data(), sum.data(), [&](int64_t block, int64_t last, T* found) {
        score(scaled.data(), second_factor, block, last, found, room.data());
      });
    }
  }

  void score(const T* scaled, const V* factor, int64_t block, int64_t last, T* scores, T* room) const {
    const int32_t* other = graph_.incoming.other;
    V score[G];
    for (int64_t e = block; e < last; ++e) {
      fetch(value(other[e]), size_);
      if (e + kAhead < graph_.num_edges) fetch(key(other[e + kAhead]), size_);
      rows_.dot(scaled, key_of(e, room), score);
      for (int g = 0; g < rows_.groups(); ++g) score[g] *= factor[g];
      save(scores + (e - block) * padded_, score);
    }
  }

  // The longest key of the edges that enter a target, and the number of its edge, the first where several are.
  void find_longest_key(int64_t begin, int64_t stop, V* length, M* number, T* room) const {
    const EdgeOrder& order = graph_.incoming;
    V own[G];
    for (int g = 0; g < rows_.groups(); ++g) length[g] = fill<T, L>(-1), number[g] = M{} - 1;
    for (int64_t e = begin; e < stop; ++e) {
      if (e + kAhead < graph_.num_edges) fetch(key(order.other[e + kAhead]), size_);
      rows_.length(key_of(e, room), own);
      for (int g = 0; g < rows_.groups(); ++g) {
        const M better = own[g] > length[g];
        length[g] = better ? own[g] : length[g];
        number[g] = better ? M{} + Integer<T>(order.edge_id[e]) : number[g];
      }
    }
    for (int g = 0; g < rows_.groups(); ++g) length[g] = begin < stop ? length[g] : V{};
  }

  void measure_spread(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V x[G], factor[G], mean_score[G], largest[G];
    typename Rows::Row scaled(size_), room(size_);
    for (int64_t i = first; i < end; ++i) {
      for (int g = 0; g < rows_.groups(); ++g) {
        factor[g] = kept_first(target(i) + g * L);
        mean_score[g] = largest[g] = V{};
      }
      rows_.copy(scaled.data(), query(i));
      rows_.scale(scaled.data(), factor);
      for (int64_t e = order.start[i]; e < order.start[i + 1]; ++e) {
        rows_.dot(scaled.data(), key_of(e, room.data()), x);
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          x[g] *= kept_second(at);
          const V p = weigh(at, x[g]);
          mean_score[g] += this->times_score(p, a_.shift ? x[g] - load<V>(at + highest_at()) : x[g]);
          largest[g] = larger(largest[g], p);
        }
      }
      for (int g = 0; g < rows_.groups(); ++g)
        this->save_spread(a_.spread + i * 2 * padded_ + g * L, mean_score[g], load<V>(target(i) + g * L), largest[g]);
    }
  }

  // dq_i and t_i of every target and, through its factors, the gradients of the three lengths.
  void targets(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V x[G], d[G], top[G], base[G], t[G], total[G], bends[G], turns[G], weight[G], moved[G];
    typename Rows::Row scaled(size_), gains(size_), slopes(size_), room(size_);
    for (int64_t i = first; i < end; ++i) {
      if (Rows::transposed) rows_.read(a_.grad_rows + i * size_, a_.grad_out + i * size_);
      const int64_t begin = order.start[i], stop = order.start[i + 1];
      for (int g = 0; g < rows_.groups(); ++g) {
        top[g] = fill<T, L>(std::numeric_limits<T>::lowest());
        base[g] = t[g] = total[g] = bends[g] = turns[g] = V{};
        weight[g] = kept_first(target(i) + g * L);
      }
      rows_.copy(scaled.data(), query(i));
      rows_.scale(scaled.data(), weight);
      rows_.clear(gains.data());
      rows_.clear(slopes.data());
      for (int64_t e = begin; e < stop; ++e) {
        const int64_t j = order.other[e];
        if (e + kAhead < graph_.num_edges) {
          fetch(key(order.other[e + kAhead]), size_);
          fetch(value(order.other[e + kAhead]), size_);
        }
        const T* key_now = key_of(e, room.data());
        rows_.dot(scaled.data(), key_now, x);
        rows_.dot(grad(i), value(j), d);
        V gain[G], slope[G];
        bool any_moved = false;
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          const V factor = kept_second(at);
          x[g] *= factor;
          const V p = weigh(at, x[g]);
          if (scaled_) d[g] *= keep(order.edge_id[e], g);
          if (a_.shift) {
            moved[g] = -this->rebase(x[g], d[g], top + g, base + g);
            t[g] += moved[g] * total[g];
            turns[g] += moved[g] * bends[g];
            total[g] += p;
            for (int lane = 0; lane < L; ++lane) any_moved |= moved[g][lane] != 0;
          } else if (e == begin) {
            base[g] = d[g];
          }
          const V change = p * (d[g] - base[g]);
          t[g] += change;
          bends[g] += p * x[g];
          turns[g] += change * x[g];
          gain[g] = change * factor;
          slope[g] = p * factor;
        }
        if (any_moved && e > begin) rows_.add(gains.data(), moved, slopes.data());
        rows_.add(gains.data(), gain, key_now);
        rows_.add(slopes.data(), slope, key_now);
      }
      for (int g = 0; g < rows_.groups(); ++g) {
        store(target(i) + padded_ + g * L, a_.shift ? t[g] : t[g] + base[g]);
        if (a_.shift) store(target(i) + base_at() + g * L, base[g]);
        d[g] = -t[g];
      }
      rows_.add(gains.data(), d, slopes.data());
      rows_.scale(gains.data(), weight);
      if (a_.normalize) {
        for (int g = 0; g < rows_.groups(); ++g) d[g] = this->to_lengths(i, g * L, t[g] * bends[g] - turns[g]);
        if constexpr (Typed) over_length(i);
        this->add_length_gradient(gains.data(), d, own_length(i), query(i));
      }
      rows_.copy(a_.grad_query + i * size_, gains.data());
    }
  }

  // Gradients of the weights of edges; a pass of its own, since few have such.
  void edges(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.incoming;
    V x[G], d[G], factor[G];
    typename Rows::Row scaled(size_), room(size_);
    for (int64_t i = first; i < end; ++i) {
      for (int g = 0; g < rows_.groups(); ++g) factor[g] = kept_first(target(i) + g * L);
      rows_.copy(scaled.data(), query(i));
      rows_.scale(scaled.data(), factor);
      for (int64_t e = order.start[i]; e < order.start[i + 1]; ++e) {
        const int64_t j = order.other[e], edge = order.edge_id[e];
        rows_.dot(scaled.data(), key_of(e, room.data()), x);
        rows_.dot(grad(i), value(j), d);
        T sum = 0;
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          sum += sum_of<T, L>(weigh(at, x[g] * kept_second(at)) * d[g] * this->dropped(edge, g));
        }
        a_.grad_edge_weight[edge] = sum;
      }
    }
  }

  // dk_j and dv_j of every source.
  void sources(int64_t first, int64_t end) const {
    const EdgeOrder& order = graph_.outgoing;
    V x[G], d[G], weight[G], size[G];
    typename Rows::Row scaled(size_), to_key(size_), to_value(size_), own_query(size_);
    // Scores by the operations of forward, see `weigh`; where they are bounded there is a faster way.
    const bool as_forward = a_.normalize && a_.shift;
    for (int64_t j = first; j < end; ++j) {
      // q_i.k_j could overflow where (f_i q_i).k_j s_i does not: q_i.(k_j / |k_j|) never does.
      for (int g = 0; g < rows_.groups(); ++g) {
        size[g] = a_.normalize ? nonzero<T, L>(load<V>(lengths(j) + g * L)) : fill<T, L>(1);
        weight[g] = 1 / size[g];
      }
      rows_.copy(scaled.data(), key(j));
      if (a_.normalize) rows_.scale(scaled.data(), weight);
      rows_.clear(to_key.data());
      rows_.clear(to_value.data());
      for (int64_t e = order.start[j]; e < order.start[j + 1]; ++e) {
        const int64_t i = order.other[e];
        if (e + kAhead < graph_.num_edges) {
          fetch(query(order.other[e + kAhead]), size_);
          fetch(grad(order.other[e + kAhead]), size_);
          fetch(target(order.other[e + kAhead]), target_size());
        }
        if (as_forward) {
          for (int g = 0; g < rows_.groups(); ++g) weight[g] = kept_first(target(i) + g * L);
          rows_.copy(own_query.data(), query(i));
          rows_.scale(own_query.data(), weight);
          rows_.dot(own_query.data(), key(j), x);
        } else {
          rows_.dot(query(i), scaled.data(), x);
        }
        rows_.dot(grad(i), value(j), d);
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          const V f = kept_first(at), s = kept_second(at);
          const V p = weigh(at, as_forward ? x[g] * s : (x[g] * f) * (size[g] * s));
          const V kept = scaled_ ? keep(order.edge_id[e], g) : fill<T, L>(1);
          const V own = d[g] * kept;
          d[g] = p * ((a_.shift ? own - load<V>(at + base_at()) : own) - load<V>(at + padded_)) * s * f;
          weight[g] = p * kept;
        }
        rows_.add(to_key.data(), d, query(i));
        rows_.add(to_value.data(), weight, grad(i));
      }
      for (int which = 0; a_.normalize && which < 2; ++which) {
        for (int g = 0; g < rows_.groups(); ++g) d[g] = this->brought(brought_to(which), j, g);
        this->add_length_gradient(which ? to_value.data() : to_key.data(), d, lengths(j) + which * padded_,
                                  which ? value(j) : key(j));
      }
      rows_.copy(a_.grad_key + j * size_, to_key.data());
      rows_.copy(a_.grad_value + j * size_, to_value.data());
    }
  }

  // The gradients of sources, and of codes by shares: consecutive pieces write to one share, so that there are few of
  // them, as many at any number of threads, and they are added in their order.
  void shares_of_codes() const {
    const EdgeOrder& order = graph_.outgoing;
    const size_t share_size = a_.types * size_;
#pragma omp parallel for schedule(dynamic, 1) num_threads(int(graph_.threads))
    for (int64_t share = 0; share < a_.shares; ++share) {
      T* own = a_.partial + share * share_size;
      std::fill_n(own, share_size, T(0));
      const int64_t first = share * order.num_pieces / a_.shares, last = (share + 1) * order.num_pieces / a_.shares;
      typed_sources(order.pieces[first], order.pieces[last], own);
    }
#pragma omp parallel for schedule(static) num_threads(int(graph_.threads))
    for (int64_t type = 0; type < a_.types; ++type)
      this->sum_shares(a_.grad_code + type * size_, size_, a_.partial + type * size_, a_.shares, share_size);
  }

  // dk_j and dv_j of every source, and its share in the gradients of codes, which is the same as in that of the key.
  void typed_sources(int64_t first, int64_t end, T* share) const {
    const EdgeOrder& order = graph_.outgoing;
    V x[G], d[G], weight[G], further[G];
    typename Rows::Row scaled(size_), coded(size_), to_key(size_), to_value(size_);
    for (int64_t j = first; j < end; ++j) {
      rows_.clear(to_key.data());
      rows_.clear(to_value.data());
      for (int64_t e = order.start[j]; e < order.start[j + 1]; ++e) {
        const int64_t i = order.other[e];
        if (e + kAhead < graph_.num_edges) ask_for_target(order.other[e + kAhead]);
        T* to_code = share + a_.outgoing_type[e] * size_;
        rows_.sum(coded.data(), key(j), code(a_.outgoing_type[e]));
        const T* own_query = query(i);
        if (a_.normalize) {
          for (int g = 0; g < rows_.groups(); ++g) weight[g] = kept_first(target(i) + g * L);
          rows_.copy(scaled.data(), own_query);
          rows_.scale(scaled.data(), weight);
          own_query = scaled.data();
        }
        rows_.dot(own_query, coded.data(), x);
        rows_.dot(grad(i), value(j), d);
        for (int g = 0; g < rows_.groups(); ++g) {
          const T* at = target(i) + g * L;
          const V s = kept_second(at), p = weigh(at, x[g] * s);
          const V kept = scaled_ ? keep(order.edge_id[e], g) : fill<T, L>(1);
          const V own = d[g] * kept;
          d[g] = p * ((a_.shift ? own - load<V>(at + base_at()) : own) - load<V>(at + padded_)) * s;
          weight[g] = p * kept;
        }
        rows_.add(to_key.data(), d, own_query);
        rows_.add(to_code, d, own_query);
        rows_.add(to_value.data(), weight, grad(i));
        if (a_.normalize && of_longest(i, order.edge_id[e], further)) {
          rows_.add(to_key.data(), further, coded.data());
          rows_.add(to_code, further, coded.data());
        }
      }
      if (a_.normalize) {
        for (int g = 0; g < rows_.groups(); ++g) d[g] = this->brought(brought_to(1), j, g);
        this->add_length_gradient(to_value.data(), d, lengths(j) + padded_, value(j));
      }
      rows_.copy(a_.grad_key + j * size_, to_key.data());
      rows_.copy(a_.grad_value + j * size_, to_value.data());
    }
  }

  void ask_for_target(int64_t i) const {
    fetch(query(i), size_);
    fetch(grad(i), size_);
    fetch(target(i), target_size());
    if (a_.normalize) {
      fetch(a_.longest + i * 2 * padded_, padded_);
      fetch(a_.grad_length + i * 2 * padded_, padded_);
    }
  }

  // d loss / d max |k_j + e_t| is kept over that length, by which it is multiplied with the key itself.
  void over_length(int64_t i) const {
    for (int g = 0; g < rows_.groups(); ++g) {
      const size_t at = i * 2 * padded_ + g * L;
      const V length = load<V>(a_.longest_length + at), kept = load<V>(a_.grad_length + at);
      store(a_.grad_length + at, length > Base::tiny ? kept / length : V{});
    }
  }

  // d loss / d |k_j + e_t| over that length, of the heads for which this edge has the longest key of target i; whether
  // there are any.
  bool of_longest(int64_t i, int64_t edge_id, V* gradient) const {
    using Numbers = typename Lanes<float, L>::Mask;
    bool any = false;
    for (int g = 0; g < rows_.groups(); ++g) {
      const size_t at = i * 2 * padded_ + g * L;
      const Numbers own = load<Numbers>(a_.longest + at) == int32_t(edge_id);
      for (int lane = 0; lane < L; ++lane) any |= own[lane] != 0;
      gradient[g] = __builtin_convertvector(own, M) ? load<V>(a_.grad_length + at) : V{};
    }
    return any;
  }
};

template <typename Rows>
using DotProductAttention = DotProductForm<Rows, false>;
template <typename Rows>
using TypedProductAttention = DotProductForm<Rows, true>;

}  // namespace lipgnn
