// BatchNorm over the rows and ReLU in one pass, and back. With m and v the mean and the variance of a channel, and
// s = weight / sqrt(v + eps):
//
//   out = max(0, (x - m) s + bias),   g = G where out is not 0,   dx = s (g - mean g - (x - m) mean(g (x - m)) / (v + eps))
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lipgnn {

template <typename T>
struct BatchNorm {
  int64_t rows, width, threads, training;
  double eps, momentum;
  const T* x;       // (N, W)
  const T* weight;  // (W)
  const T* bias;    // (W)
  T* running_mean;  // (W)
  T* running_var;   // (W)
  T* mean;          // (W): kept for the way back
  T* inverse;       // (W): 1 / sqrt(v + eps), kept too
  T* out;           // (N, W)
  const T* grad_out;
  T* grad_x;
  T* grad_weight;
  T* grad_bias;
};

constexpr int64_t kRowsOfPiece = 128;  // few enough that sums of float32 keep their digits, and that they stay in the cache

// Calls work(piece, first row, end row); pieces are the same at any number of threads.
template <typename T, typename Work>
void for_rows(const BatchNorm<T>& a, const Work& work) {
  const int64_t pieces = (a.rows + kRowsOfPiece - 1) / kRowsOfPiece;
#pragma omp parallel for schedule(static) num_threads(int(std::min(a.threads, pieces))) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece)
    work(piece, piece * kRowsOfPiece, std::min(a.rows, (piece + 1) * kRowsOfPiece));
}

// Sums of two values for every channel, (2, W), by pieces and then over these in double precision and in their order.
template <typename T, typename Piece>
std::vector<T> shares_of(const BatchNorm<T>& a, const Piece& piece_sums) {
  std::vector<T> shares(size_t((a.rows + kRowsOfPiece - 1) / kRowsOfPiece) * 2 * a.width, T(0));
  for_rows(a, [&](int64_t piece, int64_t first, int64_t end) {
    T* sums = shares.data() + piece * 2 * a.width;
    piece_sums(first, end, sums, sums + a.width);
  });
  return shares;
}

// What is done with the rows of a piece, on arrays that do not overlap, which lets the compiler use vectors.
template <typename T>
void add_rows(int64_t rows, int64_t width, const T* __restrict x, T* __restrict sum) {
  for (int64_t row = 0; row < rows; ++row, x += width)
    for (int64_t w = 0; w < width; ++w) sum[w] += x[w];
}

template <typename T>
void add_squares(int64_t rows, int64_t width, const T* __restrict x, const T* __restrict mean, T* __restrict sum) {
  for (int64_t row = 0; row < rows; ++row, x += width)
    for (int64_t w = 0; w < width; ++w) sum[w] += (x[w] - mean[w]) * (x[w] - mean[w]);
}

template <typename T>
void apply(int64_t rows, int64_t width, const T* __restrict x, const T* __restrict mean, const T* __restrict scale,
           const T* __restrict bias, T* __restrict out) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width)
    for (int64_t w = 0; w < width; ++w) {
      const T y = (x[w] - mean[w]) * scale[w] + bias[w];
      out[w] = y < 0 ? T(0) : y;
    }
}

template <typename T>
void add_gradients(int64_t rows, int64_t width, const T* __restrict x, const T* __restrict out, const T* __restrict grad,
                   const T* __restrict mean, T* __restrict sum, T* __restrict turned) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width, grad += width)
    for (int64_t w = 0; w < width; ++w) {
      const T g = out[w] <= 0 ? T(0) : grad[w];
      sum[w] += g;
      turned[w] += g * (x[w] - mean[w]);
    }
}

template <typename T>
void apply_gradients(int64_t rows, int64_t width, const T* __restrict x, const T* __restrict out,
                     const T* __restrict grad, const T* __restrict mean, const T* __restrict scale,
                     const T* __restrict less, const T* __restrict bent, T* __restrict grad_x) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width, grad += width, grad_x += width)
    for (int64_t w = 0; w < width; ++w) {
      const T g = out[w] <= 0 ? T(0) : grad[w];
      grad_x[w] = (g - less[w] - (x[w] - mean[w]) * bent[w]) * scale[w];
    }
}

// Mean and squares around it, of every piece and then of all (Chan, Golub & LeVeque 1983).
template <typename T>
void measure(const BatchNorm<T>& a) {
  const int64_t width = a.width;
  const std::vector<T> shares = shares_of(a, [&](int64_t first, int64_t end, T* mean, T* squares) {
    add_rows(end - first, width, a.x + first * width, mean);
    for (int64_t w = 0; w < width; ++w) mean[w] /= T(end - first);
    add_squares(end - first, width, a.x + first * width, mean, squares);
  });
  for (int64_t w = 0; w < width; ++w) {
    double mean = 0, squares = 0;
    for (int64_t first = 0; first < a.rows; first += kRowsOfPiece) {
      const T* share = shares.data() + first / kRowsOfPiece * 2 * width + w;
      const double count = double(std::min(kRowsOfPiece, a.rows - first)), off = double(share[0]) - mean;
      mean += off * count / (double(first) + count);
      squares += double(share[width]) + off * off * count * double(first) / (double(first) + count);
    }
    a.mean[w] = T(mean);
    a.inverse[w] = T(1 / std::sqrt(squares / double(a.rows) + a.eps));
    a.running_mean[w] = T((1 - a.momentum) * a.running_mean[w] + a.momentum * mean);
    a.running_var[w] = T((1 - a.momentum) * a.running_var[w] + a.momentum * squares / double(a.rows - 1));
  }
}

// weight / sqrt(v + eps)
template <typename T>
std::vector<T> scale_of(const BatchNorm<T>& a) {
  std::vector<T> scale(a.width);
  for (int64_t w = 0; w < a.width; ++w) scale[w] = a.inverse[w] * a.weight[w];
  return scale;
}

template <typename T>
void batch_norm_forward(const BatchNorm<T>& a) {
  if (a.training) measure(a);
  for (int64_t w = 0; w < a.width && !a.training; ++w) {
    a.mean[w] = a.running_mean[w];
    a.inverse[w] = T(1 / std::sqrt(double(a.running_var[w]) + a.eps));
  }
  const std::vector<T> scale = scale_of(a);
  for_rows(a, [&](int64_t, int64_t first, int64_t end) {
    const int64_t at = first * a.width;
    apply(end - first, a.width, a.x + at, a.mean, scale.data(), a.bias, a.out + at);
  });
}

template <typename T>
void batch_norm_backward(const BatchNorm<T>& a) {
  const int64_t width = a.width;
  const std::vector<T> shares = shares_of(a, [&](int64_t first, int64_t end, T* sum, T* turned) {
    const int64_t at = first * width;
    add_gradients(end - first, width, a.x + at, a.out + at, a.grad_out + at, a.mean, sum, turned);
  });
  std::vector<T> less(width), bent(width);
  for (int64_t w = 0; w < width; ++w) {
    double sum = 0, turned = 0;
    for (size_t at = w; at < shares.size(); at += 2 * width) sum += shares[at], turned += shares[at + width];
    const double inverse = a.inverse[w];
    a.grad_bias[w] = T(sum);
    a.grad_weight[w] = T(turned * inverse);
    less[w] = T(sum / double(a.rows));
    bent[w] = T(turned * inverse * inverse / double(a.rows));
  }
  const std::vector<T> scale = scale_of(a);
  for_rows(a, [&](int64_t, int64_t first, int64_t end) {
    const int64_t at = first * width;
    apply_gradients(end - first, width, a.x + at, a.out + at, a.grad_out + at, a.mean, scale.data(), less.data(),
                    bent.data(), a.grad_x + at);
  });
}

}  // namespace lipgnn
