//! Batches: every example once per pass, the same order for the same seed, and resuming at any batch.

use gradus_nn::data::{Dataset, Loader, Position, Tensors, Windows};
use gradus_tensor::Tensor;

fn numbers(n: i64) -> Tensors {
    let x = Tensor::from((0..n).collect::<Vec<i64>>());
    Tensors::new(vec![x.clone(), x * 10]).unwrap()
}

fn take(loader: &mut Loader, batches: usize) -> Vec<Vec<i64>> {
    let batch = |b: Vec<Tensor>| {
        let (x, y) = (b[0].to_vec::<i64>().unwrap(), b[1].to_vec::<i64>().unwrap());
        assert!(x.iter().zip(&y).all(|(x, y)| x * 10 == *y));
        x
    };
    (0..batches).map(|_| batch(loader.next_batch().unwrap())).collect()
}

#[test]
fn every_example_comes_once_a_pass() {
    let mut plain = Loader::new(numbers(7), 3).unwrap();
    assert_eq!(take(&mut plain, 3), [vec![0, 1, 2], vec![3, 4, 5], vec![0, 1, 2]]);
    let mut whole = Loader::new(numbers(7), 3).unwrap().keep_last();
    assert_eq!(take(&mut whole, 3), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    assert_eq!(whole.position(), Position { epoch: 1, batch: 0 });
    let mut shuffled = Loader::new(numbers(100), 9).unwrap().shuffle(4).keep_last();
    let passes: Vec<Vec<i64>> = (0..3).map(|_| take(&mut shuffled, 12).concat()).collect();
    for pass in &passes {
        let mut sorted = pass.clone();
        sorted.sort();
        assert_eq!(sorted, (0..100).collect::<Vec<i64>>());
    }
    assert!(passes[0] != passes[1] && passes[1] != passes[2]);
    assert_eq!(shuffled.pass().map(|b| b.unwrap()[0].dim(0)).sum::<usize>(), 100);
}

#[test]
fn a_loader_resumes_at_any_batch() {
    let make = || Loader::new(numbers(50), 4).unwrap().shuffle(9);
    let all = take(&mut make(), 40);
    for (i, ahead) in [(0, 0), (1, 1), (11, 2), (12, 5), (13, 0), (25, 3)] {
        let mut first = make().ahead(ahead);
        take(&mut first, i);
        let mut second = make();
        second.seek(first.position());
        assert_eq!(take(&mut second, 40 - i), all[i..], "from {i}");
    }
    assert_ne!(take(&mut Loader::new(numbers(50), 4).unwrap().shuffle(10), 40), all);
}

#[test]
fn windows_overlap_and_end_with_the_text() {
    let text: Vec<i64> = (0..6).collect();
    let windows = Windows::new(&text, 3);
    assert_eq!(windows.len(), 3);
    let batch = windows.batch(&[2, 0]).unwrap();
    assert_eq!(batch[0].to_vec2::<i64>().unwrap(), [[2, 3, 4], [0, 1, 2]]);
    assert_eq!(batch[1].to_vec2::<i64>().unwrap(), [[3, 4, 5], [1, 2, 3]]);
}

#[test]
fn invalid_datasets_and_sizes_are_refused() {
    assert!(Loader::new(numbers(0), 1).is_err());
    assert!(Loader::new(numbers(3), 0).is_err());
    let e = Loader::new(numbers(3), 4).unwrap().next_batch().unwrap_err().to_string();
    assert!(e.contains("batches of 4 need more examples than the 3 of the dataset"), "{e}");
    assert!(Tensors::new(vec![Tensor::zeros([2]), Tensor::zeros([3])]).is_err());
    assert!(Tensors::new(vec![]).is_err());
    let (even, odd) = numbers(5).split(|i| i % 2 == 0);
    assert_eq!((even.fields()[0].to_vec::<i64>().unwrap(), odd.len()), (vec![0, 2, 4], 2));
    // An error of the dataset is returned, and the loader does not advance.
    struct Bad;
    impl Dataset for Bad {
        fn len(&self) -> usize {
            9
        }
        fn batch(&self, ids: &[usize]) -> gradus_ir::Result<Vec<Tensor>> {
            if ids.contains(&4) { Err(gradus_ir::Error::value("example 4", "is bad")) } else { Ok(vec![]) }
        }
    }
    let mut loader = Loader::new(Bad, 2).unwrap();
    assert!(loader.next_batch().is_ok() && loader.next_batch().is_ok());
    assert!(loader.next_batch().is_err());
    assert!(loader.next_batch().is_err());
    assert_eq!(loader.position().batch, 2);
}
