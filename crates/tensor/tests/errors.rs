//! Errors are carried by tensors: nothing panics, the first cause stays, and it names op, operands and source
//! location.

use gradus_ir::{Aval, C, DType, Error, Kind, transform};
use gradus_tensor::autograd::grad;
use gradus_tensor::{
    Backward, Keep, NEW, REST, ScanOptions, Tensor, cond, no_grad, scan, step, switch, trace, trace_function,
    while_loop,
};

/// Returns a tensor whose elements count from 0.
fn count(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from((0..n).map(|i| i as f32).collect::<Vec<f32>>()).reshape(shape)
}

fn ids<const N: usize>(v: [i64; N]) -> Tensor {
    Tensor::from(v)
}

fn cause(t: Tensor) -> Error {
    t.check().err().unwrap_or_else(|| panic!("did not fail: {t}"))
}

/// Asserts that the text contains these parts and names a line of this file.
#[track_caller]
fn assert_says(e: &Error, parts: &[&str]) {
    let text = e.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let location = e.location().unwrap_or_else(|| panic!("no location in\n{text}"));
    assert!(location.file().ends_with("tests/errors.rs"), "another location in\n{text}");
}

macro_rules! fail {
    ($($t:expr => $($part:literal),+;)*) => {$( assert_says(&cause($t), &[$($part),+]); )*};
}

macro_rules! refuse {
    ($($r:expr => $($part:literal),+;)*) => {$(
        match $r {
            Ok(_) => panic!("did not fail: {}", stringify!($r)),
            Err(e) => assert_says(&e, &[$($part),+]),
        }
    )*};
}

#[test]
fn pointwise() {
    let (a, b) = (count(&[2, 3]), count(&[4]));
    let z = Tensor::from([C::new(1.0, 2.0)]);
    fail! {
        &a + &b => "add", "[2,3]", "[4]", "do not broadcast", "f32[2,3], f32[4]";
        &a / &b => "div", "do not broadcast";
        a.pow(&b) => "pow", "do not broadcast";
        a.lt(&b) => "lt", "do not broadcast";
        a.logical_and(&b) => "and", "do not broadcast";
        &a & &a => "and", "dtype f32 is not accepted", "it takes", "i64";
        a.shl(1) => "shl", "dtype f32 is not accepted";
        z.lt(&z) => "lt", "dtype c128 is not accepted";
        z.erf() => "erf", "dtype c128 is not accepted", "it takes f32, f64";
        z.floor() => "floor", "dtype c128";
        a.gt(0.0).select(&b, 0.0) => "select", "[2,3]", "[4]", "do not broadcast";
        a.gt(0.0).select(&a, &b) => "select", "do not broadcast";
        a.masked_fill(&b.gt(0.0), 1.0) => "select", "do not broadcast";
        Tensor::from([true]).complex(&Tensor::from([true])) => "complex", "bool";
        a.complex(&b) => "complex", "do not broadcast";
    }
}

#[test]
fn products() {
    let (a, b) = (count(&[2, 3]), count(&[4, 5]));
    fail! {
        a.matmul(&b) => "matmul", "inner extents 3 and 4", "f32[2,3], f32[4,5]";
        count(&[2, 2, 3]).matmul(&count(&[3, 3, 2])) => "matmul", "leading extents [2] and [3]";
        a.matmul(&Tensor::from(1.0f32)) => "matmul", "a scalar is not a matrix";
        Tensor::einsum("ij,jk->ik", &[&a]) => "einsum", "2 terms for 1 tensors";
        Tensor::einsum("ij,jk->ik", &[&a, &b]) => "einsum", "f32[2,3]", "f32[4,5]", "3", "4";
        Tensor::einsum("i1->i", &[&a]) => "einsum", "`1`";
        Tensor::einsum("ij->ik", &[&a]) => "einsum", "`k` in the result";
        Tensor::einsum("ij->ii", &[&a]) => "einsum", "`i` in the result";
        Tensor::einsum("ijk->i", &[&a]) => "einsum", "names 3 axes", "[2,3]";
        Tensor::einsum("ii->i", &[&a]) => "einsum", "label i is 2 and 3";
        a.dot_labels(&b, "ij", "jk", "ik") => "dot", "f32[2,3], f32[4,5]";
    }
}

#[test]
fn movement() {
    let (a, b) = (count(&[2, 3]), count(&[4, 5]));
    fail! {
        Tensor::cat(&[&a, &b], 0) => "cat", "[2,3] and [4,5]", "differ on an axis";
        Tensor::cat(&[&a, &a], 2) => "cat", "axis 2 is out of range", "f32[2,3]";
        Tensor::cat(&[], 0) => "cat", "at least one";
        Tensor::stack(&[&a, &b], 0) => "stack", "[2,3] and [4,5]";
        Tensor::stack(&[&a, &a], 4) => "stack", "axis 4";
        Tensor::stack(&[], 0) => "stack", "at least one";
        a.reshape([4, 2]) => "reshape", "6 elements of [2,3] do not fill [4,2]";
        a.reshape([-1, -1]) => "reshape", "one -1";
        a.reshape([-2, 3]) => "reshape", "no other negative number";
        a.reshape([-1, 4]) => "reshape", "6 elements", "cannot be divided";
        a.reshape([1usize << 40, 1 << 40]) => "reshape", "do not fill";
        a.reshape([usize::MAX]) => "reshape", "do not fill";
        a.reshape([-1, 1i64 << 40, 1 << 40]) => "reshape", "cannot be divided";
        a.expand([3]) => "expand", "[2,3]", "has more axes";
        a.expand([4, 3]) => "broadcast", "[2,3]", "[4,3]";
        a.expand([-1, 2, 3]) => "expand", "-1 only for existing axes";
        a.permute([0]) => "permute", "each of the 2 axes once";
        a.permute([0, 0]) => "permute", "axis 0 is out of range or repeated";
        a.transpose(0, 2) => "transpose", "axis 2", "valid are -2..=1";
        a.unsqueeze(4) => "unsqueeze", "axis 4";
        a.squeeze(2) => "squeeze", "axis 2";
        a.flatten(1, 0) => "flatten", "must not be after";
        a.flip(-3) => "flip", "axis -3";
        a.pad_zeros(&[(0, 0), (0, 0), (0, 0)]) => "pad_zeros", "padding of 3 axes is too long for a tensor of rank 2";
        a.pad_zeros(&[(-2, -2)]) => "pad", "leaves no valid extent of 3";
        a.diagonal(0, 1, 1) => "diagonal", "must differ";
    }
}

#[test]
fn reductions() {
    let a = count(&[2, 3]);
    let z = Tensor::from([C::new(1.0, 2.0)]);
    fail! {
        a.sum(2) => "sum", "axis 2", "f32[2,3]";
        a.sum([0, -2]) => "sum", "repeated";
        a.max_keepdim(-4) => "max", "axis -4";
        z.max(()) => "max", "c128";
        a.argmax(2) => "argmax", "axis 2";
        Tensor::zeros([2, 0]).argmax(1) => "argmax", "extent 0", "f32[2,0]";
        z.argmin(0) => "argmin", "no order";
        a.cumsum(7) => "cumsum", "axis 7";
        a.sort(2, false).0 => "sort", "axis 2";
        a.sort(2, false).1 => "sort", "axis 2";
        z.sort(0, true).1 => "sort", "c128";
        a.topk(4, 1, true).0 => "topk", "k = 4", "extent of the axis, 3";
        Tensor::from(1.0).cumprod(1) => "cumprod", "a scalar, which has no axes";
    }
}

#[test]
fn indices() {
    let a = count(&[2, 3]);
    let mask = |n: usize| Tensor::from(vec![true; n]);
    fail! {
        a.at(2) => "index", "index 2 is out of range for extent 2", "valid are -2..=1", "f32[2,3]";
        a.at(-3) => "index", "index -3";
        a.at((0, usize::MAX)) => "index", "extent 3";
        a.at((0, 0, 0)) => "index", "3 entries for 2 axes";
        a.at((REST, 0, REST)) => "index", "at most one REST";
        a.at(step(.., 0)) => "index", "step must not be 0";
        a.at(&a) => "index", "dtype f32", "indices must be integers", "f32[2,3], f32[2,3]";
        a.at(&ids([0, 2])) => "index", "index 2 is out of range for extent 2";
        a.at(&ids([-5])) => "index", "index -5";
        a.at((&ids([0]), &ids([3]))) => "index", "index 3 is out of range for extent 3";
        a.at((&ids([0, 1]), &ids([0, 1, 2]))) => "index", "[2] and [3]", "do not broadcast together";
        a.at(&mask(3)) => "index", "mask [3]", "[2,3]";
        a.at((.., &mask(2))) => "index", "mask [2]", "from axis 1";
        a.at(&Tensor::from(true)) => "index", "a scalar mask";
        a.at((NEW, &ids([9]), NEW)) => "index", "index 9";
        Tensor::zeros([0]).at(0) => "index", "an axis of extent 0";
        a.gather(1, &ids([0])) => "gather", "rank of [2,3]";
        a.gather(1, &Tensor::from([[3i64]])) => "gather", "index 3 is out of range";
        a.gather(5, &Tensor::from([[0i64]])) => "gather", "axis 5";
        a.index_select(0, &ids([2])) => "index_select", "index 2";
        a.scatter(0, &Tensor::from([[0i64, 1]]), &Tensor::from([[1.0f32]])) => "scatter", "[1,1]", "[1,2]";
        a.scatter_add(0, &Tensor::from([[7i64]]), &a) => "scatter", "index 7";
        a.index_add(0, &ids([0]), &count(&[2, 3])) => "scatter", "updates f32[2,3] must be f32[1,3]";
        a.index_copy(1, &ids([4]), &a) => "index_copy", "index 4";
        a.narrow(1, 2, 2) => "2..4", "extent 3";
        a.narrow(1, usize::MAX, usize::MAX) => "extent 3";
        a.with_at(5, 0.0) => "index", "index 5";
        a.with_at(0, &count(&[2])) => "with_at", "[2]", "[3]";
        a.with_at(0, C::new(0.0, 1.0)) => "with_at", "dtype c64";
        a.masked_select(&mask(2)) => "masked_select", "[2,3] and [2]";
    }
}

#[test]
fn conversions_and_gradients() {
    let a = count(&[2, 3]);
    refuse! {
        a.item::<f32>() => "item of f32[2,3]", "exactly one";
        a.to_vec::<f64>() => "dtype f64", "the tensor is f32[2,3]";
        a.sum(()).item::<i64>() => "dtype i64", "f32[]";
        a.at(0).to_vec2::<f32>() => "to_vec2", "[3]";
        a.to_ndarray::<u8>() => "dtype u8";
        a.backward() => "nothing here requires gradients";
        grad(&[&a.sum(())], &[], &[&a], Backward::default()) => "requires gradients";
    }
    let x = a.requires_grad_();
    let y = &x * 2.0;
    let sum = y.sum(());
    sum.backward().unwrap();
    refuse! {
        sum.backward() => "second time";
        y.backward() => "backward from f32[2,3]", "needs a seed";
        y.backward_with(&count(&[3, 2])) => "a seed of type f32[3,2]", "must be f32[2,3]";
        (&x + &count(&[5])).backward() => "add", "do not broadcast";
        grad(&[&(&x * 1.0).sum(())], &[], &[&count(&[2])], Backward::default()) => "does not require gradients";
    }
    fail! {
        ids([1]).requires_grad_() => "requires_grad_", "i64";
        Tensor::from_slice(&[1.0, 2.0, 3.0], [2, 2]) => "[2,2]", "needs 4 elements, got 3";
        Tensor::from(vec![vec![1.0], vec![]]) => "from", "0 elements in a row";
        Tensor::arange(0, 5, 0) => "arange", "step must not be 0";
        Tensor::arange(0.0, 1.0, 0.0) => "arange", "finite";
        Tensor::arange(0.0, f64::NAN, 1.0) => "arange", "finite";
        Tensor::randint(3, 3, [2]) => "randint", "3..3";
        Tensor::randint(i64::MIN, i64::MAX, [2]) => "randint", "range";
        Tensor::from([-1.0, 2.0]).multinomial(1, true) => "multinomial", "not negative";
        Tensor::from([0.0, 2.0]).multinomial(3, false) => "multinomial", "fewer than the 3";
        Tensor::from(1.0).multinomial(1, true) => "multinomial", "a scalar";
        Tensor::iota(DType::Bool, [2], 0) => "iota", "bool";
        Tensor::iota(DType::I64, [2], 1) => "iota", "axis 1";
    }
}

#[test]
fn cells() {
    let (plain, cell, leaf) = (count(&[2]), count(&[2]).cell(), count(&[2]).requires_grad_());
    let failed = &plain + &count(&[3]);
    refuse! {
        plain.set_(&plain) => "in-place assignment is possible only on a cell";
        plain.assign_(0, 1.0) => "in-place assignment is possible only on a cell";
        cell.set_(&count(&[3])) => "f32[3]", "cannot replace f32[2]";
        cell.set_(&plain.to_dtype(DType::F64)) => "f64[2]", "cannot replace f32[2]";
        leaf.set_(&plain) => "requires gradients", "no_grad";
        leaf.assign_(0, 1.0) => "requires gradients";
        cell.set_(&failed) => "add", "do not broadcast";
        cell.assign_(0, &failed) => "add", "do not broadcast";
        cell.assign_(4, 1.0) => "index 4";
        failed.set_(&plain) => "add", "do not broadcast";
    }
    fail! {
        cell.add_(&count(&[3])) => "add", "do not broadcast";
        cell.add_(&count(&[3, 2])) => "f32[3,2]", "cannot replace f32[2]";
        cell.mul_(&failed) => "add", "do not broadcast";
        cell.div_(&count(&[2]).to_dtype(DType::F64)) => "cannot replace f32[2]";
        leaf.add_(1.0) => "requires gradients";
        failed.cell() => "add", "do not broadcast";
        failed.requires_grad_() => "add", "do not broadcast";
    }
    // None of these calls changed anything.
    assert_eq!(cell.to_vec::<f32>().unwrap(), [0.0, 1.0]);
    assert_eq!(leaf.to_vec::<f32>().unwrap(), [0.0, 1.0]);
    assert!(leaf.set_grad(Some(&failed)).is_err());
    assert!(leaf.grad().is_none());
    no_grad(|| leaf.add_(1.0)).check().unwrap();
    assert_eq!(leaf.to_vec::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn traces() {
    let x = count(&[2, 3]);
    let mut kept = None;
    let outer = count(&[3]);
    let e = trace(&[&x], |x| {
        kept = Some(x[0].clone());
        fail! {
            x[0].nonzero() => "nonzero", "depends on the data";
            x[0].at(&x[0].gt(1.0)) => "index", "depends on the data", "bool[2,3]";
            x[0].masked_select(&x[0].gt(1.0)) => "depends on the data";
            x[0].with_at(&x[0].gt(1.0), 0.0) => "depends on the data";
            &x[0] + &count(&[4]) => "add", "do not broadcast";
        }
        refuse! {
            x[0].item::<f32>() => "has no elements while", "f32[2,3]";
            x[0].to_vec::<f32>() => "has no elements while";
            x[0].sum(()).backward() => "no parameter was used";
        }
        &x[0] * &outer.matmul(&count(&[2]))
    });
    refuse! { e => "matmul", "inner extents 3 and 2"; }
    let kept = kept.unwrap();
    fail! {
        &kept + 1.0 => "add", "finished trace";
        kept.sum(0) => "sum", "finished trace";
        kept.at(0) => "finished trace";
    }
    refuse! {
        trace(&[&x], |x| &x[0] + &kept) => "finished trace";
        trace(&[&(&x + &count(&[7]))], |x| x[0].exp()) => "add", "[7]";
    }
    // In a trace, the elements of a mask in a cell are unknown, as those of a computed mask.
    let mask = Tensor::from([true, false]).cell();
    refuse! { trace(&[&x], |x| x[0].at(&mask)) => "depends on the data"; }
    let avals = [Aval::new(DType::F32, [2, 3])];
    assert!(trace_function(&avals, |x| x[0].sum(9)).is_err());
}

/// Sizes that no machine has are rejected by shape if they overflow, else by memory.
#[test]
fn absurd_sizes() {
    let is_memory = |t: Tensor| {
        let e = cause(t);
        assert_says(&e, &["bytes of memory"]);
        assert!(matches!(e.kind(), Kind::Memory { .. }), "{e}");
    };
    fail! {
        Tensor::zeros([usize::MAX, 2]) => "more elements than memory can address", "f32[18446744073709551615,2]";
        Tensor::zeros([usize::MAX]) => "more elements than";
        Tensor::zeros([0, usize::MAX, usize::MAX]) => "more elements than";
        Tensor::full([1 << 40, 1 << 40], 1i64) => "i64[1099511627776,1099511627776]";
        Tensor::eye(usize::MAX) => "iota", "more elements than";
        Tensor::eye(1 << 40) => "iota", "more elements than";
        Tensor::iota(DType::I64, [usize::MAX, 0], 0) => "iota", "more elements than";
        Tensor::rand([usize::MAX, 3]) => "random_bits", "more elements than";
        Tensor::randn([1 << 62]) => "random_bits", "more elements than";
        Tensor::arange(i64::MIN, i64::MAX, 1) => "iota", "more elements than";
        Tensor::arange(0.0, 1e300, 1.0) => "iota", "more elements than";
        Tensor::linspace(0.0, 1.0, usize::MAX) => "iota", "more elements than";
        Tensor::from_slice::<f32>(&[], [usize::MAX, 0]) => "[18446744073709551615,0]";
        Tensor::ones([1 << 40]).unsqueeze(1).expand([1usize << 40, 1 << 40]) => "more elements than";
        Tensor::ones([2]).pad_zeros(&[(i64::MAX, i64::MAX)]) => "pad";
        Tensor::ones([3]).pad_zeros(&[(i64::MIN, i64::MAX)]) => "pad", "leaves no valid extent";
        Tensor::ones([2]).expand([i64::MAX, 2]) => "more elements than";
    }
    is_memory(Tensor::eye(1 << 21));
    is_memory(Tensor::arange(0, 1i64 << 45, 1));
    is_memory(Tensor::arange(0.0, 1e14, 1.0));
    is_memory(Tensor::linspace(0.0, 1.0, 1 << 45));
    is_memory(Tensor::rand([1 << 45]));
    is_memory(Tensor::randint(0, 9, [1 << 45]));
    is_memory(Tensor::ones([2]).pad_zeros(&[(0, 1 << 45)]));
    is_memory(Tensor::ones([3]).index_select(0, &Tensor::full([1 << 45], 1i64)));
    // One stored element is repeated: making and viewing it costs nothing, computing on it is rejected.
    let big = Tensor::zeros([1 << 40]);
    assert_eq!(big.numel(), 1 << 40);
    assert_eq!(big.at(step(.., 1 << 38)).to_vec::<f32>().unwrap(), [0.0; 4]);
    assert_eq!(big.at(usize::MAX / 2..).numel(), 0);
    assert_eq!(big.reshape([1 << 20, 1 << 20]).at((7, 9)).item::<f32>().unwrap(), 0.0);
    is_memory(&big + 1.0);
    is_memory(big.sum(()));
    is_memory(big.contiguous());
    is_memory(big.to_dtype(DType::F64));
    is_memory(big.matmul(&big));
    is_memory(big.with_at(0, 1.0));
    is_memory(big.sort(0, false).0);
    is_memory(Tensor::cat(&[&big, &big], 0));
    refuse! { big.to_vec::<f32>() => "bytes of memory"; }
    let leaf = Tensor::from(2.0f32).requires_grad_();
    is_memory(leaf.expand([1usize << 40]) * 2.0);
    // Inside a composite only the result is small.
    let body = [Aval::new(DType::F32, [1])];
    let inner = trace_function(&body, |x| x[0].expand([1usize << 44]).exp().sum(0)).unwrap();
    let e = gradus_tensor::call("wide", &inner.graph, &[&Tensor::ones([1])]).unwrap_err();
    assert_says(&e, &["bytes of memory"]);
    // A generator that failed to draw has not advanced.
    let generator = gradus_tensor::Generator::new(1);
    is_memory(generator.rand([1 << 45]));
    assert_eq!(generator.state().to_vec::<u32>().unwrap(), [1, 0, 0, 0]);
}

/// Functions and bodies of the wrong types, each reported with a line of this file.
#[test]
fn transforms_and_control_flow() {
    let (x, n) = (count(&[2, 3]), ids([1, 2]));
    let yes = Tensor::from(true);
    let plain = ScanOptions::default();
    let five = ScanOptions { length: Some(5), ..plain };
    let graph = std::sync::Arc::new(trace(&[&x, &n], |v| v[0].sum(())).unwrap());
    let exp = |v: &[Tensor]| v[0].exp();
    let (one, two) = (|v: &[Tensor]| vec![v[0].clone()], |v: &[Tensor]| vec![v[0].clone(), v[0].clone()]);
    refuse! {
        // Wrong numbers of operands, of directions and of results of bodies.
        gradus_tensor::call("f", &graph, &[&x]) => "takes 2 operands, got 1";
        gradus_tensor::jvp(&[&x], &[], exp) => "tangents of types [] must be [f32[2,3]]";
        gradus_tensor::vjp(&[&x], exp).and_then(|(_, pull)| pull(&[&x, &x])) => "cotangents", "must be [f32[2,3]]";
        gradus_tensor::vmap(&[&x], &[], exp) => "0 batch axes must be 1";
        gradus_ir::reference::evaluate(&graph, &[]) => "inputs [] must be [f32[2,3], i64[2]]";
        scan(&[&x], &[], five, |_, _| (vec![], vec![])) => "returns 0 carries; it must return 1, one per initial carry";
        scan(&[&x], &[], five, |c, _| (two(c), vec![])) => "returns 2 carries; it must return 1";
        scan(&[&x], &[], plain, |c, _| (one(c), vec![])) => "the length must be the extent of the inputs";
        scan(&[&x], &[&x, &n.at(..1)], plain, |c, _| (one(c), vec![])) => "input 1 of type i64[1] must have a leading axis of extent 2";
        cond(&yes, &[&x], one, two) => "branch 1 gives [f32[2,3]]", "all branches must give the same types";
        switch(&n.at(0), &[&x], &[]) => "at least one branch";
        while_loop(&[&x], None, |_| yes.clone(), two) => "a carry keeps its type";
        while_loop(&[&x], None, |c| c[0].gt(0.0), one) => "must give one boolean scalar";
        // A mismatch inside a body names the line of the op in it.
        scan(&[&x], &[], five, |c, _| (vec![&c[0] + &count(&[4])], vec![])) => "add", "[2,3] and [4] do not broadcast";
        cond(&yes, &[&x], |v| v[0].matmul(&v[0]), |v| v[0].clone()) => "matmul", "[2,3]";
        while_loop(&[&x], Some(3), |_| yes.clone(), |c| c[0].sum(7)) => "sum", "axis 7";
        gradus_tensor::grad(&[&x], |v| v[0].softmax(5).sum(())) => "softmax", "axis 5";
        gradus_tensor::vmap(&[&x], &[Some(0)], |v| v[0].matmul(&count(&[4]))) => "matmul", "inner extents 3 and 4";
        gradus_tensor::checkpoint(&[&x], |v| v[0].at(9)) => "index 9";
        // Branches and carries of other types.
        cond(&yes, &[&x], |v| v[0].clone(), |v| v[0].sum(0)) => "branch 1 gives [f32[2,3]] and the first [f32[3]]";
        cond(&yes, &[&x], |v| v[0].clone(), |v| v[0].to_dtype(DType::F64)) => "[f64[2,3]]", "the same types";
        cond(&x, &[&x], one, one) => "the index i64[2,3] must be an integer scalar";
        switch(&x.at((0, 0)), &[&x], &[&one]) => "the index f32[] must be an integer scalar";
        scan(&[&x], &[], five, |c, _| (vec![c[0].sum(0)], vec![])) => "takes carries [f32[2,3]] and gives [f32[3]]";
        scan(&[&x], &[], five, |c, _| (vec![c[0].to_dtype(DType::F64)], vec![])) => "gives [f64[2,3]]";
        scan(&[&x], &[], ScanOptions { unroll: 2, ..five }, |c, _| (vec![c[0].sum(0)], vec![])) => "takes carries [f32[2,3]] and gives [f32[3]]";
        scan(&[&x], &[], ScanOptions { keep: Keep::Sqrt, ..five }, |c, _| (vec![c[0].sum(0)], vec![])) => "a carry keeps its type";
        while_loop(&[&n], None, |c| c[0].sum(()).lt(3), |c| c[0].to_dtype(DType::F32)) => "a carry keeps its type";
        // Missing inputs, and integers.
        transform::vjp(&graph, &[5]) => "input number 5 is not in the graph, which has 2";
        transform::jvp(&graph, &[2]) => "input number 2 is not in the graph";
        transform::vmap(&graph, &[Some(0)], 2) => "1 batch axes must be 2, one per input";
        transform::vjp(&graph, &[1]) => "input `y` is i64[2]: only float and complex values have derivatives";
        transform::jvp(&graph, &[1]) => "input `y` is i64[2]";
        gradus_tensor::grad(&[&n], |n| n[0].to_dtype(DType::F32).sum(())) => "[i64[2]] have no derivatives";
        gradus_tensor::grad(&[&x, &n], |v| v[1].sum(())) => "real scalar", "i64[]";
        // Reverse mode through a loop without a bound.
        gradus_tensor::grad(&[&x], |v| while_loop(&[&v[0]], None, |_| yes.clone(), exp).unwrap().remove(0).sum(())) => "needs a bound";
    }
    // The line is that of the op in the body, not of the enclosing loop.
    let mut line = 0;
    let e = scan(&[&x], &[], five, |c, _| {
        line = line!() + 1;
        (vec![&c[0] + &count(&[4])], vec![])
    });
    assert_eq!(e.unwrap_err().location().unwrap().line(), line);
}

#[test]
fn pools_without_axes_are_refused() {
    let x = Tensor::ones([1, 2, 4]);
    for y in
        [gradus_tensor::func::adaptive_max_pool(&x, &[]), gradus_tensor::func::adaptive_avg_pool(&x, &[])]
    {
        assert!(y.check().unwrap_err().to_string().contains("an empty output size selects no axes"));
    }
}

/// Returns the line that calls this function.
#[track_caller]
fn here() -> u32 {
    std::panic::Location::caller().line()
}

#[test]
fn errors_at_run_time_name_the_call_and_its_line() {
    let (x, bad) = (count(&[3, 2]), ids([0, 7]));
    let line = std::cell::Cell::new(0);
    let called = |x: &Tensor, i: &Tensor| {
        line.set(here() + 1);
        let rows = x.index_select(0, i);
        rows.square().sum(gradus_tensor::All)
    };
    let compiled = gradus_tensor::compile(&[&x, &bad], |v| called(&v[0], &v[1])).unwrap();
    let e = compiled.run(&[&x, &bad]).err().unwrap();
    assert_says(&e, &["take", "index 7", "f32[3,2], i64[2]"]);
    assert_eq!(e.location().unwrap().line(), line.get());
    // Also through a transform, a loop and a branch.
    let gradient = gradus_tensor::compile(&[&x, &bad], |v| {
        gradus_tensor::value_and_grad(&[&v[0]], |w| called(&w[0], &v[1])).unwrap().1
    });
    assert_eq!(gradient.unwrap().run(&[&x, &bad]).err().unwrap().location().unwrap().line(), line.get());
    let looped = gradus_tensor::compile(&[&x, &bad], |v| {
        let step = |c: &[Tensor], _: &[Tensor]| (vec![&c[0] + &called(&v[0], &v[1])], Vec::new());
        scan(&[&Tensor::from(0.0f32)], &[], ScanOptions { length: Some(3), ..ScanOptions::default() }, step)
            .unwrap()
            .0
    });
    assert_eq!(looped.unwrap().run(&[&x, &bad]).err().unwrap().location().unwrap().line(), line.get());
}
