//! Tests that writing a part directly and writing it by a traced program give equal tensors.

use gradus_tensor::{Ix, NEW, REST, Tensor, compile, step};

fn x(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>(), shape.to_vec())
}

fn indices() -> Vec<Vec<Ix>> {
    let ids = Tensor::from(vec![2i64, 0, 2]);
    let mask = Tensor::from_slice(&[true, false, true], [3]);
    vec![
        vec![Ix::At(1)],
        vec![Ix::At(-1), Ix::At(2)],
        vec![Ix::from(1..3)],
        vec![REST, step(.., -2)],
        vec![step(3.., -1), NEW, Ix::At(0)],
        vec![NEW, Ix::from(..), Ix::from(2..2)],
        vec![Ix::from(&ids)],
        vec![Ix::from(&ids), Ix::from(&Tensor::from(vec![3i64, 1, 0]))],
        vec![Ix::from(1..), Ix::from(&ids)],
        vec![Ix::from(&mask), Ix::from(1..)],
        vec![REST],
    ]
}

#[test]
fn parts_written_directly_equal_those_of_the_program() {
    for whole in [x(&[3, 4]), x(&[4, 3]).t()] {
        for index in indices() {
            let part = whole.at(index.clone());
            let values = [Tensor::from(-1.0f32), x(&part.shape()[..]) * -1.0, x(&[1, 1, 1, 1]) - 5.0];
            for value in &values {
                if value.rank() > part.rank() && value.numel() != 1 {
                    continue;
                }
                let written = whole.with_at(index.clone(), value);
                let traced = compile(&[&whole, value], |v| v[0].with_at(index.clone(), &v[1]));
                let expected = traced.and_then(|c| c.run(&[&whole, value])).map(|mut outs| outs.remove(0));
                let masked = index.iter().any(|i| matches!(i, Ix::Mask(_)));
                match expected {
                    Ok(e) => assert_eq!(written.to_vec::<f32>().unwrap(), e.to_vec::<f32>().unwrap()),
                    Err(e) => assert!(masked, "{e}"),
                }
            }
        }
    }
}

#[test]
fn masks_choose_what_is_written() {
    let mask = Tensor::from_slice(&[true, false, false, true], [2, 2]);
    assert_eq!(x(&[2, 2]).with_at(&mask, 9.0).to_vec::<f32>().unwrap(), [9.0, 1.0, 2.0, 9.0]);
    let two = Tensor::from([7.0f32, 8.0]);
    assert_eq!(x(&[2, 2]).with_at(&mask, &two).to_vec::<f32>().unwrap(), [7.0, 1.0, 2.0, 8.0]);
}

fn write_patch(x: &mut Tensor, index: &[Ix], value: &Tensor, most: usize) -> bool {
    x.patch_at(index, value, most).is_some_and(|patch| patch.write(x))
}

#[test]
fn rows_are_chosen_by_masks_and_integers() {
    let (mut own, rows) = (x(&[3, 2, 2]), Tensor::from_slice(&[7.0f32, 8.0], [2, 1]));
    let mask = Tensor::from([true, false, true]);
    assert!(write_patch(&mut own, &[Ix::from(&mask)], &rows, 8));
    let masked = [7.0, 7.0, 8.0, 8.0, 4.0, 5.0, 6.0, 7.0, 7.0, 7.0, 8.0, 8.0];
    assert_eq!(own.to_vec::<f32>().unwrap(), masked);
    let ids = Tensor::from_slice(&[-2i64, 0], [2, 1]);
    let each = Tensor::from_slice(&[1.0f32, 2.0], [2, 1, 1, 1]);
    assert!(!write_patch(&mut own, &[Ix::from(&ids)], &each, 7), "eight elements are more than seven");
    assert!(write_patch(&mut own, &[Ix::from(&ids)], &each, 8));
    let chosen = [2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 7.0, 7.0, 8.0, 8.0];
    assert_eq!(own.to_vec::<f32>().unwrap(), chosen);
    // Large enough that positions are not listed one by one: a value per row, and rows without elements.
    let ids = Tensor::from([4999i64, 1]);
    let large = Tensor::zeros([5000, 3]).with_at(&ids, &Tensor::from_slice(&[5.0f32, 6.0], [2, 1]));
    assert_eq!(large.at(4999).to_vec::<f32>().unwrap(), [5.0; 3]);
    assert_eq!(large.sum(()).item::<f32>().unwrap(), 33.0);
    assert_eq!(Tensor::zeros([5, 0]).with_at(&Tensor::from([4i64, 1]), 1.0).numel(), 0);
}

#[test]
fn shared_memory_is_not_written() {
    let (mut own, nine) = (x(&[2, 3]), Tensor::from(9.0f32));
    let part = own.at(0);
    assert!(!write_patch(&mut own, &[Ix::At(0)], &nine, 100), "a view shares the memory");
    drop(part);
    assert!(write_patch(&mut own, &[Ix::At(0), Ix::At(1)], &nine, 100));
    assert_eq!(own.to_vec::<f32>().unwrap(), [0.0, 9.0, 2.0, 3.0, 4.0, 5.0]);
    let other = own.clone();
    assert!(!write_patch(&mut own, &[Ix::At(0)], &nine, 100), "a clone shares the value");
    drop(other);
    assert!(!write_patch(&mut own, &[Ix::At(0)], &nine, 2), "three elements are more than two");
    assert!(!write_patch(&mut own, &[Ix::At(2)], &nine, 100), "there is no such row");
    let weight = Tensor::from(1.0f32).requires_grad_();
    assert!(!write_patch(&mut own, &[Ix::At(0)], &weight, 100), "gradients are recorded");
    let mut one = Tensor::zeros([3]);
    assert!(!write_patch(&mut one, &[Ix::At(0)], &nine, 100), "all elements are one number in memory");
    assert_eq!(one.with_at(0, 9.0).to_vec::<f32>().unwrap(), [9.0, 0.0, 0.0]);
}

#[test]
fn numbers_are_converted_as_tensors_are() {
    let whole = Tensor::from(vec![1i64, 2, 3]);
    assert_eq!(whole.with_at(1, 2.9).to_vec::<i64>().unwrap(), [1, 2, 3]);
    assert_eq!(whole.with_at(1, -2.9).to_vec::<i64>().unwrap(), [1, -2, 3]);
    let bits = Tensor::from(vec![true, false]);
    assert_eq!(bits.with_at(1, 5).to_vec::<bool>().unwrap(), [true, true]);
}
