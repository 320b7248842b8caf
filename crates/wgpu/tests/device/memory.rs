//! Tests memory: reads return what was uploaded, the heap keeps its content when it grows, and freed memory is reused
//! only after the commands that use it.

use crate::common::{Random, arguments, as_floats, floats, gpu, load, multiply_add, options, read};
use gradus_compile::Text;
use gradus_device::Device;
use gradus_gpu::SMALL;
use gradus_ir::Kind;
use gradus_mem::Storage;
use gradus_wgpu::Options;

#[test]
fn uploads_can_be_read() {
    let Some(gpu) = gpu(&options()) else { return };
    let mut random = Random::new(1);
    let sizes = [0, 1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 4095, 65_535, 65_536, 65_537, 1 << 20];
    let sizes =
        sizes.into_iter().chain([SMALL - 1, SMALL, SMALL + 1, SMALL + 3, (9 << 20) + 2, (65 << 20) + 3]);
    let values: Vec<Vec<u8>> = sizes.map(|n| random.bytes(n)).collect();
    let storages: Vec<Storage> = values.iter().map(|v| gpu.upload(v).expect("memory")).collect();
    for (value, storage) in values.iter().zip(&storages) {
        assert_eq!(storage.device(), gpu.id());
        assert!(&read(&*gpu, storage) == value, "{} bytes", value.len());
    }
    // Reads parts of all storages in one read, from and to any byte.
    for _ in 0..20 {
        let ranges: Vec<_> = values
            .iter()
            .map(|v| {
                let from = random.below(v.len() + 1);
                from..from + random.below(v.len() - from + 1)
            })
            .collect();
        let parts: Vec<_> = storages.iter().zip(ranges.iter().cloned()).collect();
        let found = gpu.read(&parts).wait().expect("a read");
        for ((value, range), found) in values.iter().zip(&ranges).zip(&found) {
            assert!(found.host::<u8>() == Some(&value[range.clone()]), "{range:?} of {}", value.len());
        }
    }
}

#[test]
fn reads_are_futures() {
    let Some(gpu) = gpu(&options()) else { return };
    let storage = gpu.upload(&[1, 2, 3]).expect("memory");
    let found = pollster::block_on(gpu.read(&[(&storage, 1..3)])).expect("a read");
    assert_eq!(found[0].host::<u8>(), Some(&[2, 3][..]));
    assert!(pollster::block_on(gpu.finish()).expect("the end of the queue").is_empty());
}

#[test]
fn copies_from_any_byte() {
    let Some(gpu) = gpu(&options()) else { return };
    let mut random = Random::new(2);
    for n in [40, 5000, SMALL + 100] {
        let value = random.bytes(n);
        let storage = gpu.upload(&value).expect("memory");
        for from in [0, 1, 2, 3, 4, 16, 37] {
            for to in [from, from + 1, n - 3, n] {
                let copy = gpu.copy(&storage, from..to).expect("a copy");
                assert!(read(&*gpu, &copy) == value[from..to], "{from}..{to} of {n}");
            }
        }
        assert!(gpu.copy(&storage, 1..n + 1).is_err());
    }
}

#[test]
fn the_heap_grows_and_keeps_its_contents() {
    let Some(gpu) = gpu(&Options { heap: 4096, ..options() }) else { return };
    let mut random = Random::new(3);
    let axpy = load(&gpu, multiply_add(100, 2.0, false), Text::Generic);
    let mut all: Vec<(Storage, Vec<u8>)> = Vec::new();
    for i in 0..400 {
        let value: Vec<f32> = (0..100).map(|k| (i * k) as f32).collect();
        let x = gpu.upload(&floats(&value)).expect("memory");
        // These commands are queued when the heap is small, and possibly submitted when it is larger.
        let y = axpy.run(&mut arguments(&[&x, &x]), None).expect("a run").remove(0);
        all.push((x, floats(&value)));
        all.push((y, floats(&value.iter().map(|v| 3.0 * v).collect::<Vec<_>>())));
        let bytes = random.below(20_000);
        let large = random.bytes(bytes);
        all.push((gpu.upload(&large).expect("memory"), large));
    }
    assert!(gpu.memory().reserved > 400 * 3 * 256);
    for (storage, value) in &all {
        assert!(read(&*gpu, storage) == *value);
    }
}

#[test]
fn memory_is_counted_and_reused() {
    let Some(gpu) = gpu(&options()) else { return };
    let before = gpu.memory();
    let (small, large) = (gpu.alloc(1000).expect("memory"), gpu.alloc(SMALL + 1).expect("memory"));
    let held = gpu.memory();
    assert_eq!(held.used, before.used + 1000 + SMALL + 1);
    drop((small, large));
    let after = gpu.memory();
    assert_eq!((after.used, after.peak), (before.used, held.peak));
    gpu.finish().wait().expect("the end of the queue");
    // The freed buffer is reused.
    let again = gpu.alloc(SMALL + 5).expect("memory");
    assert_eq!(gpu.memory().reserved, held.reserved);
    drop(again);
    gpu.trim();
    assert_eq!(gpu.memory().reserved, before.reserved);
}

#[test]
fn failed_allocations_are_errors() {
    let most = 64 << 20;
    let Some(gpu) = gpu(&Options { most, ..options() }) else { return };
    let mut held = Vec::new();
    let error = loop {
        match gpu.upload(&vec![held.len() as u8; 10 << 20]) {
            Ok(storage) => held.push(storage),
            Err(error) => break error,
        }
    };
    assert_eq!(*error.kind(), Kind::Memory { bytes: 10 << 20 });
    assert!((3..6).contains(&held.len()), "{}", held.len());
    // Memory in use must be unchanged, and freed memory must be reused, also for other sizes.
    for (i, storage) in held.iter().enumerate() {
        assert!(read(&*gpu, storage).iter().all(|b| *b == i as u8));
    }
    drop(held);
    gpu.alloc(40 << 20).expect("memory");
    // The limit on memory includes the heap.
    let mut held = Vec::new();
    while let Ok(storage) = gpu.alloc(SMALL) {
        held.push(storage);
    }
    assert!(held.len() >= 4, "{}", held.len());
    held.clear();
    gpu.upload(&[1, 2]).expect("memory");
}

/// Creates and drops storages while kernels that use them are queued, and compares their values with a model on the host.
#[test]
fn random_use_agrees_with_a_model() {
    let Some(gpu) = gpu(&Options { heap: 1 << 16, ..options() }) else { return };
    let sizes = [1, 3, 64, 1000, 20_000];
    let large = SMALL / 4 + 17;
    let ops: Vec<_> = sizes
        .iter()
        .chain([&large])
        .map(|&n| {
            let make = |in_place| load(&gpu, multiply_add(n, 0.5, in_place), Text::Generic);
            (n, make(false), make(true))
        })
        .collect();
    for seed in 0..4 {
        let mut random = Random::new(10 + seed);
        let mut held: Vec<(usize, Storage, Vec<f32>)> = Vec::new();
        for _ in 0..300 {
            let which = if random.below(30) == 0 { sizes.len() } else { random.below(sizes.len()) };
            let (n, add, add_in_place) = &ops[which];
            let same: Vec<usize> = (0..held.len()).filter(|i| held[*i].0 == *n).collect();
            match random.below(6) {
                0 | 1 => {
                    let value: Vec<f32> = (0..*n).map(|_| random.below(1000) as f32).collect();
                    held.push((*n, gpu.upload(&floats(&value)).expect("memory"), value));
                }
                2 if !same.is_empty() => {
                    let (_, storage, value) = held.swap_remove(same[random.below(same.len())]);
                    // Sometimes checks the value before dropping the storage.
                    if random.below(4) == 0 {
                        assert!(as_floats(&read(&*gpu, &storage)) == value);
                    }
                }
                _ if !same.is_empty() => {
                    let x = same[random.below(same.len())];
                    let y = same[random.below(same.len())];
                    let sum: Vec<f32> = held[x].2.iter().zip(&held[y].2).map(|(x, y)| x * 0.5 + y).collect();
                    let mut given = arguments(&[&held[x].1, &held[y].1]);
                    if random.below(2) == 0 && x != y {
                        // The program owns the operand, so the result overwrites its memory.
                        held[x].1 = gpu.alloc(0).expect("memory");
                        let new = add_in_place.run(&mut given, None).expect("a run").remove(0);
                        held[x] = (*n, new, sum);
                    } else if random.below(2) == 0 {
                        // The test still holds the operand, so the result must not change it.
                        let new = add_in_place.run(&mut given, None).expect("a run").remove(0);
                        held.push((*n, new, sum));
                    } else {
                        let new = add.run(&mut given, None).expect("a run").remove(0);
                        held.push((*n, new, sum));
                    }
                }
                _ => {}
            }
            while held.len() > 40 {
                held.swap_remove(random.below(held.len()));
            }
        }
        for (_, storage, value) in &held {
            assert!(as_floats(&read(&*gpu, storage)) == *value);
        }
    }
}

#[test]
fn a_run_without_memory_keeps_its_arguments() {
    let (n, most) = (SMALL, 48 << 20);
    let Some(gpu) = gpu(&Options { most, ..options() }) else { return };
    // Two operands of 16 MiB fit next to the heap, but the result does not.
    let program = load(&gpu, multiply_add(n, 2.0, true), Text::Special);
    let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x = gpu.upload(&floats(&values)).expect("memory");
    let y = gpu.upload(&floats(&values)).expect("memory");
    let used = gpu.memory().used;
    let mut given = arguments(&[&x, &y]);
    let error = program.run(&mut given, None).expect_err("no memory");
    assert_eq!(*error.kind(), Kind::Memory { bytes: 4 * n });
    assert_eq!((given.len(), gpu.memory().used), (2, used));
    assert!(as_floats(&read(&*gpu, &x)) == values);
    // The program owns the operand, so the result takes over its memory.
    drop(x);
    let out = program.run(&mut given, None).expect("a run").remove(0);
    assert!(as_floats(&read(&*gpu, &out)) == values.iter().map(|v| 3.0 * v).collect::<Vec<_>>());
}
