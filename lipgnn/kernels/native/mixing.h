// How heads mix the R channels of queries and keys that they share: M (R, P), a vector of heads for every channel. Rows
// are taken four at a time, so that one read of M serves all of them.
#pragma once

#include <algorithm>

#include "vector.h"

namespace lipgnn {

constexpr int kTogether = 4;

template <typename T, int L>
class Mixing {
  using V = Vector<T, L>;
  static constexpr int W = 32 / sizeof(T);
  using C = Vector<T, W>;  // channels

 public:
  Mixing(const T* mixing, int64_t channels, int groups)
      : m_(mixing), channels_(int(channels)), groups_(groups), padded_(size_t(groups) * L) {}

  int channels() const { return channels_; }
  size_t size() const { return channels_ * padded_; }
  V at(int channel, int group) const { return load<V>(m_ + channel * padded_ + group * L); }

  // to = row times factor.
  void scale(T* to, const T* row, T factor) const {
    for (int r = 0; r < channels_; ++r) to[r] = row[r] * factor;
  }

  // For `count` rows, at most kTogether, sum_r m_r a_r (b_r f), (count, P). `own` is a and each b of `rows` has its f.
  // The order of the sum is one whichever of the two rows is `own`, and however many rows there are: factors are powers
  // of two, so that a product is rounded once, and then it is the same from both ends of an edge.
  void mix(const T* own, const T* const* rows, const T* factors, int count, T* products, T* sums) const {
    for (int n = 0; n < count; ++n) multiply(own, rows[n], factors[n], products + n * channels_);
    switch (count) {
      case 4: return mix<4>(products, sums);
      case 3: return mix<3>(products, sums);
      case 2: return mix<2>(products, sums);
      default: return mix<1>(products, sums);
    }
  }

  // sums (R, P) += the products of every channel of `count` rows with the vectors of these rows, (count, P).
  void add(T* sums, const T* const* rows, const T* factors, int count) const {
    switch (count) {
      case 4: return add<4>(sums, rows, factors);
      case 3: return add<3>(sums, rows, factors);
      case 2: return add<2>(sums, rows, factors);
      default: return add<1>(sums, rows, factors);
    }
  }

  // A power of two that brings the largest entry of a row near one, within what has an inverse; 1 for a row of zeros.
  T factor_of(const T* row) const {
    T top = 0;
    for (int r = 0; r < channels_; ++r) top = std::fabs(row[r]) > top ? std::fabs(row[r]) : top;
    constexpr int most = std::numeric_limits<T>::max_exponent - 3;
    return top > 0 ? std::ldexp(T(1), -std::clamp(std::ilogb(top), -most, most)) : T(1);
  }

  // sqrt( sum_r |m_r| row_r^2 ) for every head, from the row times `factor`, which no square of can overflow.
  void length(const T* row, T factor, int heads, T* lengths) const {
    // Above this, squares that vanish are too small to count.
    using Limits = std::numeric_limits<T>;
    constexpr T enough = Limits::min() / (Limits::epsilon() * Limits::epsilon());
    for (int g = 0; g < groups_; ++g) {
      V first{}, second{};
      const auto square = [&](int r) { return row[r] * factor * (row[r] * factor); };
      int r = 0;
      for (; r + 1 < channels_; r += 2) {
        first += absolute(at(r, g)) * square(r);
        second += absolute(at(r + 1, g)) * square(r + 1);
      }
      if (r < channels_) first += absolute(at(r, g)) * square(r);
      const V sum = first + second;
      store(lengths + g * L, root<T, L>(sum) * (1 / factor));
      for (int lane = 0; lane < L && g * L + lane < heads; ++lane)
        if (!(sum[lane] > enough && sum[lane] <= Limits::max()))
          lengths[g * L + lane] = scaled_length(row, factor, g * L + lane) / factor;
    }
  }

 private:
  void multiply(const T* own, const T* row, T factor, T* products) const {
    int r = 0;
    for (; r + W <= channels_; r += W) store<C>(products + r, load<C>(own + r) * (load<C>(row + r) * factor));
    for (; r < channels_; ++r) products[r] = own[r] * (row[r] * factor);
  }

  template <int N>
  void mix(const T* products, T* sums) const {
    for (int g = 0; g < groups_; ++g) {
      V even[N] = {}, odd[N] = {};
      int r = 0;
      for (; r + 1 < channels_; r += 2) {
        const V first = at(r, g), second = at(r + 1, g);
        for (int n = 0; n < N; ++n) {
          even[n] += first * products[n * channels_ + r];
          odd[n] += second * products[n * channels_ + r + 1];
        }
      }
      if (r < channels_)
        for (int n = 0; n < N; ++n) even[n] += at(r, g) * products[n * channels_ + r];
      for (int n = 0; n < N; ++n) store(sums + n * padded_ + g * L, even[n] + odd[n]);
    }
  }

  template <int N>
  void add(T* sums, const T* const* rows, const T* factors) const {
    for (int g = 0; g < groups_; ++g) {
      V factor[N];
      for (int n = 0; n < N; ++n) factor[n] = load<V>(factors + n * padded_ + g * L);
      for (int r = 0; r < channels_; ++r) {
        T* at = sums + r * padded_ + g * L;
        V sum = load<V>(at);
        for (int n = 0; n < N; ++n) sum += factor[n] * rows[n][r];
        store(at, sum);
      }
    }
  }

  // The length of one head's row times `factor`, divided by its largest entry first: this never overflows or vanishes.
  T scaled_length(const T* row, T factor, int head) const {
    const auto part = [&](int r) { return std::sqrt(std::fabs(m_[r * padded_ + head])) * std::fabs(row[r] * factor); };
    T top = 0, sum = 0;
    for (int r = 0; r < channels_; ++r) top = std::max(top, part(r));
    const T size = top > std::numeric_limits<T>::min() ? top : T(1);
    for (int r = 0; r < channels_; ++r) sum += part(r) / size * (part(r) / size);
    return size * std::sqrt(sum);
  }

  const T* const m_;
  const int channels_, groups_;
  const size_t padded_;
};

}  // namespace lipgnn
