// What Python calls, through ctypes: one function for each form, direction and floating-point type.
#include "additive.h"
#include "batch_norm.h"
#include "dot_product.h"
#include "dropout.h"
#include "dynamic.h"
#include "residual_elu.h"
#include "row_measures.h"
#include "shared_product.h"
#include "smoothness.h"
#include "sparse_product.h"
#include "summary.h"
#include "walk_steps.h"

namespace lipgnn {

// Calls run with the layout that fits the arrays.
template <typename T, typename Run>
void with_rows(int64_t heads, int64_t width, bool heads_fastest, const Run& run) {
  if (heads_fastest && heads == 8 && width == 8) return run(HeadsFastest<T, 8, 8>(heads, width));
  if (heads_fastest && heads == 8) return run(HeadsFastest<T, 8, 0>(heads, width));
  if (heads_fastest) return run(HeadsFastest<T, 4, 0>(heads, width));
  if (heads == 1 && width == 64) return run(WidthFastest<T, 4, 1, 1, 64>(heads, width));
  if (heads <= 4) return run(WidthFastest<T, 4, 1>(heads, width));
  if (heads <= 8) return run(WidthFastest<T, 8, 1>(heads, width));
  return run(WidthFastest<T, 8, 0>(heads, width));
}

template <template <typename> class Form, typename Arrays>
void run(const Arrays& arrays, bool backward) {
  using T = std::remove_pointer_t<decltype(arrays.out)>;
  with_rows<T>(arrays.heads, arrays.width, arrays.heads_fastest, [&](auto rows) {
    const Form<decltype(rows)> form(arrays);
    backward ? form.backward() : form.forward();
  });
}

}  // namespace lipgnn

// Whether Intel made this processor: libraries that it makes are at their best there.
extern "C" int64_t made_by_intel() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") ? 1 : 0;
#else
  return 0;
#endif
}

// How large the caller's structures have to be: one that was made for other sources must not be read.
#define LIPGNN_EXPORT_SIZE(name, Arrays) \
  extern "C" int64_t name##_size() { return sizeof(lipgnn::Arrays<float>); }

LIPGNN_EXPORT_SIZE(additive, Additive)
LIPGNN_EXPORT_SIZE(batch_norm, BatchNorm)
LIPGNN_EXPORT_SIZE(dot_product, DotProduct)
LIPGNN_EXPORT_SIZE(feature_dropout, FeatureDropout)
LIPGNN_EXPORT_SIZE(dynamic, Dynamic)
LIPGNN_EXPORT_SIZE(residual_elu, ResidualElu)
LIPGNN_EXPORT_SIZE(row_measures, RowMeasures)
LIPGNN_EXPORT_SIZE(shared_product, SharedProduct)
LIPGNN_EXPORT_SIZE(smoothness, Smoothness)
LIPGNN_EXPORT_SIZE(sparse_product, SparseProduct)
LIPGNN_EXPORT_SIZE(summary, Summary)
LIPGNN_EXPORT_SIZE(typed_product, DotProduct)
LIPGNN_EXPORT_SIZE(walk_steps, WalkSteps)

// What has a function of its own for either direction.
#define LIPGNN_EXPORT_BOTH_WAYS(name, Arrays, type, suffix)                                             \
  extern "C" void name##_forward_##suffix(const lipgnn::Arrays<type>* a) { lipgnn::name##_forward(*a); } \
  extern "C" void name##_backward_##suffix(const lipgnn::Arrays<type>* a) { lipgnn::name##_backward(*a); }

#define LIPGNN_EXPORT(name, Form, Arrays, type, suffix)                                                              \
  extern "C" void name##_forward_##suffix(const lipgnn::Arrays<type>* a) { lipgnn::run<lipgnn::Form>(*a, false); } \
  extern "C" void name##_backward_##suffix(const lipgnn::Arrays<type>* a) { lipgnn::run<lipgnn::Form>(*a, true); }

// What has no gradient, or one that is computed by the same function.
#define LIPGNN_EXPORT_ONE_WAY(name, Arrays)                                                         \
  extern "C" void name##_forward_float32(const lipgnn::Arrays<float>* a) { lipgnn::name(*a); } \
  extern "C" void name##_forward_float64(const lipgnn::Arrays<double>* a) { lipgnn::name(*a); }

LIPGNN_EXPORT(additive, AdditiveAttention, Additive, float, float32)
LIPGNN_EXPORT(additive, AdditiveAttention, Additive, double, float64)
LIPGNN_EXPORT(dot_product, DotProductAttention, DotProduct, float, float32)
LIPGNN_EXPORT(dot_product, DotProductAttention, DotProduct, double, float64)
LIPGNN_EXPORT_ONE_WAY(feature_dropout, FeatureDropout)
LIPGNN_EXPORT(dynamic, DynamicAttention, Dynamic, float, float32)
LIPGNN_EXPORT(dynamic, DynamicAttention, Dynamic, double, float64)
LIPGNN_EXPORT_ONE_WAY(row_measures, RowMeasures)
LIPGNN_EXPORT(shared_product, SharedProductAttention, SharedProduct, float, float32)
LIPGNN_EXPORT(shared_product, SharedProductAttention, SharedProduct, double, float64)
LIPGNN_EXPORT_ONE_WAY(smoothness, Smoothness)
LIPGNN_EXPORT_ONE_WAY(sparse_product, SparseProduct)
LIPGNN_EXPORT_ONE_WAY(summary, Summary)
LIPGNN_EXPORT_BOTH_WAYS(batch_norm, BatchNorm, float, float32)
LIPGNN_EXPORT_BOTH_WAYS(batch_norm, BatchNorm, double, float64)
LIPGNN_EXPORT_BOTH_WAYS(residual_elu, ResidualElu, float, float32)
LIPGNN_EXPORT_BOTH_WAYS(residual_elu, ResidualElu, double, float64)
LIPGNN_EXPORT(typed_product, TypedProductAttention, DotProduct, float, float32)
LIPGNN_EXPORT(typed_product, TypedProductAttention, DotProduct, double, float64)
LIPGNN_EXPORT_BOTH_WAYS(walk_steps, WalkSteps, float, float32)
LIPGNN_EXPORT_BOTH_WAYS(walk_steps, WalkSteps, double, float64)
