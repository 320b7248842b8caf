//! Compiled functions: their descriptions, costs and cells; equal functions are compiled once.

use gradus_tensor::autograd::grad;
use gradus_tensor::{Backward, Generator, Tensor, compile, cond, no_grad, while_loop};

#[test]
fn explain_tells_work_and_memory() {
    let (x, w) = (Tensor::ones([8, 16]), Tensor::ones([16, 4]));
    let step = compile(&[&x, &w], |v| v[0].matmul(&v[1]).tanh().softmax(-1).sum(())).unwrap();
    let text = step.explain();
    // 2·8·4·16 for the product, plus the ops after it.
    assert!(text.contains("product 8×4×16"), "{text}");
    assert!(text.contains("operations") && text.contains("arena of"), "{text}");
    assert!(text.lines().any(|l| l.starts_with("step 0: ")), "{text}");
    let profile = step.profile(&[&x, &w]).unwrap();
    assert!(profile.contains("peak rates:") && profile.contains("product 8×4×16"), "{profile}");
}

#[test]
fn equal_functions_share_a_plan_and_no_state() {
    let x = Tensor::from([1.0f32, 2.0, 3.0]);
    let make = || compile(&[&x], |v| (&v[0] * 3.0 + 1.0).exp()).unwrap();
    let (a, b) = (make(), make());
    assert_eq!(a.graph(), b.graph());
    let expected = a.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap();
    let run = |c: &gradus_tensor::Compiled, k: f64| {
        let once = |_| c.run(&[&(&x * k)]).unwrap()[0].to_vec::<f32>().unwrap();
        (0..200).map(once).reduce(|_, last| last).unwrap()
    };
    let both: Vec<Vec<f32>> = std::thread::scope(|s| {
        let other = s.spawn(|| run(&b, 2.0));
        vec![run(&a, 1.0), other.join().unwrap()]
    });
    assert_eq!(both[0], expected);
    assert_eq!(both[1], a.run(&[&(&x * 2.0)]).unwrap()[0].to_vec::<f32>().unwrap());
}

/// A row of equal elements is stored as one value; results computed from it still have every element.
#[test]
fn rows_that_repeat_one_element() {
    let column = Tensor::from([[1.0f32], [2.0], [-3.0]]);
    for n in [1, 3, 16, 100] {
        let (repeated, written) = (column.expand([3, n]), column.expand([3, n]).contiguous());
        let functions: [fn(&Tensor) -> Tensor; 4] = [
            |x| x.softmax(-1),
            |x| x.log_softmax(-1),
            |x| x.sub(&x.max_keepdim(-1)).exp(),
            |x| x.layer_norm([x.dim(-1)], None, None, 1e-5),
        ];
        for (i, f) in functions.iter().enumerate() {
            let (a, b) = (f(&repeated).to_vec::<f32>().unwrap(), f(&written).to_vec::<f32>().unwrap());
            assert_eq!(a, b, "function {i} of rows of {n}");
        }
    }
}

/// A compiled training step with `backward` gives the weights of the eager one, and leaves no gradient.
#[test]
fn backward_inside_of_a_step() {
    let (x, y) = (Tensor::from([[1.0, 2.0], [3.0, -1.0]]), Tensor::from([0.5, -2.0]));
    let step = |w: &Tensor, moved: &Tensor, x: &Tensor, y: &Tensor| {
        let loss = (x.matmul(w) - y).square().sum(()).mul(&w.detach().sum(()));
        w.zero_grad();
        loss.backward().unwrap();
        loss.backward().unwrap(); // gradients add up
        no_grad(|| {
            moved.set_(&(moved * 0.9 + w.grad().unwrap())).unwrap();
            w.set_(&(&w.data_() - &(moved * 0.01))).unwrap();
        });
        loss.detach()
    };
    let new = || (Tensor::from([0.3, -0.7]).requires_grad_(), Tensor::from([0.0, 0.0]).cell());
    let ((w, m), (v, n)) = (new(), new());
    let compiled = compile(&[&x, &y], |b| step(&w, &m, &b[0], &b[1])).unwrap();
    assert!(w.grad().is_none());
    for _ in 0..3 {
        let own = compiled.run(&[&x, &y]).unwrap().remove(0).item::<f64>().unwrap();
        let eager = {
            let loss = (x.matmul(&v) - &y).square().sum(()).mul(&v.detach().sum(()));
            v.zero_grad();
            loss.backward_as(None, gradus_tensor::Backward { retain_graph: true, ..Default::default() })
                .unwrap();
            loss.backward().unwrap();
            no_grad(|| {
                n.set_(&(&n * 0.9 + v.grad().unwrap())).unwrap();
                v.set_(&(&v.data_() - &(&n * 0.01))).unwrap();
            });
            loss.item::<f64>().unwrap()
        };
        assert!((own - eager).abs() < 1e-12, "{own} and {eager}");
    }
    for (a, b) in [(&w, &v), (&m, &n)] {
        for (a, b) in a.to_vec::<f64>().unwrap().iter().zip(b.to_vec::<f64>().unwrap()) {
            assert!((a - b).abs() < 1e-12, "{a} and {b}");
        }
    }
}

/// A trace contains the gradients that its function computes: for changed leaves, inner values, arguments,
/// and gradients.
#[test]
fn gradients_inside_of_a_trace() {
    let w = Tensor::from([0.5, -1.5]).requires_grad_();
    let x = Tensor::from([2.0, 3.0]);
    let how = Backward { create_graph: true, retain_graph: true, ..Backward::default() };
    let one = |y: &Tensor, x: &Tensor| grad(&[y], &[None], &[x], how).unwrap().remove(0).unwrap();
    let f = |x: &Tensor| {
        let h = (&w * x).sin();
        h.retain_grad();
        let y = h.square().sum(());
        let slope = one(&y, &w); // 2 sin(wx) cos(wx) x
        let curvature = one(&slope.sum(()), &w); // 2 cos(2wx) x²
        let inner = one(&slope.square().sum(()), &h);
        y.backward_as(None, how).unwrap();
        let kept = h.grad().unwrap(); // 2h
        let total = w.grad().unwrap();
        w.zero_grad();
        vec![slope, curvature, inner, kept, total]
    };
    let eager = f(&x);
    let compiled = compile(&[&x], |x| f(&x[0])).unwrap();
    for (i, (a, b)) in compiled.run(&[&x]).unwrap().iter().zip(&eager).enumerate() {
        for (a, b) in a.to_vec::<f64>().unwrap().iter().zip(b.to_vec::<f64>().unwrap()) {
            assert!((a - b).abs() < 1e-12, "result {i}: {a} and {b}");
        }
    }
    // Two steps: the second gradient is at the value that the first step wrote.
    let v = Tensor::from([1.0]).requires_grad_();
    let steps = compile(&[], |_| {
        for _ in 0..2 {
            v.zero_grad();
            v.square().sum(()).backward().unwrap();
            no_grad(|| v.set_(&(&v.data_() - &(v.grad().unwrap() * 0.25)))).unwrap();
        }
        v.detach()
    });
    steps.unwrap().run(&[]).unwrap();
    assert_eq!(v.to_vec::<f64>().unwrap(), [0.25]);
}

/// A transformed function may draw random numbers and write cells. Both happen once under every transform.
#[test]
fn transforms_of_functions_that_write() {
    let (count, x) = (Tensor::from([0.0]).cell(), Tensor::from([1.0, 2.0]));
    let f = |x: &[Tensor]| {
        count.set_(&(&count + 1.0)).unwrap();
        (x[0].square() * &count).sum(())
    };
    assert_eq!(gradus_tensor::grad(&[&x], f).unwrap()[0].to_vec::<f64>().unwrap(), [2.0, 4.0]);
    assert_eq!(count.to_vec::<f64>().unwrap(), [1.0]);
    let (y, pull) = gradus_tensor::vjp(&[&x], f).unwrap();
    assert_eq!((y[0].item::<f64>().unwrap(), count.to_vec::<f64>().unwrap()), (10.0, vec![2.0]));
    for _ in 0..2 {
        assert_eq!(pull(&[&Tensor::from(1.0)]).unwrap()[0].to_vec::<f64>().unwrap(), [4.0, 8.0]);
    }
    let generator = Generator::new(3);
    let noisy = |x: &[Tensor]| x[0].dropout(0.5, true, &generator);
    let leaf = Tensor::ones([64]).requires_grad_();
    let kept = gradus_tensor::checkpoint(&[&leaf], noisy).unwrap().remove(0);
    kept.sum(()).backward().unwrap();
    // Recomputation draws the same numbers.
    assert_eq!(leaf.grad().unwrap().to_vec::<f32>().unwrap(), kept.to_vec::<f32>().unwrap());
    let again = gradus_tensor::checkpoint(&[&leaf], noisy).unwrap().remove(0);
    assert_ne!(again.to_vec::<f32>().unwrap(), kept.to_vec::<f32>().unwrap());
}

/// A cast to a narrower dtype and back changes values, so a transpose through it cannot be a plain copy.
#[test]
fn transposed_through_narrow_numbers() {
    use gradus_ir::DType;
    let x = Tensor::arange(0, 40 * 24, 1).reshape([40, 24]).to_dtype(DType::I32);
    let step = compile(&[&x], |v| v[0].t().to_dtype(DType::I8).to_dtype(DType::I32)).unwrap();
    let found = step.run(&[&x]).unwrap()[0].to_vec::<i32>().unwrap();
    let want: Vec<i32> = (0..24 * 40).map(|i| ((i % 40 * 24 + i / 40) as i8).into()).collect();
    assert_eq!(found, want);
    let step = compile(&[&x], |v| v[0].t().contiguous()).unwrap();
    let found = step.run(&[&x]).unwrap()[0].to_vec::<i32>().unwrap();
    let want: Vec<i32> = (0..24 * 40).map(|i| i % 40 * 24 + i / 40).collect();
    assert_eq!(found, want);
}

/// Threads and compiled steps that draw from one generator at the same time get different words.
#[test]
fn draws_at_the_same_time_as_steps() {
    let g = Generator::new(3);
    let x = Tensor::ones([64]);
    let drawn: Vec<f32> = std::thread::scope(|s| {
        let (g, x) = (&g, &x);
        let steps = s.spawn(move || {
            let step = compile(&[x], |v| &v[0] * g.rand([64])).unwrap();
            let once = |_| step.run(&[x]).unwrap()[0].to_vec::<f32>().unwrap();
            (0..50).flat_map(once).collect::<Vec<f32>>()
        });
        let eager = [4usize, 300].map(|n| {
            s.spawn(move || (0..50).flat_map(|_| g.rand([n]).to_vec::<f32>().unwrap()).collect::<Vec<f32>>())
        });
        let mut all = steps.join().unwrap();
        eager.into_iter().for_each(|e| all.extend(e.join().unwrap()));
        all
    });
    // Among 18400 random numbers of 24 bits, about ten pairs are equal by chance. If an eager call drew the numbers of
    // another, at least 4 more pairs would be equal; if a compiled step did, 64 more.
    let mut bits: Vec<u32> = drawn.iter().map(|x| x.to_bits()).collect();
    bits.sort_unstable();
    let same = bits.windows(2).filter(|w| w[0] == w[1]).count();
    assert!(same < 40, "{same} of {}", drawn.len());
}

/// Converting a cell between a step's read and its write would lose the step's result.
#[test]
fn steps_survive_conversions_by_other_threads() {
    let w = Tensor::zeros([4096]).cell();
    let step = compile(&[], |_| {
        w.add_(1.0);
        Tensor::from(0.0f32)
    });
    let (step, done) = (step.unwrap(), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                w.convert_(gradus_ir::DType::F32).unwrap();
            }
        });
        (0..2000).for_each(|_| drop(step.run(&[]).unwrap()));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(w.to_vec::<f32>().unwrap(), [2000.0; 4096]);
}

/// Measured work counts every iteration of a loop, and only the branch that is taken.
#[test]
fn measured_work_counts_iterations_and_taken_branches() {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [4]);
    let n = Tensor::from_slice(&[7i64], []);
    let looped = compile(&[&x, &n], |v| {
        let more = |c: &[Tensor]| c[1].gt(0i64);
        let step = |c: &[Tensor]| vec![&c[0] * &c[0], &c[1] - 1i64];
        while_loop(&[&v[0], &v[1]], None, more, step).unwrap()
    })
    .unwrap();
    let small = Tensor::from_slice(&[3i64], []);
    let (seven, three) = (looped.measured(&[&x, &n]).unwrap(), looped.measured(&[&x, &small]).unwrap());
    assert_eq!((seven.iterations, three.iterations), (7, 3));
    // Four products and a difference per iteration, a comparison before each and one more.
    assert_eq!(seven.flops - three.flops, 4 * (4 + 1 + 1));
    assert!(seven.bytes > 2 * three.bytes);
    let chosen = compile(&[&x, &n], |v| {
        let more = |v: &[Tensor]| vec![(&v[0] * &v[0]).exp().tanh().sin()];
        cond(&v[1].gt(5i64), &[&v[0]], more, |v: &[Tensor]| vec![&v[0] + 1.0]).unwrap()
    })
    .unwrap();
    let [much, little] = [&n, &small].map(|n| chosen.measured(&[&x, n]).unwrap().flops);
    assert_eq!(much - little, 4 * 3);
}
