// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a number is a function of the
// seed and of what it is for, so backward draws what forward drew, in any order and on any number of threads.
#pragma once

#include <cstdint>

#include "vector.h"

namespace lipgnn {

// Its multipliers, and by how much its keys rise from round to round.
constexpr uint32_t kPhiloxA = 0xD2511F53, kPhiloxB = 0xCD9E8D57, kPhiloxKey0 = 0x9E3779B9, kPhiloxKey1 = 0xBB67AE85;
constexpr int kPhiloxRounds = 10;

struct Philox {
  uint32_t word[4];

  Philox(uint64_t seed, uint64_t edge, uint32_t group) {
    uint32_t key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
    uint32_t c0 = uint32_t(edge), c1 = uint32_t(edge >> 32), c2 = group, c3 = 0;
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const uint64_t a = uint64_t(kPhiloxA) * c0, b = uint64_t(kPhiloxB) * c2;
      c0 = uint32_t(b >> 32) ^ c1 ^ key0;
      c1 = uint32_t(b);
      c2 = uint32_t(a >> 32) ^ c3 ^ key1;
      c3 = uint32_t(a);
      key0 += kPhiloxKey0;
      key1 += kPhiloxKey1;
    }
    word[0] = c0, word[1] = c1, word[2] = c2, word[3] = c3;
  }
};

// Dropout of attention weights: 0, or 1 / (1 - p), for every edge and head.
template <typename T>
class Dropout {
 public:
  // Where all are dropped, nothing is kept, not 1 / 0.
  Dropout(double p, uint64_t seed)
      : on(p > 0), seed_(seed), threshold_(p < 1 ? uint32_t(p * 4294967296.0) : UINT32_MAX), kept_(T(p < 1 ? 1 / (1 - p) : 0)) {}

  const bool on;

  // The factors of heads first_head to first_head + L.
  template <int L>
  Vector<T, L> factors(int64_t edge, int first_head) const {
    Vector<T, L> result{};
    for (int part = 0; part < L / 4; ++part) {
      const Philox random(seed_, uint64_t(edge), uint32_t(first_head / 4 + part));
      for (int k = 0; k < 4; ++k) result[4 * part + k] = random.word[k] < threshold_ ? T(0) : kept_;
    }
    return result;
  }

 private:
  const uint64_t seed_;
  const uint32_t threshold_;
  const T kept_;
};

}  // namespace lipgnn
