//! Attention over a cache: the CPU's code in `f32` compared with the body in `f64`, and caches written in
//! place.

use gradus_ir::format::Format;
use gradus_ir::{Aval, DType};
use gradus_tensor::{
    CacheKind, CachedOptions, Generator, Tensor, TextBlocks, cache_write, cached_attention, compile,
    dequantize,
};

fn ints(v: &[i64]) -> Tensor {
    Tensor::from(v.to_vec())
}

/// A table of the blocks of two texts.
fn table(blocks: [&[i64]; 2]) -> Tensor {
    Tensor::from_slice(&blocks.concat(), [2, blocks[0].len()])
}

fn far(a: &Tensor, b: &Tensor) -> f64 {
    (a.to_dtype(DType::F64) - b.to_dtype(DType::F64)).abs().max(()).item().unwrap()
}

#[test]
fn attention_equals_its_body() {
    let g = Generator::new(1);
    // Heads of queries and of the cache, width, tokens.
    for (heads, kv, width, time) in
        [(9, 3, 64, 1), (4, 4, 40, 1), (2, 1, 32, 4), (6, 2, 64, 70), (2, 2, 8, 130)]
    {
        let cache = || g.randn([6, kv, 50, width]);
        let (keys, values, q) = (cache(), cache(), g.randn([2, time, heads, width]));
        for (own, first) in [
            ([&[0, 4, 2], &[3, 4, 5]], [5, 0]),
            ([&[5, 1, 0], &[5, 2, 3]], [17, 149]),
            ([&[9, 0, -3], &[-1, 2, 2]], [0, 3]),
        ] {
            for (scale, window, softcap) in
                [(None, None, None), (Some(0.7), Some(11), None), (Some(0.7), None, Some(1.5))]
            {
                let options = CachedOptions { scale, window, softcap };
                let (own, first) = (table(own.map(|o| &o[..])), ints(&first));
                let at = TextBlocks { table: &own, first: &first };
                let found = cached_attention(&q, (&keys, &values), at, options);
                let [q, k, v] = [&q, &keys, &values].map(|t| t.to_dtype(DType::F64));
                let right = cached_attention(&q, (&k, &v), at, options);
                let off = far(&found, &right);
                assert!(off < 1e-5, "{heads} {kv} {width} {time} {scale:?} {window:?}: {off}");
            }
        }
    }
}

/// Returns the floats that a cache holds, as `f64`.
fn decoded(x: &Tensor) -> Tensor {
    let x = if x.dtype() == DType::U8 { dequantize(x, Format::Q8_0) } else { x.clone() };
    x.to_dtype(DType::F64)
}

#[test]
fn caches_of_narrow_dtypes_are_written_and_read() {
    let g = Generator::new(11);
    for (kind, most) in [(CacheKind::Bf16, 1.0 / 256.0), (CacheKind::Q8, 1.0 / 240.0)] {
        let x = g.randn([5, 7, 64]);
        let (dtype, row) = kind.row(64).unwrap();
        let encoded = kind.encode(&x);
        assert_eq!((encoded.dtype(), encoded.dim(-1)), (dtype, row));
        // The error is relative to the largest element of a block.
        let off: f64 = (decoded(&encoded) - x.to_dtype(DType::F64)).abs().max(()).item().unwrap();
        let size: f64 = x.abs().max(()).item::<f32>().unwrap().into();
        assert!(off > 0.0 && off < most * size, "{kind:?}: {off} of {size}");
        assert_eq!(far(&decoded(&kind.encode(&Tensor::zeros([1, 64]))), &Tensor::zeros([1, 64])), 0.0);
        for (heads, kv, time) in [(9, 3, 1), (2, 2, 4), (6, 2, 70)] {
            let cache = || kind.encode(&g.randn([6, kv, 50, 64]));
            let (keys, values, q) = (cache(), cache(), g.randn([2, time, heads, 64]));
            for (own, first, window) in [
                ([&[0, 4, 2], &[3, 4, 5]], [5, 0], None),
                ([&[5, 1, 0], &[5, 2, 3]], [79, 149], Some(11)),
                ([&[9, 0, 1], &[-1, 2, 3]], [0, 3], None),
            ] {
                let (own, first) = (table(own.map(|o| &o[..])), ints(&first));
                let at = TextBlocks { table: &own, first: &first };
                let options = CachedOptions { window, ..CachedOptions::default() };
                let found = cached_attention(&q, (&keys, &values), at, options);
                let [k, v] = [&keys, &values].map(decoded);
                let right = cached_attention(&q.to_dtype(DType::F64), (&k, &v), at, options);
                assert!(far(&found, &right) < 1e-5, "{kind:?} {heads} {kv} {time}: {}", far(&found, &right));
                let (texts, count) = (kind.encode(&g.randn([2, time, kv, 64])), ints(&[time as i64, 1]));
                let written = cache_write(&keys, &texts, at, &count);
                let right = cache_write(&k, &decoded(&texts), at, &count);
                assert_eq!(far(&decoded(&written), &right), 0.0);
            }
        }
    }
    assert!(CacheKind::Q8.row(40).is_err());
}

#[test]
fn a_query_without_positions_gives_zero() {
    let g = Generator::new(2);
    for time in [1, 9] {
        let (k, q, own) = (g.randn([1, 1, 4, 8]), g.randn([1, time, 1, 8]), Tensor::zeros([1, 1]));
        let (own, first) = (own.to_dtype(DType::I64), ints(&[-9]));
        let at = TextBlocks { table: &own, first: &first };
        let found = cached_attention(&q, (&k, &k), at, CachedOptions::default());
        assert_eq!(found.abs().max(()).item::<f32>().unwrap(), 0.0);
    }
}

#[test]
fn writing_equals_its_body() {
    let g = Generator::new(3);
    let (cache, texts) = (g.randn([7, 2, 5, 3]), g.randn([3, 4, 2, 3]));
    for (own, first, count) in [
        ([0i64, 2, 1, 3, 6, 4], [0, 3, 9], [4, 2, 4]),
        ([3, 5, 7, 1, -1, 2], [8, 0, 3], [4, 4, 4]),
        ([1, 2, 3, 2, 0, 2], [2, 4, -2], [4, 9, 4]),
        ([0, 1, 2, 3, 4, 5], [i64::MAX, i64::MIN, 0], [4, 4, -3]),
    ] {
        let own = Tensor::from_slice(&own, [3, 2]);
        let [first, count] = [first, count].map(|v| ints(&v));
        let at = TextBlocks { table: &own, first: &first };
        let found = cache_write(&cache, &texts, at, &count);
        let [c, t] = [&cache, &texts].map(|t| t.to_dtype(DType::F64));
        assert_eq!(far(&found, &cache_write(&c, &t, at, &count)), 0.0);
    }
    // Written row by row: text 0 begins at position 3 of its blocks 4 and 1.
    let (own, first, count) = (Tensor::from_slice(&[4i64, 1], [1, 2]), ints(&[3]), ints(&[4]));
    let one = texts.narrow(0, 0, 1);
    let found = cache_write(&cache, &one, TextBlocks { table: &own, first: &first }, &count);
    let mut right = cache.clone();
    for (token, (block, offset)) in [(4, 3), (4, 4), (1, 0), (1, 1)].into_iter().enumerate() {
        right = right.with_at((block, .., offset), &one.at((0, token)));
    }
    assert_eq!(far(&found, &right), 0.0);
}

#[test]
fn a_compiled_step_writes_its_cache_in_place() {
    let cell = Tensor::zeroed(&Aval::new(DType::F32, [4, 1, 32, 32])).cell();
    let own = Tensor::from_slice(&[2i64, 3], [1, 2]);
    let [text, first, count] = [Tensor::ones([1, 1, 1, 32]), ints(&[3]), ints(&[1])];
    let plan = compile(&[&text, &own, &first, &count], |x| {
        let at = TextBlocks { table: &x[1], first: &x[2] };
        let new = cache_write(&cell, &x[0], at, &x[3]);
        cell.set_(&new).unwrap();
        cached_attention(&x[0], (&new, &new), at, CachedOptions::default())
    })
    .unwrap();
    assert_eq!(plan.steps(), ["cache_write", "cached_attention"]);
    let address = || cell.memory().unwrap().storage.as_ptr();
    let before = address();
    for position in 30..34 {
        let first = ints(&[position]);
        plan.run(&[&text, &own, &first, &count]).unwrap();
        assert_eq!(address(), before);
    }
    let filled = cell.sum([1, 3]).to_vec2::<f32>().unwrap();
    let right: Vec<f32> = (0..64).map(|i| if (30..34).contains(&i) { 32.0 } else { 0.0 }).collect();
    assert_eq!(filled, [&[0.0; 32][..], &[0.0; 32], &right[..32], &right[32..]]);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let (cache, one) = (Tensor::zeros([1, 2, 4, 8]), ints(&[0]));
    let own = Tensor::from_slice(&[0i64], [1, 1]);
    let at = TextBlocks { table: &own, first: &one };
    let refused = |t: Tensor, why: &str| {
        let e = t.check().unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    };
    refused(cache_write(&cache, &Tensor::zeros([1, 1, 2, 7]), at, &one), "widths must be equal");
    refused(cache_write(&cache, &Tensor::zeros([1, 1, 4, 8]), at, &one), "need the heads of the cache");
    refused(cache_write(&cache, &Tensor::zeros([2, 1, 2, 8]), at, &one), "one row for each text");
    let two = ints(&[0, 0]);
    let wrong = TextBlocks { table: &own, first: &two };
    refused(cache_write(&cache, &Tensor::zeros([1, 1, 2, 8]), wrong, &one), "one for each text");
    let q = Tensor::zeros([1, 1, 3, 8]);
    refused(
        cached_attention(&q, (&cache, &cache), at, CachedOptions::default()),
        "a multiple of those of the cache",
    );
}
