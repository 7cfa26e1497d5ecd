// How far apart the ends of edges are, in one pass over the edges and in double precision whatever the type.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph.h"

namespace lipgnn {

template <typename T>
struct Smoothness {
  Graph graph;
  int64_t width;
  const T* x;      // (N, W)
  double* result;  // Dirichlet energy, mean average distance
};

template <typename T>
class MeasuringSmoothness {
  // Of some targets: squared distances of rows divided by the root of their in-degree, and of those of length one.
  struct Sums {
    double energy = 0, distance = 0, counted = 0;
  };

 public:
  explicit MeasuringSmoothness(const Smoothness<T>& arrays) : a_(arrays), inverse_(arrays.graph.num_sources) {}

  void run() {
    const EdgeOrder& order = a_.graph.incoming;
    for_pieces(order, a_.graph.threads, [&](int64_t, int64_t first, int64_t end) { find_lengths(first, end); });
    std::vector<Sums> sums(order.num_pieces);
    for_pieces(order, a_.graph.threads,
               [&](int64_t piece, int64_t first, int64_t end) { sums[piece] = sums_of(first, end); });
    Sums all;
    for (const Sums& each : sums)
      all = {all.energy + each.energy, all.distance + each.distance, all.counted + each.counted};
    // Every edge is half of an undirected one, and 1 - cos half the squared distance of unit vectors.
    a_.result[0] = all.energy / 2;
    a_.result[1] = all.distance / 2 / all.counted;
  }

 private:
  const T* row(int64_t node) const { return a_.x + node * a_.width; }

  // 1 / sqrt(in-degree); a node that no edge enters counts as one with a self-loop.
  double scale(int64_t node) const {
    const int64_t degree = a_.graph.incoming.start[node + 1] - a_.graph.incoming.start[node];
    return 1 / std::sqrt(double(degree ? degree : 1));
  }

  // 1 / |x_i|, 0 where x_i is zero, and not a number where it has no length. In units of the largest entry, because
  // squares of large numbers are too large and those of small ones vanish.
  void find_lengths(int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      const T* x = row(i);
      double top = 0, square = 0;
      for (int64_t w = 0; w < a_.width; ++w) top = std::max(top, std::fabs(double(x[w])));
      const double unit = top > 0 ? top : 1;
#pragma omp simd reduction(+ : square)
      for (int64_t w = 0; w < a_.width; ++w) square += (double(x[w]) / unit) * (double(x[w]) / unit);
      // Of an infinite entry the share of the largest is not a number.
      inverse_[i] = square == 0 ? 0 : 1 / unit / std::sqrt(square);
    }
  }

  Sums sums_of(int64_t first, int64_t end) const {
    const EdgeOrder& order = a_.graph.incoming;
    Sums sums;
    for (int64_t i = first; i < end; ++i) {
      for (int64_t e = order.start[i]; e < order.start[i + 1]; ++e) {
        const int64_t j = order.other[e];
        const T *to = row(i), *from = row(j);
        const double own = scale(i), other = scale(j), own_unit = inverse_[i], other_unit = inverse_[j];
        double energy = 0, distance = 0;
#pragma omp simd reduction(+ : energy, distance)
        for (int64_t w = 0; w < a_.width; ++w) {
          const double a = to[w], b = from[w];
          const double scaled = a * own - b * other, turned = a * own_unit - b * other_unit;
          energy += scaled * scaled;
          distance += turned * turned;
        }
        sums.energy += energy;
        // A self-loop says nothing, and rows of zeros have no direction.
        if (i == j || own_unit == 0 || other_unit == 0) continue;
        sums.distance += distance;
        sums.counted += 1;
      }
    }
    return sums;
  }

  const Smoothness<T>& a_;
  std::vector<double> inverse_;
};

template <typename T>
void smoothness(const Smoothness<T>& arrays) {
  MeasuringSmoothness<T>(arrays).run();
}

}  // namespace lipgnn
