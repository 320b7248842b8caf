//! Tensors on a device other than the CPU, whose memory the host cannot access.

use gradus_ir::{DType, Kind};
use gradus_tensor::{All, Backward, Device, Generator, Tensor, autograd, compile, jit, manual_seed};
use gradus_testkit::loopback::Loopback;
use std::sync::{Arc, Barrier, LazyLock};

/// One device for all tests of this file; its reads are counted by tests that have a device of their own.
static SHARED: LazyLock<Device> = LazyLock::new(|| new("loopback").0);

fn new(name: &str) -> (Device, Arc<Loopback>) {
    let mut kept = None;
    let device = Device::add(name, |id| {
        let device = Loopback::new(id, name);
        kept = Some(device.clone());
        device
    });
    (device.expect("a new name"), kept.expect("a device"))
}

fn values(t: &Tensor) -> Vec<f32> {
    t.to_vec().expect("values")
}

fn sample(shape: &[usize], seed: u64) -> Tensor {
    Generator::new(seed).randn(shape)
}

#[test]
fn names() {
    let device = *SHARED;
    assert_eq!(Device::named("loopback").expect("it is there"), device);
    assert_eq!(Device::named("cpu:0").expect("the CPU"), Device::CPU);
    assert_eq!((device.name(), device.to_string()), ("loopback".into(), "loopback".into()));
    for (name, what) in [("toaster", "not a kind of device"), ("cpu:1", "one device"), ("loop:x", "a number")]
    {
        let e = Device::named(name).expect_err(name);
        assert!(matches!(e.kind(), Kind::Device { .. }) && e.to_string().contains(what), "{e}");
    }
}

#[test]
fn tensors_move_to_a_device_and_back() {
    let x = sample(&[3, 4], 1);
    let views = [
        x.clone(),
        x.permute([1isize, 0]),
        x.at((.., 1..3)),
        x.at((1, ..)).expand([5, 4]),
        x.sum(All).expand([2, 2]),
    ];
    for view in views {
        let there = view.to(*SHARED);
        assert_eq!((there.device(), there.shape(), there.dtype()), (*SHARED, view.shape(), view.dtype()));
        let back = there.to(Device::CPU);
        assert_eq!((back.device(), values(&back)), (Device::CPU, values(&view)));
        assert_eq!(values(&there), values(&view));
        assert_eq!(format!("{there}"), format!("{view}"));
        assert!(format!("{there:?}").contains("device=loopback"), "{there:?}");
    }
    for dtype in [DType::Bool, DType::I8, DType::I64, DType::BF16, DType::C64] {
        let x = Tensor::from([1.0f32, 0.0, 3.0]).to_dtype(dtype);
        assert_eq!(x.to(*SHARED).to_literal().expect("values"), x.to_literal().expect("values"));
    }
}

#[test]
fn wide_numbers_are_refused() {
    let e = Tensor::from([1.0f64]).to(*SHARED).check().expect_err("no f64").to_string();
    assert!(e.contains("has no f64") && e.contains("f32"), "{e}");
}

#[test]
fn operations_run_where_their_operands_are() {
    let (x, y) = (sample(&[4, 5], 2), sample(&[4, 5], 3));
    let (dx, dy) = (x.to(*SHARED), y.to(*SHARED));
    type Call = fn(&Tensor, &Tensor) -> Tensor;
    let calls: [(&str, Call); 12] = [
        ("add", |x, y| x + y),
        ("number", |x, _| x * 2.0 + 1.0),
        ("scalar of the CPU", |x, _| x * &Tensor::from(3.0f32)),
        ("softmax", |x, _| x.softmax(-1)),
        ("matmul", |x, y| x.matmul(&y.permute([1isize, 0]))),
        ("cat", |x, y| Tensor::cat(&[x, y], 0)),
        ("sum", |x, _| x.sum(0)),
        ("topk", |x, _| x.topk(2, -1, true).0),
        ("gelu", |x, _| x.gelu()),
        ("compare", |x, y| x.gt(y).select(x, y)),
        ("slice", |x, y| x.at((.., 1..3)) * y.at((.., 2..4))),
        ("like", |x, _| x + &x.zeros_like() + &x.ones_like()),
    ];
    for (name, call) in calls {
        let (expected, found) = (call(&x, &y), call(&dx, &dy));
        assert_eq!(found.device(), *SHARED, "{name}");
        assert_eq!(values(&found), values(&expected), "{name}");
    }
}

#[test]
fn operands_of_two_devices_are_refused() {
    let x = sample(&[2, 3], 4);
    for mixed in [
        &x.to(*SHARED) + &x,
        x.matmul(&x.permute([1isize, 0]).to(*SHARED)),
        Tensor::cat(&[&x, &x.to(*SHARED)], 0),
    ] {
        let e = mixed.check().expect_err("two devices").to_string();
        let words = "operands are on two devices, loopback and cpu; move them to one device";
        assert!(e.contains(words), "{e}");
    }
}

#[test]
fn indices_of_either_device() {
    let x = sample(&[5, 3], 5);
    let ids = Tensor::from([4i64, 0, -1]);
    let expected = values(&x.at(&ids));
    let there = x.to(*SHARED);
    assert_eq!(values(&there.at(&ids)), expected);
    assert_eq!(values(&there.at(&ids.to(*SHARED))), expected);
    let outside = there.at(&Tensor::from([7i64]).to(*SHARED));
    let e = outside.to_vec::<f32>().expect_err("an index outside");
    assert!(matches!(e.kind(), Kind::Index { index: 7, extent: 5, .. }), "{e}");
}

/// Gradients on the device equal those on the CPU, and pass back through `to`.
#[test]
fn gradients() {
    let (x, w) = (sample(&[4, 3], 6), sample(&[3, 2], 7));
    let loss = |x: &Tensor, w: &Tensor| x.matmul(w).tanh().sum(All);
    let on_cpu = w.requires_grad_();
    loss(&x, &on_cpu).backward().expect("gradients");
    let expected = values(&on_cpu.grad().expect("a gradient"));

    let there = w.to(*SHARED).requires_grad_();
    loss(&x.to(*SHARED), &there).backward().expect("gradients");
    let grad = there.grad().expect("a gradient");
    assert_eq!((grad.device(), values(&grad)), (*SHARED, expected.clone()));

    let leaf = w.requires_grad_();
    let moved = (&leaf * 1.0).to(*SHARED);
    loss(&x.to(*SHARED), &moved).backward().expect("gradients");
    let grad = leaf.grad().expect("a gradient");
    assert_eq!((grad.device(), values(&grad)), (Device::CPU, expected.clone()));

    // The gradient of a leaf that is used on both devices.
    let leaf = w.requires_grad_();
    let both = loss(&x.to(*SHARED), &leaf.to(*SHARED)).to(Device::CPU) + loss(&x, &leaf);
    both.backward().expect("gradients");
    let twice: Vec<f32> = expected.iter().map(|g| 2.0 * g).collect();
    assert_eq!(values(&leaf.grad().expect("a gradient")), twice);

    // Second derivatives.
    let second = |w: &Tensor, x: &Tensor| {
        let how = Backward { create_graph: true, ..Backward::default() };
        let first =
            autograd::grad(&[&loss(x, w)], &[], &[w], how).expect("a gradient").remove(0).expect("used");
        autograd::grad(&[&first.square().sum(All)], &[], &[w], Backward::default())
            .expect("a second")
            .remove(0)
            .expect("used")
    };
    let expected = second(&w.requires_grad_(), &x);
    let found = second(&w.to(*SHARED).requires_grad_(), &x.to(*SHARED));
    assert_eq!((found.device(), values(&found)), (*SHARED, values(&expected)));
}

#[test]
fn made_on_the_default_device() {
    type Make = fn() -> Tensor;
    let made: [(&str, Make); 8] = [
        ("zeros", || Tensor::zeros([2, 3])),
        ("arange", || Tensor::arange(0, 10, 1)),
        ("arange of floats", || Tensor::arange(0.0, 1.0, 0.25)),
        ("eye", || Tensor::eye(3)),
        ("linspace", || Tensor::linspace(0.0, 1.0, 5)),
        ("rand", || Tensor::rand([100, 70])),
        ("randn", || Tensor::randn([5])),
        ("randint", || Tensor::randint(0, 9, [3000])),
    ];
    for (name, make) in made {
        manual_seed(11);
        let expected = make();
        manual_seed(11);
        let found = SHARED.with(make);
        assert_eq!((expected.device(), found.device()), (Device::CPU, *SHARED), "{name}");
        let same = found.to_literal().expect("values") == expected.to_literal().expect("values");
        assert!(same, "{name}: {found} and {expected}");
    }
    assert_eq!(Device::default(), Device::CPU);
}

#[test]
fn cells_stay_where_they_are() {
    let cell = sample(&[3], 8).to(*SHARED).cell();
    cell.set_(&Tensor::from([1.0f32, 2.0, 3.0])).expect("a value");
    assert_eq!((cell.device(), values(&cell)), (*SHARED, vec![1.0, 2.0, 3.0]));
    cell.move_(Device::CPU).expect("a move");
    assert_eq!((cell.device(), values(&cell)), (Device::CPU, vec![1.0, 2.0, 3.0]));
    let leaf = sample(&[3], 9).requires_grad_();
    (&leaf * 2.0).sum(All).backward().expect("gradients");
    leaf.move_(*SHARED).expect("a move");
    let grad = leaf.grad().expect("a gradient");
    assert_eq!((leaf.device(), grad.device(), values(&grad)), (*SHARED, *SHARED, vec![2.0; 3]));
}

/// Tests that a cell reports its device, and stays on it, while a compiled step of another thread has taken its value.
#[test]
fn cells_stay_where_they_are_during_a_compiled_step() {
    let (device, _) = new("busy");
    let start = sample(&[150, 150], 20);
    let w = start.to(device).cell();
    let step = compile(&[], |_| {
        w.set_(&w.matmul(&w).tanh()).expect("traced");
        Tensor::zeros([1])
    })
    .expect("a step");
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| (0..30).for_each(|_| drop(step.run(&[]).expect("a run"))));
        while !runs.is_finished() {
            assert_eq!(w.device(), device);
            w.set_(&start).expect("a value");
        }
    });
    w.set_(&start).expect("a value");
    assert_eq!((w.device(), values(&w)), (device, values(&start)));
}

/// Tests that of several threads that add a device under one name, exactly one succeeds.
#[test]
fn a_name_is_added_once() {
    for round in 0..100 {
        let name = format!("raced-{round}");
        let start = Barrier::new(2);
        let add = || {
            start.wait();
            Device::add(&name, |id| Loopback::new(id, &name)).is_ok()
        };
        let added = std::thread::scope(|scope| {
            let other = scope.spawn(add);
            [add(), other.join().expect("no panic")]
        });
        assert_eq!(added.iter().filter(|ok| **ok).count(), 1, "{name}");
    }
}

/// A training step is one program: nothing is read until the loss is.
#[test]
fn compiled_steps_read_only_what_is_asked_for() {
    let (device, counts) = new("counting");
    let w = sample(&[3, 2], 10);
    let x = sample(&[8, 3], 11);
    let train = |target: Device| {
        let w = w.to(target).cell();
        let step = compile(&[&x.to(target)], |x| {
            let loss = x[0].matmul(&w).square().mean(All);
            w.set_(&(&w * 0.9)).expect("traced");
            loss
        })
        .expect("a step");
        assert_eq!(step.device(), target);
        let mut last = None;
        counts.take_reads();
        for _ in 0..5 {
            last = Some(step.run(&[&x.to(target)]).expect("a run").remove(0));
        }
        let reads = counts.take_reads();
        let loss = last.expect("a loss").item::<f32>().expect("a number");
        (loss, values(&w), reads)
    };
    let (expected, found) = (train(Device::CPU), train(device));
    assert_eq!(found, expected);
}

#[test]
fn a_function_is_compiled_again_for_another_device() {
    let f = jit(|x: &[Tensor]| x[0].exp().sum(All));
    let x = sample(&[7], 12);
    let expected = f.call(&[&x]).expect("a value").remove(0);
    let found = f.call(&[&x.to(*SHARED)]).expect("a value").remove(0);
    assert_eq!((expected.device(), found.device()), (Device::CPU, *SHARED));
    assert_eq!(values(&found), values(&expected));
    assert_eq!(values(&f.call(&[&x]).expect("a value")[0]), values(&expected));
}

/// Tensors on a device that a compiled function uses from outside are inputs.
#[test]
fn compiled_functions_use_tensors_of_the_device() {
    let (x, y) = (sample(&[9], 13), sample(&[9], 14));
    let there = y.to(*SHARED);
    let f = compile(&[&x.to(*SHARED)], |x| &x[0] * &there).expect("a program");
    assert_eq!(values(&f.run(&[&x.to(*SHARED)]).expect("a run")[0]), values(&(&x * &y)));
    let e = f.run(&[&x]).expect_err("another device").to_string();
    assert!(e.contains("on two devices"), "{e}");
}

#[test]
fn random_numbers_in_a_program_equal_those_of_the_cpu() {
    let draw = |target: Device| {
        let generator = Generator::new(5);
        let x = Tensor::ones([40, 50]).to(target);
        let f = compile(&[&x], |x| x[0].dropout(0.5, true, &generator)).expect("a program");
        let twice = [0, 1].map(|_| values(&f.run(&[&x]).expect("a run")[0]));
        let eager = values(&x.dropout(0.5, true, &generator));
        (twice, eager, generator.state().to_vec::<u32>().expect("words"))
    };
    assert_eq!(draw(*SHARED), draw(Device::CPU));
}

/// If memory runs out, cells keep their values and the device keeps working.
#[test]
fn a_failed_allocation_changes_nothing() {
    let (device, faults) = new("scarce");
    let w = sample(&[3], 15).to(device).cell();
    let before = values(&w);
    let step = compile(&[], |_| {
        w.set_(&(&w + 1.0)).expect("traced");
        w.sum(All)
    })
    .expect("a step");
    faults.fail_after(1);
    let e = step.run(&[]).expect_err("no memory");
    assert!(matches!(e.kind(), Kind::Memory { .. }), "{e}");
    assert_eq!(values(&w), before);
    step.run(&[]).expect("a run");
    let after: Vec<f32> = before.iter().map(|x| x + 1.0).collect();
    assert_eq!(values(&w), after);
}

#[test]
fn memory_is_freed() {
    let (device, memory) = new("counted");
    let x = sample(&[100], 16).to(device);
    let y = &x * 2.0;
    drop(x);
    assert_eq!(memory.used(), 400);
    drop(y);
    assert_eq!(memory.used(), 0);
}
