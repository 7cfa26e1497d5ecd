// The edges in both orders (see lipgnn/kernels/adjacency.py), and loops over nodes by several threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lipgnn {

struct EdgeOrder {
  const int64_t* start;    // (nodes + 1)
  const int32_t* other;    // (E)
  const int64_t* edge_id;  // (E)
  const int64_t* pieces;   // (P + 1)
  int64_t num_pieces;
};

struct Graph {
  int64_t num_sources, num_targets, num_edges;  // of a graph with one kind of nodes the first two are the same
  EdgeOrder incoming, outgoing;
  int64_t threads;
};

// Calls work(piece, first node, end node) for every piece. Pieces are the same at any number of threads and write to
// places of their own, so the outcome is too.
template <typename Work>
void for_pieces(const EdgeOrder& order, int64_t threads, const Work& work) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(int(threads))
  for (int64_t piece = 0; piece < order.num_pieces; ++piece) work(piece, order.pieces[piece], order.pieces[piece + 1]);
}

// Ask for the cache lines of the row that will be used a few edges later; neighbours lie anywhere in memory.
template <typename T>
inline void fetch(const T* row, std::size_t size) {
  const char* first = reinterpret_cast<const char*>(row);
  for (std::size_t offset = 0; offset < size * sizeof(T); offset += 64) __builtin_prefetch(first + offset);
}

}  // namespace lipgnn
