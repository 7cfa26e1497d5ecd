// How large the rows of a matrix are and how alike, in two passes and in double precision whatever its type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lipgnn {

// Of M = x, or x - less. Rows with the same number are a group.
template <typename T>
struct RowMeasures {
  int64_t rows, width, groups, threads;
  const T *x, *less;     // (N, W); less may be null
  const int64_t* group;  // (N), or null where all rows are one group
  double* centers;       // (groups + 1, W): the mean of every group's rows, and of all
  double* result;        // |M|_F, |M - mean|_F, |M|_(1,inf), |M - mean of the row's group|_(1,inf)
};

template <typename T, bool Less>
class RowMeasuring {
  static constexpr int64_t kColumns = 16, kValues = 1 << 14;

  // Of some rows: sums over each column, and the largest sum over a row.
  struct Sums {
    explicit Sums(int64_t width) : squares(width), apart(width), sizes(width), rests(width) {}
    std::vector<double> squares, apart, sizes, rests;
    double largest_size = 0, largest_rest = 0;
  };

 public:
  explicit RowMeasuring(const RowMeasures<T>& arrays) : a_(arrays) {}

  void run() const {
    find_centers();
    const int64_t rows = std::max<int64_t>(1, kValues / std::max<int64_t>(1, a_.width));
    const int64_t pieces = (a_.rows + rows - 1) / rows;
    std::vector<Sums> sums(pieces, Sums(a_.width));
#pragma omp parallel for schedule(static) num_threads(int(std::min(a_.threads, pieces))) if (pieces > 1)
    for (int64_t piece = 0; piece < pieces; ++piece)
      add_rows(piece * rows, std::min(a_.rows, (piece + 1) * rows), &sums[piece]);
    // In the order of the pieces, so that the number of threads makes no difference.
    Sums all(a_.width);
    for (const Sums& each : sums) {
      add(&all.squares, each.squares);
      add(&all.apart, each.apart);
      add(&all.sizes, each.sizes);
      add(&all.rests, each.rests);
      all.largest_size = std::max(all.largest_size, each.largest_size);
      all.largest_rest = std::max(all.largest_rest, each.largest_rest);
    }
    a_.result[0] = std::sqrt(total(all.squares));
    a_.result[1] = std::sqrt(total(all.apart));
    a_.result[2] = composite(all.sizes, all.largest_size);
    a_.result[3] = composite(all.rests, all.largest_rest);
  }

 private:
  double value(int64_t at) const { return Less ? double(a_.x[at]) - double(a_.less[at]) : double(a_.x[at]); }
  int64_t group(int64_t row) const { return a_.group ? a_.group[row] : 0; }

  // Threads share the columns: every sum is then taken in the order of the rows.
  void find_centers() const {
    std::vector<double> counts(a_.groups);
    for (int64_t i = 0; i < a_.rows; ++i) counts[group(i)] += 1;
    double* all = a_.centers + a_.groups * a_.width;
    std::fill_n(a_.centers, (a_.groups + 1) * a_.width, 0.0);
#pragma omp parallel for schedule(static) num_threads(int(a_.threads)) if (a_.rows * a_.width > kValues)
    for (int64_t first = 0; first < a_.width; first += kColumns) {
      const int64_t end = std::min(a_.width, first + kColumns);
      for (int64_t i = 0; i < a_.rows; ++i) {
        double* sum = a_.centers + group(i) * a_.width;
        for (int64_t w = first; w < end; ++w) sum[w] += value(i * a_.width + w);
      }
      for (int64_t g = 0; g < a_.groups; ++g) {
        double* sum = a_.centers + g * a_.width;
        for (int64_t w = first; w < end; ++w) {
          all[w] += sum[w] / double(a_.rows);
          sum[w] /= std::max(1.0, counts[g]);
        }
      }
    }
  }

  void add_rows(int64_t first, int64_t end, Sums* sums) const {
    double *__restrict squares = sums->squares.data(), *__restrict apart = sums->apart.data();
    double *__restrict sizes = sums->sizes.data(), *__restrict rests = sums->rests.data();
    const double* mean = a_.centers + a_.groups * a_.width;
    for (int64_t i = first; i < end; ++i) {
      const double* center = a_.centers + group(i) * a_.width;
      double size = 0, rest = 0;
#pragma omp simd reduction(+ : size, rest)
      for (int64_t w = 0; w < a_.width; ++w) {
        const double m = value(i * a_.width + w), from_mean = m - mean[w];
        const double length = std::fabs(m), from_center = std::fabs(m - center[w]);
        squares[w] += m * m;
        apart[w] += from_mean * from_mean;
        sizes[w] += length;
        rests[w] += from_center;
        size += length;
        rest += from_center;
      }
      sums->largest_size = std::max(sums->largest_size, size);
      sums->largest_rest = std::max(sums->largest_rest, rest);
    }
  }

  static void add(std::vector<double>* sum, const std::vector<double>& more) {
    for (size_t w = 0; w < more.size(); ++w) (*sum)[w] += more[w];
  }

  static double total(const std::vector<double>& columns) {
    double sum = 0;
    for (const double column : columns) sum += column;
    return sum;
  }

  // sqrt(|M|_1 |M|_inf). A comparison does not see what is not a number; a sum does.
  static double composite(const std::vector<double>& columns, double largest_row) {
    const double sum = total(columns);
    if (columns.empty() || std::isnan(sum)) return sum;
    return std::sqrt(*std::max_element(columns.begin(), columns.end())) * std::sqrt(largest_row);
  }

  const RowMeasures<T>& a_;
};

template <typename T>
void row_measures(const RowMeasures<T>& arrays) {
  arrays.less ? RowMeasuring<T, true>(arrays).run() : RowMeasuring<T, false>(arrays).run();
}

}  // namespace lipgnn
