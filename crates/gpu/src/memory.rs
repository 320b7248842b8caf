//! Writes loads and stores of elements of every dtype, in buffers of 32-bit words. Registers have type `f32` for all
//! floats, `bool`, `i32` or `u32` for integers of up to 32 bits, two words for `i64`, and two floats for `c64`.

use crate::build::Build;
use crate::dialect::Unit;
use crate::int::Int;
use crate::program::Word;
use gradus_ir::{DType, Literal};

/// Returns the type of a register for a dtype; `None` if kernels do not compute in this dtype.
pub(crate) fn register(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F32 | DType::BF16 | DType::F16 => "f32",
        DType::I8 | DType::I32 => "i32",
        DType::U8 | DType::U32 => "u32",
        DType::Bool => "bool",
        DType::I64 => "vec2<u32>",
        DType::C64 => "vec2<f32>",
        DType::F64 | DType::C128 => return None,
    })
}

/// Returns the literal 0 of the register type of a dtype.
pub(crate) fn zero(dtype: DType) -> &'static str {
    match register(dtype) {
        Some("f32") => "0.0f",
        Some("i32") => "0",
        Some("u32") => "0u",
        Some("bool") => "false",
        Some("vec2<f32>") => "vec2<f32>(0.0f, 0.0f)",
        _ => "vec2<u32>(0u, 0u)",
    }
}

/// Returns the number of elements in a word; 1 if an element fills one or more words.
pub(crate) fn per_word(dtype: DType) -> usize {
    (4 / dtype.size()).max(1)
}

/// Converts a word to the register of a dtype; narrow elements are taken from bit `shift` on.
fn from_word(dtype: DType, word: &str, shift: &str) -> String {
    match dtype {
        DType::F32 => format!("bitcast<f32>({word})"),
        DType::I32 => format!("bitcast<i32>({word})"),
        DType::BF16 => format!("h_from_bf16(({word} >> {shift}) & 0xffffu)"),
        DType::F16 => format!("h_from_f16(({word} >> {shift}) & 0xffffu)"),
        DType::U8 => format!("(({word} >> {shift}) & 0xffu)"),
        DType::I8 => format!("(bitcast<i32>(({word} >> {shift}) << 24u) >> 24u)"),
        DType::Bool => format!("((({word} >> {shift}) & 0xffu) != 0u)"),
        _ => word.to_string(),
    }
}

/// Converts a register to a word, or to the lowest bits of one.
pub(crate) fn to_word(dtype: DType, value: &str) -> String {
    match dtype {
        DType::F32 | DType::I32 => format!("bitcast<u32>({value})"),
        DType::BF16 => format!("h_to_bf16({value})"),
        DType::F16 => format!("h_to_f16({value})"),
        DType::U8 => format!("({value} & 0xffu)"),
        DType::I8 => format!("(bitcast<u32>({value}) & 0xffu)"),
        DType::Bool => format!("select(0u, 1u, {value})"),
        _ => value.to_string(),
    }
}

/// Returns an expression that reads the element at index `at` of a buffer.
pub(crate) fn load(b: &Build<'_>, buffer: usize, at: &Int) -> String {
    let dtype = b.dtype(buffer);
    let (binding, unit) = b.binding(buffer);
    let word = |at: &Int| b.dialect.read(binding, unit, &at.text());
    match dtype.size() {
        8 => {
            let first = at.times(&Int::Literal(2));
            let (low, high) = (word(&first), word(&first.plus(&Int::Literal(1))));
            match dtype {
                DType::C64 => format!("vec2<f32>(bitcast<f32>({low}), bitcast<f32>({high}))"),
                _ => format!("vec2<u32>({low}, {high})"),
            }
        }
        4 => from_word(dtype, &word(at), ""),
        size => {
            let per = 4 / size as u32;
            let whole = at.over(&Int::Literal(per));
            let shift = at.modulo(&Int::Literal(per)).times(&Int::Literal(8 * size as u32));
            from_word(dtype, &word(&whole), &shift.text())
        }
    }
}

/// Returns expressions that read four elements from `at` on, which is a multiple of four.
pub(crate) fn load_four(b: &mut Build<'_>, buffer: usize, at: &Int) -> [String; 4] {
    let dtype = b.dtype(buffer);
    let (binding, unit) = b.binding(buffer);
    let size = dtype.size();
    if size >= 4 {
        if unit == Unit::Four && size == 4 {
            let four = b.value(format!("m{binding}[{}]", at.over(&Int::Literal(4)).text()));
            return ["x", "y", "z", "w"].map(|part| from_word(dtype, &format!("{four}.{part}"), ""));
        }
        return [0, 1, 2, 3].map(|k| load(b, buffer, &at.plus(&Int::Literal(k))));
    }
    let per = per_word(dtype) as u32;
    let first = b.int(at.over(&Int::Literal(per)));
    let words: Vec<String> = (0..4 / per)
        .map(|k| {
            let at = first.plus(&Int::Literal(k)).text();
            let word = b.dialect.read(binding, unit, &at);
            b.value(word)
        })
        .collect();
    std::array::from_fn(|k| {
        let k = k as u32;
        from_word(dtype, &words[(k / per) as usize], &format!("{}u", k % per * 8 * size as u32))
    })
}

/// Appends a statement that writes an element. An element smaller than a word is merged into its word.
pub(crate) fn store(b: &mut Build<'_>, buffer: usize, at: &Int, value: &str) {
    let dtype = b.dtype(buffer);
    let (binding, unit) = b.binding(buffer);
    match dtype.size() {
        8 => {
            let first = b.int(at.times(&Int::Literal(2)));
            let parts = match dtype {
                DType::C64 => [format!("bitcast<u32>({value}.x)"), format!("bitcast<u32>({value}.y)")],
                _ => [format!("{value}.x"), format!("{value}.y")],
            };
            for (k, part) in parts.iter().enumerate() {
                let at = first.plus(&Int::Literal(k as u32)).text();
                b.line(b.dialect.write(binding, unit, &at, part));
            }
        }
        4 => {
            let word = to_word(dtype, value);
            b.line(b.dialect.write(binding, unit, &at.text(), &word));
        }
        size => {
            let per = 4 / size as u32;
            let bits = 8 * size as u32;
            let at = b.int(at.clone());
            let whole = b.int(at.over(&Int::Literal(per)));
            let shift = b.int(at.modulo(&Int::Literal(per)).times(&Int::Literal(bits)));
            let mask = format!("({}u << {})", (1u32 << bits) - 1, shift.text());
            let word = format!("({} << {})", to_word(dtype, value), shift.text());
            b.line(b.dialect.merge(binding, &whole.text(), &mask, &word));
        }
    }
}

/// Appends statements that write four elements from `at` on, which is a multiple of four.
pub(crate) fn store_four(b: &mut Build<'_>, buffer: usize, at: &Int, values: &[String]) {
    let dtype = b.dtype(buffer);
    let (binding, unit) = b.binding(buffer);
    let size = dtype.size();
    if size == 4 && unit == Unit::Four {
        let words: Vec<String> = values.iter().map(|v| to_word(dtype, v)).collect();
        let at = at.over(&Int::Literal(4)).text();
        b.line(format!("m{binding}[{at}] = vec4<u32>({});", words.join(", ")));
    } else if size >= 4 {
        for (k, value) in values.iter().enumerate() {
            store(b, buffer, &at.plus(&Int::Literal(k as u32)), value);
        }
    } else {
        let per = per_word(dtype);
        let first = b.int(at.over(&Int::Literal(per as u32)));
        for (k, part) in values.chunks(per).enumerate() {
            let shifted = part.iter().enumerate().map(|(i, v)| {
                let word = to_word(dtype, v);
                if i == 0 { word } else { format!("({word} << {}u)", i * 8 * size) }
            });
            let word = format!("({})", shifted.collect::<Vec<_>>().join(" | "));
            let at = first.plus(&Int::Literal(k as u32)).text();
            b.line(b.dialect.write(binding, unit, &at, &word));
        }
    }
}

/// Adds a constant to the parameters. Returns its expression, or `None` if kernels do not compute in its dtype.
pub(crate) fn constant(b: &mut Build<'_>, l: &Literal) -> Option<String> {
    let dtype = l.dtype();
    register(dtype)?;
    let mut word = |w: u32| b.parameter(Word::Value(w));
    let expression = match dtype {
        DType::C64 => {
            let z = l.c().first()?;
            let (re, im) = (word((z.re as f32).to_bits()), word((z.im as f32).to_bits()));
            format!("vec2<f32>(bitcast<f32>({re}), bitcast<f32>({im}))")
        }
        DType::F32 | DType::BF16 | DType::F16 => {
            format!("bitcast<f32>({})", word((*l.f().first()? as f32).to_bits()))
        }
        DType::I64 => {
            let x = *l.i().first()?;
            format!("vec2<u32>({}, {})", word(x as u32), word((x >> 32) as u32))
        }
        DType::I8 | DType::I32 => format!("bitcast<i32>({})", word(*l.i().first()? as u32)),
        DType::Bool => format!("({} != 0u)", word(*l.i().first()? as u32)),
        _ => word(*l.i().first()? as u32),
    };
    Some(b.constant(expression))
}
