// Short vectors over heads (or over channels), by the vector extension of GCC and Clang.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace lipgnn {

template <typename T>
using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// L values of type T. Alignment is that of one value, so any address can be read as a vector.
template <typename T, int L>
struct Lanes {
  typedef T Vector __attribute__((vector_size(L * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef Integer<T> Mask __attribute__((vector_size(L * sizeof(T)), aligned(sizeof(T)), may_alias));
};

template <typename T, int L>
using Vector = typename Lanes<T, L>::Vector;
template <typename T, int L>
using Mask = typename Lanes<T, L>::Mask;

template <typename V, typename T>
inline V load(const T* from) {
  return *reinterpret_cast<const V*>(from);
}

template <typename V, typename T>
inline void store(T* to, V value) {
  *reinterpret_cast<V*>(to) = value;
}

template <typename T, int L>
inline Vector<T, L> fill(T value) {
  return Vector<T, L>{} + value;
}

template <typename V>
inline V larger(V a, V b) {
  return a > b ? a : b;
}

// A product as it is rounded, by way of memory: a compiler may otherwise add something to it before it is.
template <typename V>
inline V rounded(V product) {
  asm("" : "+m"(product));
  return product;
}

template <typename V>
inline V absolute(V v) {
  return v < 0 ? -v : v;
}

template <typename V, typename T>
inline V leaky(V v, T slope) {
  return v > 0 ? v : v * slope;
}

// 1 in place of what is too small to divide by.
template <typename T, int L>
inline Vector<T, L> nonzero(Vector<T, L> size) {
  return size > std::numeric_limits<T>::min() ? size : fill<T, L>(1);
}

// Halves are added to each other, again and again: three additions in a row instead of eight.
template <typename T, int L>
inline T sum_of(Vector<T, L> v) {
  if constexpr (L == 1) {
    return v[0];
  } else {
    Vector<T, L / 2> halves[2];
    std::memcpy(halves, &v, sizeof(v));
    return sum_of<T, L / 2>(halves[0] + halves[1]);
  }
}

template <typename T, int L>
inline Vector<T, L> root(Vector<T, L> v) {
  for (int lane = 0; lane < L; ++lane) v[lane] = std::sqrt(v[lane]);
  return v;
}

// Constants of e^x = 2^n e^r with |r| <= ln(2)/2; e^r is its series up to r^degree. `one` has the bits of 1.
template <typename T>
struct Exponential;

template <>
struct Exponential<float> {
  static constexpr float lowest = -87.0f, highest = 88.0f;
  static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves a whole number in the last bits
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr int mantissa = 23;
  static constexpr int32_t one = 0x3F800000;
  static constexpr int degree = 6;
};

template <>
struct Exponential<double> {
  static constexpr double lowest = -708.0, highest = 709.0;
  static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr int mantissa = 52;
  static constexpr int64_t one = 0x3FF0000000000000;
  static constexpr int degree = 13;
};

// x = n ln(2) + r on all lanes, with 2^n and e^r - 1, both exact to the last digits also for x near 0. What would leave
// the range of normal numbers is held at its end. NaN stays NaN.
template <typename T, int L>
struct Powers {
  using E = Exponential<T>;
  using V = Vector<T, L>;

  explicit Powers(V x) {
    const V low = fill<T, L>(E::lowest), high = fill<T, L>(E::highest);
    x = x < low ? low : x;
    x = x > high ? high : x;
    const V rounded = x * T(1.44269504088896340736) + E::round;
    const V n = rounded - E::round;
    const V r = (x - n * E::ln2_high) - n * E::ln2_low;
    T factor = 1;
    for (int k = 2; k <= E::degree; ++k) factor /= T(k);
    V series = fill<T, L>(factor);
    for (int k = E::degree; k > 1; --k) {
      factor *= T(k);
      series = series * r + factor;
    }
    less_one = series * r;
    const Mask<T, L> bits = (reinterpret_cast<const Mask<T, L>&>(rounded) << E::mantissa) + E::one;
    power = reinterpret_cast<const V&>(bits);
  }

  V power, less_one;
};

template <typename T, int L>
inline Vector<T, L> exponential(Vector<T, L> x) {
  const Powers<T, L> p(x);
  return p.power * p.less_one + p.power;
}

// e^x - 1
template <typename T, int L>
inline Vector<T, L> exponential_less_one(Vector<T, L> x) {
  const Powers<T, L> p(x);
  return p.power * p.less_one + (p.power - 1);
}

}  // namespace lipgnn
