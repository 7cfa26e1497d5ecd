// Walks by steps, many windows side by side, each with a number of steps of its own. A walker in state u makes move k,
// one of those of u, with probability w_k, the softmax of their logits:
//
//   w_k = exp(l_edge(k)) / sum over moves k' of u of exp(l_edge(k')),   x_v <- sum over moves k from u to v of w_k x_u
//
// Backward walks once more, for the states of one window are few and those of all windows and steps are not, and goes
// back with g = d loss / d x: g_u <- sum_k w_k g_to(k), d loss / d w_k = sum over steps of x_u g_to(k).
//
// A window is the work of one thread, which adds in the order of moves: the number of threads makes no difference.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "graph.h"

namespace lipgnn {

template <typename T>
struct WalkSteps {
  EdgeOrder order;  // the moves of every state; other: the state after
  int64_t windows, choices, threads;
  const int64_t* spans;  // (windows, 3): the first state, the one behind the last, steps; no move leaves its window
  const int64_t* edge;   // (moves): whose logit speaks for the move
  const T* logits;       // (choices)
  const T* start;        // (states)
  T* result;             // (states)
  int64_t* lost;         // (windows): whether mass came to a state without moves before the last step
  // backward
  const T* grad_result;  // (states)
  T* grad_logits;        // (choices): zeros, to which is added
  T* grad_start;         // (states)
};

template <typename T>
class WalkingWindow {
 public:
  WalkingWindow(const WalkSteps<T>& arrays, int64_t window)
      : a_(arrays), window_(window), first_(arrays.spans[3 * window]), size_(arrays.spans[3 * window + 1] - first_),
        steps_(arrays.spans[3 * window + 2]), first_move_(arrays.order.start[first_]),
        moves_(arrays.order.start[first_ + size_] - first_move_), weights_(steps_ ? moves_ : 0) {
    if (steps_) find_weights();
  }

  void forward() const {
    std::vector<T> here(a_.start + first_, a_.start + first_ + size_), next(steps_ ? size_ : 0);
    const std::vector<int64_t> closed = closed_states();
    bool lost = false;
    for (int64_t i = 0; i < steps_; ++i) {
      // What is not a number is no mass.
      for (int64_t u : closed) lost |= here[u] > 0 || here[u] < 0;
      step(here.data(), next.data());
      here.swap(next);
    }
    std::copy(here.begin(), here.end(), a_.result + first_);
    a_.lost[window_] = lost;
  }

  void backward() const {
    std::vector<T> states(size_ * steps_), grad_weights(weights_.size());
    if (steps_) std::copy_n(a_.start + first_, size_, states.data());
    for (int64_t i = 1; i < steps_; ++i) step(states.data() + (i - 1) * size_, states.data() + i * size_);
    std::vector<T> grad(a_.grad_result + first_, a_.grad_result + first_ + size_), before(steps_ ? size_ : 0);
    for (int64_t i = steps_ - 1; i >= 0; --i) {
      step_back(states.data() + i * size_, grad.data(), before.data(), grad_weights.data());
      grad.swap(before);
    }
    std::copy(grad.begin(), grad.end(), a_.grad_start + first_);
    if (steps_) add_grad_logits(grad_weights.data());
  }

 private:
  // The moves of state u of the window, counted from its first one.
  int64_t begin(int64_t u) const { return a_.order.start[first_ + u] - first_move_; }
  int64_t to(int64_t k) const { return a_.order.other[first_move_ + k] - first_; }
  int64_t edge(int64_t k) const { return a_.edge[first_move_ + k]; }

  std::vector<int64_t> closed_states() const {
    std::vector<int64_t> closed;
    for (int64_t u = 0; u < size_; ++u)
      if (begin(u) == begin(u + 1)) closed.push_back(u);
    return closed;
  }

  void find_weights() {
    for (int64_t u = 0; u < size_; ++u) {
      const int64_t first = begin(u), end = begin(u + 1);
      T top = -std::numeric_limits<T>::infinity(), sum = 0;
      for (int64_t k = first; k < end; ++k) top = std::max(top, a_.logits[edge(k)]);
      for (int64_t k = first; k < end; ++k) sum += weights_[k] = std::exp(a_.logits[edge(k)] - top);
      for (int64_t k = first; k < end; ++k) weights_[k] /= sum;
    }
  }

  void step(const T* here, T* next) const {
    std::fill_n(next, size_, T(0));
    for (int64_t u = 0; u < size_; ++u) {
      // Most states are empty until walkers have spread.
      if (here[u] == 0) continue;
      for (int64_t k = begin(u), end = begin(u + 1); k < end; ++k) next[to(k)] += here[u] * weights_[k];
    }
  }

  void step_back(const T* here, const T* grad, T* before, T* grad_weights) const {
    for (int64_t u = 0; u < size_; ++u) {
      T sum = 0;
      for (int64_t k = begin(u), end = begin(u + 1); k < end; ++k) {
        sum += weights_[k] * grad[to(k)];
        grad_weights[k] += here[u] * grad[to(k)];
      }
      before[u] = sum;
    }
  }

  // A softmax gives back w_k (d_k - sum_k' w_k' d_k').
  void add_grad_logits(const T* grad_weights) const {
    for (int64_t u = 0; u < size_; ++u) {
      const int64_t first = begin(u), end = begin(u + 1);
      T mean = 0;
      for (int64_t k = first; k < end; ++k) mean += weights_[k] * grad_weights[k];
      for (int64_t k = first; k < end; ++k) a_.grad_logits[edge(k)] += weights_[k] * (grad_weights[k] - mean);
    }
  }

  const WalkSteps<T>& a_;
  const int64_t window_, first_, size_, steps_, first_move_, moves_;
  std::vector<T> weights_;
};

template <typename T, typename Work>
void for_windows(const WalkSteps<T>& a, const Work& work) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(int(std::min(a.threads, a.windows))) if (a.windows > 1)
  for (int64_t window = 0; window < a.windows; ++window) work(WalkingWindow<T>(a, window));
}

template <typename T>
void walk_steps_forward(const WalkSteps<T>& a) {
  for_windows(a, [](const WalkingWindow<T>& window) { window.forward(); });
}

template <typename T>
void walk_steps_backward(const WalkSteps<T>& a) {
  for_windows(a, [](const WalkingWindow<T>& window) { window.backward(); });
}

}  // namespace lipgnn
