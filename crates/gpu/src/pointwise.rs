//! Writes scalar functions as expressions: every pointwise op, casts, selections and the parts of complex numbers.
//! Takes operands as expressions; returns an expression, or the reason why there is no code for these dtypes.

use crate::library;
use crate::memory::register;
use gradus_ir::ops::{Combine, Pointwise, Scalar};
use gradus_ir::{Class, DType};

/// Returns the expression of a scalar function of operands.
pub(crate) fn apply(scalar: Scalar, from: &[DType], args: &[String], to: DType) -> Result<String, String> {
    let none = |d: &DType| register(*d).is_none();
    if let Some(d) = from.iter().chain([&to]).find(|d| none(d)) {
        return Err(format!("kernels do not compute in {d}"));
    }
    let x = || args.first().cloned().unwrap_or_default();
    let y = || args.get(1).cloned().unwrap_or_default();
    match scalar {
        Scalar::Identity => Ok(x()),
        Scalar::Pointwise(op) => of_pointwise(op, from[0], args).map(|e| wrapped(e, op, to)),
        Scalar::Cast => Ok(cast(from[0], to, &x())),
        Scalar::Select => {
            let third = args.get(2).cloned().unwrap_or_default();
            Ok(format!("select({third}, {}, {})", y(), x()))
        }
        Scalar::Re => Ok(format!("{}.x", x())),
        Scalar::Im => Ok(format!("{}.y", x())),
        Scalar::Conj if from[0].is_complex() => Ok(format!("vec2<f32>({0}.x, -{0}.y)", x())),
        Scalar::Conj => Ok(x()),
        Scalar::Complex => Ok(format!("vec2<f32>({}, {})", x(), y())),
    }
}

/// Returns true if a result must pass through `f_fence` before it is added or subtracted. Without the fence, compilers
/// may fuse a product and a sum, or reassociate sums.
pub(crate) fn is_arithmetic(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Pointwise(op) if matches!(op.name, "add" | "sub" | "mul" | "square" | "neg"))
}

/// Wraps the result of an op on integers of fewer than 32 bits to the width of its dtype.
fn wrapped(e: String, op: &Pointwise, to: DType) -> String {
    match to {
        DType::I8 if !op.predicate => format!("(({e} << 24u) >> 24u)"),
        DType::U8 if !op.predicate => format!("({e} & 0xffu)"),
        _ => e,
    }
}

/// Returns the expression of a pointwise op.
fn of_pointwise(op: &Pointwise, from: DType, args: &[String]) -> Result<String, String> {
    let missing = || format!("there is no kernel for {} of {from}", op.name);
    let list = args.join(", ");
    let named = |prefix: &str| {
        let name = format!("{prefix}_{}", op.name);
        if library::has(&name) { Ok(format!("{name}({list})")) } else { Err(missing()) }
    };
    let a = args.first().map_or("", String::as_str);
    let b = args.get(1).map_or("", String::as_str);
    let infix = |sign: &str| Ok(format!("({a} {sign} {b})"));
    match register(from).unwrap_or("") {
        "f32" => match op.name {
            "add" => infix("+"),
            "sub" if a == b => Ok(format!("({a} - f_fence({b}))")),
            "sub" => infix("-"),
            "mul" => infix("*"),
            "div" => infix("/"),
            "square" => Ok(format!("({a} * {a})")),
            "neg" => Ok(format!("(-{a})")),
            "reciprocal" => Ok(format!("(1.0f / {a})")),
            "floor" | "ceil" | "trunc" | "sqrt" => Ok(format!("{}({a})", op.name)),
            "rsqrt" => Ok(format!("(1.0f / sqrt({a}))")),
            "eq" => infix("=="),
            "ne" => Ok(format!("!({a} == {b})")),
            "lt" => infix("<"),
            "le" => infix("<="),
            "gt" => infix(">"),
            "ge" => infix(">="),
            _ => named("f"),
        },
        "vec2<f32>" => match op.name {
            "add" => infix("+"),
            "sub" => infix("-"),
            "neg" => Ok(format!("(-{a})")),
            "mul" | "div" => named("c"),
            "square" => Ok(format!("c_mul({a}, {a})")),
            // Uses `f_zero`, not `f_bits(0u)`, so that no branch depends on parameters only. For such a branch, some
            // drivers recompile the kernel with the parameters as constants. They would then know that word 0 of the
            // parameters is 0, and remove the fences, which read it.
            "reciprocal" => Ok(format!("c_div(vec2<f32>(1.0f, f_zero({a}.x)), {a})")),
            "eq" => Ok(format!("({a}.x == {b}.x && {a}.y == {b}.y)")),
            "ne" => Ok(format!("!({a}.x == {b}.x && {a}.y == {b}.y)")),
            "is_nan" | "is_inf" => Ok(format!("(f_{0}({a}.x) || f_{0}({a}.y))", op.name)),
            "is_finite" => Ok(format!("(f_is_finite({a}.x) && f_is_finite({a}.y))")),
            _ => named("c"),
        },
        "bool" => match op.name {
            "and" | "minimum" => infix("&&"),
            "or" | "maximum" => infix("||"),
            "xor" | "ne" => infix("!="),
            "eq" => infix("=="),
            "not" => Ok(format!("(!{a})")),
            "lt" => Ok(format!("(!{a} && {b})")),
            "le" => Ok(format!("(!{a} || {b})")),
            "gt" => Ok(format!("({a} && !{b})")),
            "ge" => Ok(format!("({a} || !{b})")),
            "is_nan" | "is_inf" => Ok("false".into()),
            "is_finite" => Ok("true".into()),
            _ => Err(missing()),
        },
        kind => {
            let (wide, signed) = (kind == "vec2<u32>", kind == "i32");
            match op.name {
                "floor" | "ceil" | "round" | "trunc" => Ok(a.to_string()),
                "is_nan" | "is_inf" => Ok("false".into()),
                "is_finite" => Ok("true".into()),
                "eq" if wide => Ok(format!("l_eq({list})")),
                "ne" if wide => Ok(format!("!l_eq({list})")),
                "lt" if wide => Ok(format!("l_less({list})")),
                "ge" if wide => Ok(format!("!l_less({list})")),
                "gt" if wide => Ok(format!("l_less({b}, {a})")),
                "le" if wide => Ok(format!("!l_less({b}, {a})")),
                "square" if wide => Ok(format!("l_mul({a}, {a})")),
                _ if wide => named("l"),
                "eq" => infix("=="),
                "ne" => infix("!="),
                "lt" => infix("<"),
                "le" => infix("<="),
                "gt" => infix(">"),
                "ge" => infix(">="),
                "and" => infix("&"),
                "or" => infix("|"),
                "xor" => infix("^"),
                "not" => Ok(format!("(~{a})")),
                "square" if signed => Ok(format!("i_mul({a}, {a})")),
                "square" => Ok(format!("({a} * {a})")),
                _ if signed => named("i"),
                "add" => infix("+"),
                "sub" => infix("-"),
                "mul" => infix("*"),
                "neg" => Ok(format!("(0u - {a})")),
                "abs" => Ok(a.to_string()),
                "sign" => Ok(format!("select(0u, 1u, {a} != 0u)")),
                "floor_div" => Ok(format!("u_div({list})")),
                "remainder" => Ok(format!("u_fmod({list})")),
                _ => named("u"),
            }
        }
    }
}

/// Converts a register to another dtype: floats saturate, integers wrap, nonzero numbers are true.
pub(crate) fn cast(from: DType, to: DType, x: &str) -> String {
    let target = register(to).unwrap_or("");
    match (from.class(), to.class()) {
        (Class::Float, Class::Float) | (Class::Complex, Class::Complex) | (Class::Bool, Class::Bool) => {
            x.to_string()
        }
        (Class::Float, Class::Complex) => format!("vec2<f32>({x}, f_bits(0u))"),
        (Class::Float, Class::Bool) => format!("!({x} == 0.0f)"),
        (Class::Float, Class::Int) => match to {
            DType::I8 => format!("f_to_i8({x})"),
            DType::U8 => format!("f_to_u8({x})"),
            DType::I32 => format!("f_to_i32({x})"),
            DType::U32 => format!("f_to_u32({x})"),
            _ => format!("l_from_f32({x})"),
        },
        (Class::Complex, Class::Bool) => format!("!({x}.x == 0.0f && {x}.y == 0.0f)"),
        (Class::Complex, _) => cast(DType::F32, to, &format!("{x}.x")),
        (Class::Bool, _) => match target {
            "f32" => format!("select(0.0f, 1.0f, {x})"),
            "vec2<f32>" => format!("vec2<f32>(select(0.0f, 1.0f, {x}), f_bits(0u))"),
            "i32" => format!("select(0, 1, {x})"),
            "u32" => format!("select(0u, 1u, {x})"),
            _ => format!("vec2<u32>(select(0u, 1u, {x}), 0u)"),
        },
        (Class::Int, Class::Float) if from == DType::I64 => format!("l_to_f32({x})"),
        (Class::Int, Class::Float) => format!("f32({x})"),
        (Class::Int, Class::Complex) => format!("vec2<f32>({}, f_bits(0u))", cast(from, DType::F32, x)),
        (Class::Int, Class::Bool) => match register(from) {
            Some("vec2<u32>") => format!("!l_zero({x})"),
            Some("i32") => format!("({x} != 0)"),
            _ => format!("({x} != 0u)"),
        },
        (Class::Int, Class::Int) => {
            let low = match register(from) {
                Some("vec2<u32>") => format!("{x}.x"),
                Some("i32") => format!("bitcast<u32>({x})"),
                _ => x.to_string(),
            };
            match to {
                DType::I64 if from == DType::I64 => x.to_string(),
                DType::I64 if register(from) == Some("i32") => format!("l_i32({x})"),
                DType::I64 => format!("l_u32({x})"),
                DType::U32 => low,
                DType::U8 => format!("({low} & 0xffu)"),
                DType::I8 => format!("(bitcast<i32>({low} << 24u) >> 24u)"),
                _ => format!("bitcast<i32>({low})"),
            }
        }
    }
}

/// Returns the expression that combines two elements.
pub(crate) fn combine(combine: Combine, dtype: DType, a: &str, b: &str) -> Result<String, String> {
    let kind = register(dtype).ok_or_else(|| format!("kernels do not compute in {dtype}"))?;
    let missing = || format!("there is no kernel for a reduction by {combine:?} of {dtype}");
    let wrap = |e: String| match dtype {
        DType::I8 => format!("(({e} << 24u) >> 24u)"),
        DType::U8 => format!("({e} & 0xffu)"),
        _ => e,
    };
    Ok(match (combine, kind) {
        (Combine::Sum, "f32" | "vec2<f32>" | "u32") => wrap(format!("({a} + {b})")),
        (Combine::Sum, "i32") => wrap(format!("i_add({a}, {b})")),
        (Combine::Sum, "vec2<u32>") => format!("l_add({a}, {b})"),
        (Combine::Sum, "bool") => format!("({a} != {b})"),
        (Combine::Prod, "f32" | "u32") => wrap(format!("({a} * {b})")),
        (Combine::Prod, "i32") => wrap(format!("i_mul({a}, {b})")),
        (Combine::Prod, "vec2<u32>") => format!("l_mul({a}, {b})"),
        (Combine::Prod, "vec2<f32>") => format!("c_mul({a}, {b})"),
        (Combine::Prod | Combine::Min, "bool") => format!("({a} && {b})"),
        (Combine::Max, "bool") => format!("({a} || {b})"),
        (Combine::Max, "f32") => format!("f_max_found({a}, {b})"),
        (Combine::Min, "f32") => format!("f_min_found({a}, {b})"),
        (Combine::Max | Combine::Min, "i32" | "u32" | "vec2<u32>") => {
            let prefix = if kind == "vec2<u32>" { "l" } else { &kind[..1] };
            let name = if combine == Combine::Max { "maximum" } else { "minimum" };
            format!("{prefix}_{name}({a}, {b})")
        }
        (Combine::LogSumExp, "f32") if library::has("f_logaddexp") => format!("f_logaddexp({a}, {b})"),
        _ => return Err(missing()),
    })
}

/// Returns the identity element of a combination.
pub(crate) fn identity(combine: Combine, dtype: DType) -> String {
    let kind = register(dtype).unwrap_or("");
    let ends = |x: f64| dtype.from_float(x);
    match (combine, kind) {
        (Combine::Sum | Combine::LogSumExp, "i32") => "0".into(),
        // The identity of sums is negative zero, so that a sum of negative zeros stays negative.
        (Combine::Sum, "f32") => "f_bits(0x80000000u)".into(),
        (Combine::Sum, "vec2<f32>") => "vec2<f32>(0.0f, 0.0f)".into(),
        (Combine::Sum, "u32") => "0u".into(),
        (Combine::Sum, "vec2<u32>") => "vec2<u32>(0u, 0u)".into(),
        (Combine::Prod, "f32") => "1.0f".into(),
        (Combine::Prod, "i32") => "1".into(),
        (Combine::Prod, "u32") => "1u".into(),
        (Combine::Prod, "vec2<u32>") => "vec2<u32>(1u, 0u)".into(),
        (Combine::Prod, "vec2<f32>") => "vec2<f32>(1.0f, 0.0f)".into(),
        (Combine::Prod | Combine::Min, "bool") => "true".into(),
        (Combine::Max | Combine::LogSumExp, "f32") => "f_bits(0xff800000u)".into(),
        (Combine::Min, "f32") => "f_bits(0x7f800000u)".into(),
        (Combine::Max, "i32") => format!("bitcast<i32>({:#x}u)", ends(f64::NEG_INFINITY) as u32),
        (Combine::Min, "i32") => format!("bitcast<i32>({:#x}u)", ends(f64::INFINITY) as u32),
        (Combine::Max, "u32") => "0u".into(),
        (Combine::Min, "u32") => format!("{:#x}u", ends(f64::INFINITY) as u32),
        (Combine::Max, "vec2<u32>") => "vec2<u32>(0u, 0x80000000u)".into(),
        (Combine::Min, "vec2<u32>") => "vec2<u32>(0xffffffffu, 0x7fffffffu)".into(),
        _ => "false".into(),
    }
}
