//! Indexing agrees with NumPy (with PyTorch where they differ), checked by index arithmetic on a `Vec`.

use gradus_tensor::autograd::grad;
use gradus_tensor::{Backward, Index, Ix, NEW, REST, Tensor, no_grad, step, trace};

/// Returns a tensor whose elements are their own row-major positions.
fn count(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from((0..n as i64).collect::<Vec<i64>>()).reshape(shape)
}

fn floats(shape: &[usize]) -> Tensor {
    count(shape).to_dtype(gradus_ir::DType::F64)
}

#[track_caller]
fn assert_elements(t: &Tensor, shape: &[usize], elements: &[i64]) {
    assert_eq!(&t.shape()[..], shape, "{t}");
    assert_eq!(t.to_vec::<i64>().unwrap(), elements, "{t}");
}

/// Returns the positions at all combinations of one index list per axis.
fn positions_at_combinations(shape: &[usize], lists: &[Vec<usize>]) -> Vec<i64> {
    let mut at = vec![0];
    for (n, list) in shape.iter().zip(lists) {
        at = at.iter().flat_map(|p| list.iter().map(move |i| p * *n as i64 + *i as i64)).collect();
    }
    at
}

/// Computes a range by its definition: advances by the step, and keeps indices inside both the range and the
/// axis.
fn positions_in_range(n: isize, start: Option<isize>, stop: Option<isize>, by: isize) -> Vec<usize> {
    let end = |i: isize| if i < 0 { i + n } else { i };
    let (first, last) = if by > 0 { (0, n) } else { (n - 1, -1) };
    let mut i = start.map_or(first, end);
    // A start beyond the axis is clamped to its end.
    i = if by > 0 { i.max(0) } else { i.min(n - 1) };
    let stop = stop.map_or(last, end);
    let mut hits = Vec::new();
    while (by > 0 && i < stop) || (by < 0 && i > stop) {
        if !(0..n).contains(&i) {
            break;
        }
        hits.push(i as usize);
        i += by;
    }
    hits
}

#[test]
fn every_range() {
    for n in [0, 1, 5] {
        let x = count(&[n, 2]);
        let ends = || std::iter::once(None).chain((-7..=7).map(Some));
        for (a, b) in ends().flat_map(|a| ends().map(move |b| (a, b))) {
            for by in [1, 2, 3, 7, isize::MAX, -1, -2, -3, -7, isize::MIN] {
                let found = x.at(Ix::Range(a, b, by));
                let rows = if by.unsigned_abs() > 7 {
                    positions_in_range(n as isize, a, b, by.signum()).into_iter().take(1).collect()
                } else {
                    positions_in_range(n as isize, a, b, by)
                };
                let right = positions_at_combinations(&[n, 2], &[rows.clone(), vec![0, 1]]);
                assert_eq!(&found.shape()[..], [rows.len(), 2], "{a:?}..{b:?} by {by} of {n}");
                assert_eq!(found.to_vec::<i64>().unwrap(), right, "{a:?}..{b:?} by {by} of {n}");
                assert!(rows.is_empty() || found.shares_storage(&x));
            }
        }
    }
}

#[test]
fn integers_and_ranges() {
    let x = count(&[2, 3, 4]);
    let all = |n: usize| (0..n).collect::<Vec<_>>();
    let at = |lists: [Vec<usize>; 3]| positions_at_combinations(&[2, 3, 4], &lists);
    assert_elements(&x.at(1), &[3, 4], &at([vec![1], all(3), all(4)]));
    assert_elements(&x.at(-1), &[3, 4], &at([vec![1], all(3), all(4)]));
    assert_elements(&x.at((0, -2, 3)), &[], &at([vec![0], vec![1], vec![3]]));
    assert_elements(&x.at((.., 1)), &[2, 4], &at([all(2), vec![1], all(4)]));
    assert_elements(&x.at((.., 1..)), &[2, 2, 4], &at([all(2), vec![1, 2], all(4)]));
    assert_elements(&x.at((.., ..2, 1..=2)), &[2, 2, 2], &at([all(2), vec![0, 1], vec![1, 2]]));
    assert_elements(&x.at((.., .., ..=-2)), &[2, 3, 3], &at([all(2), all(3), vec![0, 1, 2]]));
    assert_elements(&x.at((.., .., -3..-1)), &[2, 3, 2], &at([all(2), all(3), vec![1, 2]]));
    assert_elements(&x.at((.., .., 1..100)), &[2, 3, 3], &at([all(2), all(3), vec![1, 2, 3]]));
    assert_elements(&x.at((.., Ix::Range(Some(3), Some(1), 1))), &[2, 0, 4], &[]);
    assert_elements(&x.at((step(.., -1), 0, step(.., 2))), &[2, 2], &at([vec![1, 0], vec![0], vec![0, 2]]));
    assert_elements(
        &x.at((.., .., Ix::Range(Some(3), Some(0), -2))),
        &[2, 3, 2],
        &at([all(2), all(3), vec![3, 1]]),
    );
    assert_elements(&x.at((REST, 0)), &[2, 3], &at([all(2), all(3), vec![0]]));
    assert_elements(&x.at((1, REST, -1)), &[3], &at([vec![1], all(3), vec![3]]));
    assert_elements(&x.at(REST), &[2, 3, 4], &at([all(2), all(3), all(4)]));
    assert_elements(&x.at((0, 1, 2, REST)), &[], &[6]);
    assert_elements(&x.at((NEW, .., NEW, 0, REST, NEW)), &[1, 2, 1, 4, 1], &at([all(2), vec![0], all(4)]));
    assert_elements(&x.at((NEW, REST)), &[1, 2, 3, 4], &at([all(2), all(3), all(4)]));
    assert_elements(&x.at(Vec::new()), &[2, 3, 4], &at([all(2), all(3), all(4)]));
    assert_elements(&Tensor::from(5i64).at((NEW, REST, NEW)), &[1, 1], &[5]);
    assert_elements(&x.at(0usize..1).at((0i64, 0i32)), &[4], &[0, 1, 2, 3]);
}

#[test]
fn masks() {
    let x = count(&[2, 3, 4]);
    let rows = Tensor::from([false, true]);
    assert_elements(&x.at(&rows), &[1, 3, 4], &(12..24).collect::<Vec<_>>());
    let columns = Tensor::from([true, false, false, true]);
    assert_elements(&x.at((REST, &columns)), &[2, 3, 2], &[0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23]);
    assert_elements(&x.at((1, 1.., &columns)), &[2, 2], &[16, 19, 20, 23]);
    let pairs = Tensor::from([[true, false, true], [false, true, false]]);
    assert_elements(&x.at(&pairs), &[3, 4], &[0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19]);
    assert_elements(&x.at((&pairs, 1..3)), &[3, 2], &[1, 2, 9, 10, 17, 18]);
    assert_elements(&x.at((&pairs, NEW, step(.., -3))), &[3, 1, 2], &[3, 0, 11, 8, 19, 16]);
    let all: Vec<i64> = (0..24).filter(|i| i % 5 == 0).collect();
    assert_elements(&x.at(&x.remainder(5).eq(0)), &[all.len()], &all);
    assert_elements(&x.at(&x.lt(0)), &[0], &[]);
    // A mask mixed with integers: its positions broadcast with them.
    assert_elements(
        &x.at((&Tensor::from([1i64, 0]), .., &Tensor::from([false, true, false, true]))),
        &[2, 3],
        &[13, 17, 21, 3, 7, 11],
    );
    assert_elements(&x.masked_select(&x.gt(20)), &[3], &[21, 22, 23]);
    assert_elements(&x.ge(22).nonzero(), &[2, 3], &[1, 2, 2, 1, 2, 3]);
    assert_elements(&Tensor::from(1i64).nonzero(), &[1, 0], &[]);
}

#[test]
fn integer_tensors() {
    let x = count(&[3, 4]);
    assert_elements(&x.at(&Tensor::from([2i64, 0, -1])), &[3, 4], &[8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11]);
    assert_elements(&x.at(&Tensor::from(1i64)), &[4], &[4, 5, 6, 7]);
    assert_elements(&x.at(&Tensor::from([[0i32, 1], [1, 2]])).sum(-1), &[2, 2], &[6, 22, 22, 38]);
    assert_elements(&x.at(&Tensor::from(Vec::<i64>::new())), &[0, 4], &[]);
    assert_elements(&x.at((.., &Tensor::from([[3u8], [1]]))), &[3, 2, 1], &[3, 1, 7, 5, 11, 9]);
    assert_elements(&x.at((NEW, .., &Tensor::from([-1i64]))), &[1, 3, 1], &[3, 7, 11]);
    // Narrow index dtypes reach positions beyond their own range.
    let long = count(&[4, 100]);
    assert_elements(&long.at((&Tensor::from([3i8, -1]), &Tensor::from([99i8, 98]))), &[2], &[399, 398]);
    assert_elements(&long.gather(0, &Tensor::from([[3u8; 2]])), &[1, 2], &[300, 301]);
}

/// Compares `x.at((a, b))` on two of three axes with its definition.
#[test]
fn several_integer_tensors() {
    let shape = [3, 4, 5];
    let x = count(&shape);
    let position = |i: i64, j: i64, k: i64| (i * 4 + j) * 5 + k;
    let (a, b) = ([2i64, 0, 1], [1i64, 3, 3]);
    let (ta, tb) = (Tensor::from(a), Tensor::from(b));
    // Adjacent axes: the index axes replace the first.
    let mut right = Vec::new();
    (0..3).for_each(|p| (0..5).for_each(|k| right.push(position(a[p], b[p], k))));
    assert_elements(&x.at((&ta, &tb)), &[3, 5], &right);
    right.clear();
    (0..3).for_each(|i| (0..3).for_each(|p| right.push(position(i, a[p], b[p]))));
    assert_elements(&x.at((.., &ta, &tb)), &[3, 3], &right);
    // Separated axes: the index axes come first.
    right.clear();
    (0..3).for_each(|p| (0..4).for_each(|j| right.push(position(a[p], j, b[p]))));
    assert_elements(&x.at((&ta, .., &tb)), &[3, 4], &right);
    assert_elements(&x.at((&ta, step(.., -1), &tb)).flip(1), &[3, 4], &right);
    assert_elements(&x.at((&ta, .., &tb, NEW)), &[3, 4, 1], &right);
    assert_elements(&x.at((NEW, &ta, .., &tb)), &[3, 1, 4], &right);
    // Integers are applied first, as in PyTorch (NumPy would move the axis to the front here).
    right.clear();
    (0..4).for_each(|j| (0..3).for_each(|p| right.push(position(1, j, a[p]))));
    assert_elements(&x.at((1, .., &ta)), &[4, 3], &right);
    // Index tensors broadcast.
    let (column, row) = (Tensor::from([[0i64], [-1]]), Tensor::from([4i64, 0, 2]));
    right.clear();
    for i in [0, 2] {
        for k in [4, 0, 2] {
            (0..4).for_each(|j| right.push(position(i, j, k)));
        }
    }
    assert_elements(&x.at((&column, .., &row)), &[2, 3, 4], &right);
    right.clear();
    for i in 0..3 {
        for j in [0, 3] {
            [4, 0, 2].iter().for_each(|k| right.push(position(i, j, *k)));
        }
    }
    assert_elements(&x.at((.., &column, &row)), &[3, 2, 3], &right);
    assert_elements(
        &x.at((&ta, &tb, &Tensor::from(2i64))),
        &[3],
        &[position(2, 1, 2), position(0, 3, 2), position(1, 3, 2)],
    );
}

/// A write changes exactly the part that a read returns, for cells and other tensors.
#[test]
fn writing() {
    #[track_caller]
    fn writes(index: impl Index + Clone, right: &[i64]) {
        let x = count(&[3, 4]);
        let written = x.with_at(index.clone(), -1);
        assert_eq!(written.to_vec::<i64>().unwrap(), right, "{written}");
        assert_eq!(x.to_vec::<i64>().unwrap(), (0..12).collect::<Vec<_>>());
        let cell = x.cell();
        cell.assign_(index.clone(), -1).unwrap();
        assert_eq!(cell.to_vec::<i64>().unwrap(), right, "{cell}");
        // Writing a part back unchanged changes nothing.
        let part = x.at(index.clone());
        assert_eq!(x.with_at(index, &part).to_vec::<i64>().unwrap(), x.to_vec::<i64>().unwrap());
    }
    let without =
        |gone: &[i64]| -> Vec<i64> { (0..12).map(|i| if gone.contains(&i) { -1 } else { i }).collect() };
    writes(1, &without(&[4, 5, 6, 7]));
    writes((-1, 0), &without(&[8]));
    writes((.., 1..3), &without(&[1, 2, 5, 6, 9, 10]));
    writes((step(.., -2), step(.., 3)), &without(&[0, 3, 8, 11]));
    writes((NEW, 0, REST), &without(&[0, 1, 2, 3]));
    writes(5.., &without(&[]));
    writes(&Tensor::from([true, false, true]), &without(&[0, 1, 2, 3, 8, 9, 10, 11]));
    writes(&count(&[3, 4]).remainder(2).eq(0), &without(&[0, 2, 4, 6, 8, 10]));
    writes((.., &Tensor::from([false, false, true, false])), &without(&[2, 6, 10]));
    writes(&Tensor::from([0i64, -1]), &without(&[0, 1, 2, 3, 8, 9, 10, 11]));
    writes((&Tensor::from([0i64, 2]), &Tensor::from([1i64, 3])), &without(&[1, 11]));
    writes((1, &Tensor::from([[0i64], [3]])), &without(&[4, 7]));
    writes(REST, &[-1; 12]);
    // Values broadcast; leading axes of extent 1 are dropped; of several writes to one element the last wins.
    let x = count(&[2, 3]);
    assert_elements(&x.with_at((.., 1..), &Tensor::from([7i64, 8])), &[2, 3], &[0, 7, 8, 3, 7, 8]);
    assert_elements(&x.with_at(.., &Tensor::from([[7i64], [8]])), &[2, 3], &[7, 7, 7, 8, 8, 8]);
    assert_elements(&x.with_at(0, &Tensor::from([[[7i64, 8, 9]]])), &[2, 3], &[7, 8, 9, 3, 4, 5]);
    assert_elements(
        &x.with_at((0, &Tensor::from([1i64, 1])), &Tensor::from([7i64, 8])),
        &[2, 3],
        &[0, 8, 2, 3, 4, 5],
    );
    assert_elements(&x.with_at(0, 2.9), &[2, 3], &[2, 2, 2, 3, 4, 5]);
    assert_elements(&x.with_at((.., 0), &Tensor::from([true, true])), &[2, 3], &[1, 1, 2, 1, 4, 5]);
}

#[test]
fn gathering_and_scattering() {
    let x = count(&[3, 4]);
    assert_elements(&x.gather(1, &Tensor::from([[3i64, 0], [-1, -4]])), &[2, 2], &[3, 0, 7, 4]);
    assert_elements(
        &x.gather(0, &Tensor::from([[2i64, 1, 0, 2], [0, 0, -1, 1]])),
        &[2, 4],
        &[8, 5, 2, 11, 0, 1, 10, 7],
    );
    let zeros = Tensor::full([3, 2], 0i64);
    let index = Tensor::from([[0i64, 2], [2, 2]]);
    let source = Tensor::from([[1i64, 2], [3, 4]]);
    assert_elements(&zeros.scatter(0, &index, &source), &[3, 2], &[1, 0, 0, 0, 3, 4]);
    assert_elements(&zeros.scatter_add(0, &index, &source), &[3, 2], &[1, 0, 0, 0, 3, 6]);
    let larger = Tensor::from([[1i64, 2, 9], [3, 4, 9]]);
    assert_elements(&zeros.scatter_add(0, &index, &larger), &[3, 2], &[1, 0, 0, 0, 3, 6]);
    assert_elements(&zeros.index_add(0, &Tensor::from([1i64, 1]), &source), &[3, 2], &[0, 0, 4, 6, 0, 0]);
    assert_elements(&zeros.index_copy(0, &Tensor::from([-1i64, 0]), &source), &[3, 2], &[3, 4, 0, 0, 1, 2]);
    assert_elements(&x.index_select(1, &Tensor::from([3i64, 3, 0])), &[3, 3], &[3, 3, 0, 7, 7, 4, 11, 11, 8]);
    // Inside a trace too, an index out of range on one axis is an error and does not select the next row.
    let bad = Tensor::from([[4i64], [0]]);
    let graph = trace(&[&x, &bad], |t| t[0].gather(1, &t[1])).unwrap();
    let ins = [x.to_literal().unwrap(), bad.to_literal().unwrap()];
    assert!(gradus_ir::reference::evaluate(&graph, &ins).is_err());
    let both = Tensor::from([5i64, 0]);
    let graph = trace(&[&x, &both], |t| t[0].at((&t[1].zeros_like(), &t[1]))).unwrap();
    let ins = [x.to_literal().unwrap(), both.to_literal().unwrap()];
    assert!(gradus_ir::reference::evaluate(&graph, &ins).is_err());
}

#[test]
fn gradients() {
    let g = |y: &Tensor, x: &Tensor| -> Vec<f64> {
        let found = grad(&[&y.sum(())], &[], &[x], Backward::default()).unwrap().remove(0).unwrap();
        assert_eq!(found.shape(), x.shape());
        found.to_vec().unwrap()
    };
    // A row taken twice accumulates both gradients.
    let table = floats(&[3, 2]).requires_grad_();
    let ids = Tensor::from([[2i64, 0], [2, -1]]);
    let weights = Tensor::from([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]);
    assert_eq!(g(&(table.at(&ids) * &weights), &table), [3.0, 4.0, 0.0, 0.0, 13.0, 16.0]);
    assert_eq!(g(&table.at((.., step(.., -1))).at((1.., 0)), &table), [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(g(&table.at(&table.gt(2.5)), &table), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let twice = Tensor::from([1i64, 1, 0]);
    assert_eq!(g(&table.at((&twice, &twice)), &table), [1.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    // Overwritten elements get no gradient; written elements get that of their position, if they were not
    // overwritten.
    let value = Tensor::from([10.0, 20.0]).requires_grad_();
    let scale = floats(&[3, 2]) + 1.0;
    let y = table.with_at(1, &value) * &scale;
    assert_eq!(g(&y, &table), [1.0, 2.0, 0.0, 0.0, 5.0, 6.0]);
    let y = table.with_at(1, &value) * &scale;
    assert_eq!(g(&y, &value), [3.0, 4.0]);
    let y = table.with_at(&Tensor::from([2i64, 0]), &value) * &scale;
    assert_eq!(g(&y, &value), [6.0, 8.0], "it broadcasts over both rows");
    let y = table.with_at((&Tensor::from([0i64, 0]), 1), &value) * &scale;
    assert_eq!(g(&y, &value), [0.0, 2.0], "the last of two writes to one element wins");
    let y = table.with_at(&table.lt(1.5), 0.0) * &scale;
    assert_eq!(g(&y, &table), [0.0, 0.0, 3.0, 4.0, 5.0, 6.0]);
    let scalar = Tensor::from(3.0).requires_grad_();
    let y = table.with_at((.., 0), &scalar) * &scale;
    assert_eq!(g(&y, &scalar), [9.0]);
}

#[test]
fn views_share_storage() {
    let x = count(&[2, 3, 4]);
    let view = |t: Tensor| assert!(t.check().unwrap().shares_storage(&x), "{t:?}");
    view(x.at(1));
    view(x.at((.., 1.., step(.., -2))));
    view(x.at((NEW, REST, 0)));
    view(x.permute([2, 0, 1]));
    view(x.t());
    view(x.flip(()));
    view(x.reshape([6, 4]));
    view(x.unsqueeze(0).expand([5, 2, 3, 4]));
    view(x.at(0).unsqueeze(1).squeeze(1));
    view(x.diagonal(0, 1, 2));
    view(x.narrow(1, 1, 2));
    assert!(!x.at(&Tensor::from([0i64])).shares_storage(&x));
    assert!(!(&x + 0).shares_storage(&x));
    assert!(x.is_contiguous() && x.at(1).is_contiguous() && x.at((1, 2, ..2)).is_contiguous());
    assert!(!x.t().is_contiguous() && !x.at((.., 1)).is_contiguous() && !x.at(step(.., -1)).is_contiguous());
    assert!(x.t().contiguous().is_contiguous() && !x.t().contiguous().shares_storage(&x));
    assert!(x.contiguous().shares_storage(&x));
    // Views of cells share storage too, until the value of the cell is replaced.
    let cell = x.cell();
    let part = cell.at(0);
    assert!(part.shares_storage(&cell));
    cell.add_(1).check().unwrap();
    assert!(!part.shares_storage(&cell));
    assert_elements(&part.at(0), &[4], &[0, 1, 2, 3]);
}

/// Every reshape of every permutation has the right elements, and is a view if the strides allow it.
#[test]
fn reshapes_copy_only_when_needed() {
    let x = count(&[2, 3, 4]);
    let shapes =
        [&[24][..], &[6, 4], &[2, 12], &[4, 6], &[4, 3, 2], &[2, 2, 3, 2], &[1, 24, 1], &[8, 3], &[4, 1, 6]];
    for order in [[0isize, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let p = x.permute(order);
        let elements = p.to_vec::<i64>().unwrap();
        for shape in shapes {
            assert_elements(&p.reshape(shape), shape, &elements);
        }
    }
    let shares = |t: Tensor| t.check().unwrap().shares_storage(&x);
    assert!(shares(x.permute([2, 0, 1]).reshape([4, 6])), "the last two axes have one stride");
    assert!(shares(x.permute([2, 0, 1]).reshape([2, 2, 6, 1])), "cutting an axis is a view");
    assert!(shares(x.permute([1, 2, 0]).reshape([12, 2])));
    assert!(!shares(x.permute([1, 0, 2]).reshape([6, 4])));
    assert!(!shares(x.t().reshape([-1])));
    assert!(shares(x.at((.., .., ..2)).reshape([6, 2])), "rows of a strided block have one stride");
    assert!(!shares(x.at((.., .., ..2)).reshape([2, 6])));
    assert!(shares(x.flip(()).reshape([-1])), "all axes reversed are one reversed axis");
    assert!(shares(x.at(0).at(0).unsqueeze(0).expand([3, 4]).unsqueeze(1).reshape([3, 2, 2])));
    let spread = Tensor::from(7i64).expand([3, 4]).reshape([2, 6]);
    assert!(!spread.is_contiguous());
    assert_elements(&spread, &[2, 6], &[7; 12]);
}

/// A write makes a new value: other tensors of the storage do not change.
#[test]
fn writes_do_not_alias() {
    let row = count(&[3]);
    let wide = row.expand([2, 3]);
    assert_elements(&wide.with_at((0, 1), 9), &[2, 3], &[0, 9, 2, 0, 1, 2]);
    assert_elements(&wide, &[2, 3], &[0, 1, 2, 0, 1, 2]);
    assert_elements(&row, &[3], &[0, 1, 2]);
    let cell = row.expand([2, 3]).cell();
    cell.assign_((.., 0), 5).unwrap();
    assert_elements(&cell, &[2, 3], &[5, 1, 2, 5, 1, 2]);
    assert_elements(&row, &[3], &[0, 1, 2]);
    let copy = cell.cell();
    copy.assign_(0, 0).unwrap();
    assert_elements(&cell, &[2, 3], &[5, 1, 2, 5, 1, 2]);
    assert_elements(&copy, &[2, 3], &[0, 0, 0, 5, 1, 2]);
    let leaf = floats(&[2]).requires_grad_();
    no_grad(|| leaf.assign_(0, 4.0)).unwrap();
    assert_eq!(leaf.to_vec::<f64>().unwrap(), [4.0, 1.0]);
    leaf.data_().assign_(1, 5.0).unwrap();
    assert_eq!(leaf.to_vec::<f64>().unwrap(), [4.0, 5.0]);
}

/// The same index in a trace gives the same value; a mask is rejected there.
#[test]
fn traced_equals_eager() {
    let x = count(&[3, 4]);
    let rows = Tensor::from([2i64, -1, 0]);
    let f = |x: &Tensor, rows: &Tensor| {
        let taken = x.at((NEW, rows, step(.., -2))).at((0, ..2));
        let pairs = x.at((rows, rows)).unsqueeze(1);
        Tensor::cat(&[&taken.with_at((.., 0), -5), &pairs.at((..2, ..)).expand([2, 2])], 0)
    };
    let graph = trace(&[&x, &rows], |t| f(&t[0], &t[1])).unwrap();
    let ins = [x.to_literal().unwrap(), rows.to_literal().unwrap()];
    let out = gradus_ir::reference::evaluate(&graph, &ins).unwrap();
    assert_eq!(out[0], f(&x, &rows).to_literal().unwrap());
    let e = trace(&[&x], |t| t[0].at(&t[0].gt(3))).unwrap_err().to_string();
    assert!(e.contains("depends on the data") && e.contains("`select`") && e.contains("index.rs"), "{e}");
}

/// Small index operations run directly, recorded ones as programs: results and errors are equal.
#[test]
fn small_ops_give_the_results_of_programs() {
    let x = floats(&[2, 3, 4]);
    let part = x.at((.., 1..2)) * 10.0;
    let ids = Tensor::from_slice(&[2i64, 0, 1, 1, -1, 2], [1, 3, 2]);
    let wrong = Tensor::from_slice(&[3i64], [1, 1, 1]);
    let new = Tensor::from(-1.0f32);
    type Move<'a> = &'a dyn Fn(&Tensor) -> Tensor;
    let moves: [(&str, Move<'_>); 12] = [
        ("gather", &|x| x.gather(1, &ids)),
        ("gather of a part", &|x| x.at((.., .., 1..)).gather(2, &ids.abs())),
        ("gather too far", &|x| x.gather(1, &wrong)),
        ("gather by flat ids", &|x| x.gather(1, &ids.reshape([-1]))),
        ("scatter", &|x| x.scatter(1, &ids.abs(), &x.at((..1, .., ..2)))),
        ("scatter one number", &|x| x.scatter(-1, &ids.abs(), &new.expand([1, 3, 2]))),
        ("scatter too little", &|x| x.scatter(1, &ids, &new.expand([1, 3, 1]))),
        ("cat", &|x| Tensor::cat(&[x, &part, x], 1)),
        ("cat of other extents", &|x| Tensor::cat(&[x, &part], 2)),
        ("cat of other dtypes", &|x| Tensor::cat(&[x, &ids.expand([2, 3, 2])], -1)),
        ("stack", &|x| Tensor::stack(&[x, &(x * 2.0)], 1)),
        ("stack at the end", &|x| Tensor::stack(&[&x.at(0), &x.at(1), &x.at(0)], -1)),
    ];
    for (name, f) in moves {
        let (direct, by_program) = (f(&x), f(&x.requires_grad_()));
        assert_eq!(direct.shape(), by_program.shape(), "{name}");
        let text = |t: &Tensor| {
            t.detach().to_vec::<f32>().map_err(|e| e.to_string().lines().next().map(String::from))
        };
        assert_eq!(text(&direct), text(&by_program), "{name}");
    }
}
