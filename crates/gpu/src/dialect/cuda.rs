//! CUDA C++: the entry point, and definitions with which the subset of WGSL that kernels use compiles as C++.

use super::{Frame, Unit};

/// Library functions that are part of the definitions below.
pub(super) const BUILTIN: &[&str] = &["f_fence", "f_bits", "f_zero", "f_round", "f_product_error", "f_fused"];

const DEFINITIONS: &str = "\
typedef unsigned int u32;
typedef int i32;
typedef float f32;
#define let const auto
#define var auto
#define FN __device__ __forceinline__
template <class T> struct __align__(2 * sizeof(T)) vec2 {
  T x, y;
  vec2() = default;
  FN vec2(T x, T y) : x(x), y(y) {}
  FN vec2 operator+(vec2 o) const { return vec2(x + o.x, y + o.y); }
  FN vec2 operator-(vec2 o) const { return vec2(x - o.x, y - o.y); }
  FN vec2 operator-() const { return vec2(-x, -y); }
};
template <class T> struct __align__(4 * sizeof(T)) vec4 {
  T x, y, z, w;
  vec4() = default;
  FN vec4(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
};
template <class T> FN T select(T no, T yes, bool c) { return c ? yes : no; }
template <class T, class S> FN T bitcast(S x) {
  static_assert(sizeof(T) == sizeof(S), \"sizes differ\");
  T y;
  memcpy(&y, &x, sizeof(T));
  return y;
}
FN f32 f_fence(f32 x) { return x; }
FN f32 f_bits(u32 b) { return __uint_as_float(b); }
FN f32 f_zero(f32) { return 0.0f; }
FN f32 f_round(f32 x) { return rintf(x); }
FN f32 f_fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
FN f32 f_product_error(f32 a, f32 b, f32 product) { return __fmaf_rn(a, b, -product); }
FN u32 countLeadingZeros(u32 x) { return __clz(x); }
FN void workgroupBarrier() { __syncthreads(); }
";

/// Rewrites the head of a function: `fn f(a: T) -> R {` as `FN R f(T a) {`.
pub(super) fn function(text: &str) -> String {
    let Some((head, body)) = text.split_once("{\n") else { return text.to_string() };
    let head = head.trim_start_matches("fn ").trim();
    let (signature, result) = head.split_once(" -> ").unwrap_or((head, "void"));
    let (name, list) = signature.split_once('(').unwrap_or((signature, ")"));
    format!("FN {result} {name}({}) {{\n{body}", parameters(list.trim_end_matches(')')))
}

/// Rewrites parameters: `a: T` as `T a`.
fn parameters(list: &str) -> String {
    let one = |parameter: &str| match parameter.split_once(": ") {
        Some((name, kind)) => format!("{} {}", kind.trim(), name.trim()),
        None => parameter.to_string(),
    };
    let all: Vec<String> = list.split(", ").filter(|s| !s.is_empty()).map(one).collect();
    all.join(", ")
}

pub(super) fn entry(frame: &Frame<'_>) -> String {
    let mut text = DEFINITIONS.to_string() + frame.functions;
    let mut list: Vec<String> = Vec::new();
    for (k, (unit, written)) in frame.bindings.iter().enumerate() {
        let element = if *unit == Unit::Four { "vec4<u32>" } else { "u32" };
        let constant = if *written { "" } else { "const " };
        list.push(format!("{constant}{element}* __restrict__ m{k}"));
    }
    list.push("const vec4<u32>* __restrict__ p".into());
    let [x, y, z] = frame.group;
    text += &format!(
        "extern \"C\" __global__ void __launch_bounds__({})\nentry({}) {{\n",
        x * y * z,
        list.join(", ")
    );
    text += "  const uint3 group = blockIdx;\n  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);\n";
    text += "  const u32 local = threadIdx.x;\n";
    for (name, element, length) in frame.shared {
        text += &format!("  __shared__ {element} {name}[{length}];\n");
    }
    // Functions of a kernel use its parameters, so they are written as lambdas inside of the kernel.
    for (name, list, lines) in frame.local {
        text += &format!("  const auto {name} = [&]({}) {{\n{lines}  }};\n", parameters(list));
    }
    text += frame.body;
    text + "}\n"
}
