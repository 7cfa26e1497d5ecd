// The features of one node, H heads of width D, in the two orders in which they can lie in memory, and what is done with
// them: a dot product for every head, adding a multiple for every head, and both with a LeakyReLU between two rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "vector.h"

namespace lipgnn {

// Room for one row of a known size, which can stay in registers.
template <typename T, int Size>
struct Fixed {
  explicit Fixed(size_t) {}
  T* data() { return value; }
  alignas(32) T value[Size ? Size : 1];
};

// D vectors of L heads: everything is vertical. For narrow heads, with H = L. D = 0 is a width known only when it runs.
template <typename T_, int L_, int D>
struct HeadsFastest {
  using T = T_;
  static constexpr int L = L_, G = 1;
  using V = Vector<T, L>;

  HeadsFastest(int64_t, int64_t width) : width_(int(width)) {}

  int width() const { return D ? D : width_; }
  int groups() const { return 1; }
  size_t size() const { return size_t(width()) * L; }
  static constexpr bool transposed = true;

  using Row = std::conditional_t<(D > 0), Fixed<T, D * L>, std::vector<T>>;

  void dot(const T* a, const T* b, V* result) const {
    V first{}, second{};
    for (int d = 0; d + 1 < width(); d += 2) {
      first += load<V>(a + d * L) * load<V>(b + d * L);
      second += load<V>(a + d * L + L) * load<V>(b + d * L + L);
    }
    if (width() % 2) first += load<V>(a + (width() - 1) * L) * load<V>(b + (width() - 1) * L);
    *result = first + second;
  }

  void add(T* sum, const V* factor, const T* row) const {
    for (int d = 0; d < width(); ++d) store<V>(sum + d * L, load<V>(sum + d * L) + *factor * load<V>(row + d * L));
  }

  // a.LeakyReLU(b + c)
  void bent_dot(const T* a, const T* b, const T* c, T slope, V* result) const {
    V first{}, second{};
    for (int d = 0; d + 1 < width(); d += 2) {
      first += load<V>(a + d * L) * leaky(load<V>(b + d * L) + load<V>(c + d * L), slope);
      second += load<V>(a + d * L + L) * leaky(load<V>(b + d * L + L) + load<V>(c + d * L + L), slope);
    }
    const int last = (width() - 1) * L;
    if (width() % 2) first += load<V>(a + last) * leaky(load<V>(b + last) + load<V>(c + last), slope);
    *result = first + second;
  }

  // To each of the sums its factor times the slope of the LeakyReLU at b + c.
  template <int N>
  void add_slopes(T* const (&sums)[N], const V* const (&factors)[N], const T* b, const T* c, T slope) const {
    for (int d = 0; d < width(); ++d) {
      const V at = load<V>(b + d * L) + load<V>(c + d * L);
      for (int n = 0; n < N; ++n)
        store<V>(sums[n] + d * L, load<V>(sums[n] + d * L) + (at > 0 ? *factors[n] : *factors[n] * slope));
    }
  }

  void copy(T* to, const T* row) const {
    for (int d = 0; d < width(); ++d) store<V>(to + d * L, load<V>(row + d * L));
  }

  void sum(T* to, const T* a, const T* b) const {
    for (int d = 0; d < width(); ++d) store<V>(to + d * L, load<V>(a + d * L) + load<V>(b + d * L));
  }

  void clear(T* row) const {
    for (int d = 0; d < width(); ++d) store<V>(row + d * L, V{});
  }

  void scale(T* row, const V* factor) const {
    for (int d = 0; d < width(); ++d) store<V>(row + d * L, load<V>(row + d * L) * *factor);
  }

  // |row| for every head. Divided by the largest entry first, so that no square can overflow or vanish.
  void length(const T* row, V* result) const {
    V top{}, sum{};
    for (int d = 0; d < width(); ++d) top = larger(top, absolute(load<V>(row + d * L)));
    const V size = nonzero<T, L>(top), inverse = 1 / size;
    for (int d = 0; d < width(); ++d) {
      const V part = load<V>(row + d * L) * inverse;
      sum += part * part;
    }
    *result = size * root<T, L>(sum);
  }

  // From and to the order of the caller, width fastest.
  void read(T* row, const T* from) const {
    for (int h = 0; h < L; ++h)
      for (int d = 0; d < width(); ++d) row[d * L + h] = from[h * width() + d];
  }

  void write(T* to, const T* row) const {
    for (int h = 0; h < L; ++h)
      for (int d = 0; d < width(); ++d) to[h * width() + d] = row[d * L + h];
  }

 private:
  int width_;
};

// H rows of D channels: vectors run along the channels. Values of heads are in groups of L; G = 0 is a number of groups
// known only when it runs, and so are heads H = 0 and a width D = 0.
template <typename T_, int L_, int G_, int H = 0, int D = 0>
struct WidthFastest {
  using T = T_;
  static constexpr int L = L_, most_groups = 128, G = G_ ? G_ : most_groups;
  using V = Vector<T, L>;
  static constexpr int W = 32 / sizeof(T);
  using C = Vector<T, W>;  // channels

  WidthFastest(int64_t heads, int64_t width) : heads_(int(heads)), width_(int(width)) {}

  int width() const { return D ? D : width_; }
  int heads() const { return H ? H : heads_; }
  int groups() const { return G_ ? G_ : (heads() + L - 1) / L; }
  size_t size() const { return size_t(heads()) * width(); }
  static constexpr bool transposed = false;
  using Row = std::conditional_t<(H * D > 0), Fixed<T, H * D>, std::vector<T>>;

  void dot(const T* a, const T* b, V* result) const {
    T* out = no_heads(result);
    for (int h = 0; h < heads(); ++h, a += width(), b += width()) {
      C first{}, second{};
      int d = 0;
      for (; d + 2 * W <= width(); d += 2 * W) {
        first += load<C>(a + d) * load<C>(b + d);
        second += load<C>(a + d + W) * load<C>(b + d + W);
      }
      for (; d + W <= width(); d += W) first += load<C>(a + d) * load<C>(b + d);
      T sum = sum_of<T, W>(first + second);
      for (; d < width(); ++d) sum += a[d] * b[d];
      out[h] = sum;
    }
  }

  void add(T* sum, const V* factor, const T* row) const {
    const T* factors = reinterpret_cast<const T*>(factor);
    for (int h = 0; h < heads(); ++h, sum += width(), row += width()) {
      const T f = factors[h];
      int d = 0;
      for (; d + W <= width(); d += W) store<C>(sum + d, load<C>(sum + d) + f * load<C>(row + d));
      for (; d < width(); ++d) sum[d] += f * row[d];
    }
  }

  void bent_dot(const T* a, const T* b, const T* c, T slope, V* result) const {
    T* out = no_heads(result);
    for (int h = 0; h < heads(); ++h, a += width(), b += width(), c += width()) {
      C first{}, second{};
      int d = 0;
      for (; d + 2 * W <= width(); d += 2 * W) {
        first += load<C>(a + d) * leaky(load<C>(b + d) + load<C>(c + d), slope);
        second += load<C>(a + d + W) * leaky(load<C>(b + d + W) + load<C>(c + d + W), slope);
      }
      for (; d + W <= width(); d += W) first += load<C>(a + d) * leaky(load<C>(b + d) + load<C>(c + d), slope);
      T sum = sum_of<T, W>(first + second);
      for (; d < width(); ++d) sum += a[d] * (b[d] + c[d] > 0 ? b[d] + c[d] : (b[d] + c[d]) * slope);
      out[h] = sum;
    }
  }

  template <int N>
  void add_slopes(T* const (&sums)[N], const V* const (&factors)[N], const T* b, const T* c, T slope) const {
    for (int h = 0; h < heads(); ++h, b += width(), c += width()) {
      T above[N], below[N], *to[N];
      for (int n = 0; n < N; ++n) {
        above[n] = reinterpret_cast<const T*>(factors[n])[h];
        below[n] = above[n] * slope;
        to[n] = sums[n] + size_t(h) * width();
      }
      int d = 0;
      for (; d + W <= width(); d += W) {
        const C at = load<C>(b + d) + load<C>(c + d);
        for (int n = 0; n < N; ++n)
          store<C>(to[n] + d, load<C>(to[n] + d) + (at > 0 ? fill<T, W>(above[n]) : fill<T, W>(below[n])));
      }
      for (; d < width(); ++d)
        for (int n = 0; n < N; ++n) to[n][d] += b[d] + c[d] > 0 ? above[n] : below[n];
    }
  }

  void copy(T* to, const T* row) const { std::copy_n(row, size(), to); }

  void sum(T* to, const T* a, const T* b) const {
    for (size_t k = 0; k < size(); ++k) to[k] = a[k] + b[k];
  }

  void clear(T* row) const { std::fill_n(row, size(), T(0)); }

  void scale(T* row, const V* factor) const {
    const T* factors = reinterpret_cast<const T*>(factor);
    for (int h = 0; h < heads(); ++h, row += width()) {
      const T f = factors[h];
      for (int d = 0; d < width(); ++d) row[d] *= f;
    }
  }

  void length(const T* row, V* result) const {
    // Above this, squares that vanish are too small to count.
    using Limits = std::numeric_limits<T>;
    constexpr T enough = Limits::min() / (Limits::epsilon() * Limits::epsilon());
    T* out = no_heads(result);
    for (int h = 0; h < heads(); ++h, row += width()) {
      const T square = sum_of_squares(row, 1);
      out[h] = square > enough && square <= Limits::max() ? std::sqrt(square) : scaled_length(row);
    }
  }

  void read(T* row, const T* from) const { copy(row, from); }

  void write(T* to, const T* row) const { copy(to, row); }

 private:
  T sum_of_squares(const T* row, T factor) const {
    C sums{};
    int d = 0;
    for (; d + W <= width(); d += W) {
      const C part = load<C>(row + d) * factor;
      sums += part * part;
    }
    T sum = sum_of<T, W>(sums);
    for (; d < width(); ++d) sum += row[d] * factor * (row[d] * factor);
    return sum;
  }

  // Divided by the largest entry first: the way that never overflows or vanishes.
  T scaled_length(const T* row) const {
    T top = 0;
    for (int d = 0; d < width(); ++d) top = std::fabs(row[d]) > top ? std::fabs(row[d]) : top;
    const T size = top > std::numeric_limits<T>::min() ? top : T(1);
    return size * std::sqrt(sum_of_squares(row, 1 / size));
  }

  // Lanes beyond the last head are zero.
  T* no_heads(V* values) const {
    for (int g = 0; g < groups(); ++g) values[g] = V{};
    return reinterpret_cast<T*>(values);
  }

  int heads_, width_;
};

}  // namespace lipgnn
