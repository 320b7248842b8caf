//! The contract of a storage: aligned, initialised bytes of the right length, writable if unshared.

use std::panic::catch_unwind;
use std::thread;

use gradus_mem::{Pod, Storage};
use half::{bf16, f16};
use num_complex::Complex;

/// Lengths around every change of representation: inline, pooled, and straight from the system.
const LENGTHS: [usize; 15] =
    [0, 1, 7, 63, 64, 65, 127, 128, 129, 191, 192, 193, 4096, 100_000, (64 << 20) + 5];

fn zeroed(bytes: usize) -> Storage {
    Storage::zeroed(bytes).expect("memory")
}

#[test]
fn every_length_is_aligned_zeroed_and_writable_to_its_end() {
    // Miri walks a few thousand bytes in a second.
    for len in LENGTHS.into_iter().filter(|&len| len < 5000 || !cfg!(miri)) {
        for _ in 0..3 {
            let mut storage = zeroed(len);
            assert_eq!(storage.len_bytes(), len);
            let bytes = storage.get_mut_slice::<u8>().expect("unique");
            assert_eq!((bytes.len(), bytes.as_ptr().addr() % 64), (len, 0));
            // Write to the block: the next round must not see these values.
            assert!(bytes.iter().all(|&byte| byte == 0), "{len} bytes");
            bytes.fill(0xa5);
            assert!(storage.host::<u8>().unwrap().iter().all(|&byte| byte == 0xa5));
        }
    }
}

/// Zeros of a large block take no memory before they are touched, also if the allocator has used the memory before.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn large_zeros_take_no_memory_until_touched() {
    for len in [100_003, 400_000, 70 << 20] {
        drop(std::hint::black_box(vec![0xABu8; len]));
        let storage = zeroed(len);
        let (start, page) = (storage.as_ptr().addr(), 4096);
        let first = start.next_multiple_of(page);
        let pages = (start + len - first) / page;
        let mut resident = vec![1u8; pages];
        // SAFETY: the range is inside of the storage, and `resident` has a byte for each page.
        let answer = unsafe {
            libc::mincore(storage.as_ptr().add(first - start).cast(), pages * page, resident.as_mut_ptr())
        };
        assert_eq!(answer, 0);
        // A page can be touched by a neighbouring block only at the ends.
        let touched = resident.iter().filter(|r| **r & 1 == 1).count();
        assert_eq!(touched, 0, "{touched} of {pages} pages of {len} bytes");
        assert!(storage.host::<u8>().unwrap().iter().all(|x| *x == 0), "{len}");
    }
}

#[test]
fn neighbours_do_not_overlap() {
    for len in LENGTHS.into_iter().filter(|&len| len < 5000) {
        let filled = |i: u8| Storage::from_fn(len, |_| i).expect("memory");
        let many: Vec<_> = (0..if cfg!(miri) { 3 } else { 50 }).map(filled).collect();
        for (i, storage) in many.iter().enumerate() {
            assert!(storage.host::<u8>().unwrap().iter().all(|&byte| byte == i as u8));
        }
    }
}

#[test]
fn a_copy_equals_its_source() {
    for len in [0, 1, 24, 25, 48, 49, 1000] {
        let values: Vec<f64> = (0..len).map(|i| f64::from(i) * 0.5).collect();
        assert_eq!(Storage::from_slice(&values).expect("memory").host::<f64>().unwrap(), values);
        assert_eq!(Storage::from_vec(values.clone()).host::<f64>().unwrap(), values);
        let from_fn = Storage::from_fn(len as usize, |i| i as f64 * 0.5).expect("memory");
        assert_eq!(from_fn.host::<f64>().unwrap(), values);
    }
}

#[test]
fn every_element_type_round_trips() {
    fn check<T: Pod + PartialEq + std::fmt::Debug>(values: [T; 3]) {
        let storage = Storage::from_slice(&values).expect("memory");
        assert_eq!(storage.len_bytes(), 3 * size_of::<T>());
        assert_eq!(storage.host::<T>().unwrap(), values);
    }
    check([0u8, 1, u8::MAX]);
    check([i8::MIN, -1, i8::MAX]);
    check([0u16, 1, u16::MAX]);
    check([0u32, 1, u32::MAX]);
    check([i32::MIN, -1, i32::MAX]);
    check([0u64, 1, u64::MAX]);
    check([i64::MIN, -1, i64::MAX]);
    check([-0.5f32, 1e-40, f32::INFINITY]);
    check([-0.5f64, 1e-310, f64::INFINITY]);
    check([-0.5, 1.0, 65504.0].map(f16::from_f32));
    check([-0.5, 1.0, 3e38].map(bf16::from_f32));
    check([1.0f32, 2.0, 3.0].map(|x| Complex::new(x, -x)));
    check([1.0f64, 2.0, 3.0].map(|x| Complex::new(x, -x)));
}

#[test]
fn the_bytes_can_be_read_as_any_type() {
    let storage = Storage::from_slice(&[1.0f32, -2.0, 0.5]).expect("memory");
    assert_eq!(storage.host::<u32>().unwrap(), [0x3f80_0000, 0xc000_0000, 0x3f00_0000]);
    assert_eq!(storage.host::<Complex<f32>>().unwrap(), [Complex::new(1.0, -2.0)]);
    assert_eq!(storage.host::<f64>().unwrap().len(), 1);
    assert_eq!(storage.host::<Complex<f64>>().unwrap(), []);
    assert_eq!(storage.host::<u8>().unwrap().len(), 12);
}

#[test]
fn a_storage_may_be_empty() {
    let (mut a, b) = (zeroed(0), Storage::from_slice::<f64>(&[]).expect("memory"));
    assert_eq!((a.len_bytes(), b.len_bytes()), (0, 0));
    assert_eq!(a.host::<f64>().unwrap(), []);
    assert_eq!(a.get_mut_slice::<u64>(), Some(&mut [][..]));
    assert!(a.ptr_eq(&a.clone()) && !a.ptr_eq(&b));
}

#[test]
#[cfg_attr(miri, ignore = "a failed allocation ends the program under Miri")]
fn lengths_beyond_memory_are_refused() {
    let near_overflow = [usize::MAX, usize::MAX - 47, usize::MAX - 63];
    for bytes in near_overflow.into_iter().chain([1 << 63, isize::MAX as usize, 1 << 60]) {
        assert!(Storage::zeroed(bytes).is_none(), "{bytes}");
        assert!(Storage::from_fn(bytes, |_| -> u8 { unreachable!() }).is_none(), "{bytes}");
    }
    for len in [usize::MAX, usize::MAX / 16 + 1, usize::MAX / 8 + 2, 1 << 61] {
        assert!(Storage::from_fn(len, |_| -> Complex<f64> { unreachable!() }).is_none(), "{len}");
    }
}

#[test]
fn only_an_unshared_storage_is_writable() {
    for len in [8, 192, 193, 4096] {
        let mut a = zeroed(len);
        assert!(a.is_unique());
        let mut b = a.clone();
        assert!(a.ptr_eq(&b) && !a.is_unique() && !b.is_unique());
        assert!(a.get_mut_slice::<u8>().is_none() && b.get_mut_slice::<u8>().is_none());
        drop(b);
        a.get_mut_slice::<u8>().expect("unique again")[len - 1] = 3;
        assert_eq!(a.host::<u8>().unwrap()[len - 1], 3);
    }
    assert_eq!(format!("{:?}", zeroed(12)), "Storage { len_bytes: 12, .. }");
}

#[test]
fn a_panic_while_filling_is_passed_on() {
    for len in [4, 4000] {
        let fill = |i: usize| if i < 3 { 1.0f32 } else { panic!("no more") };
        assert!(catch_unwind(|| Storage::from_fn(len, fill)).is_err());
    }
}

#[test]
fn all_threads_read_the_bytes_that_one_wrote() {
    for len in [10, 1000] {
        let storage = Storage::from_fn(len, |i| i as u64).expect("memory");
        let sums: Vec<u64> = thread::scope(|scope| {
            let sum = |copy: Storage| move || copy.host::<u64>().unwrap().iter().sum();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(sum(storage.clone()))).collect();
            threads.into_iter().map(|thread| thread.join().expect("sum")).collect()
        });
        assert_eq!(sums, [(len * (len - 1) / 2) as u64; 8]);
        assert!(storage.is_unique());
    }
}

#[test]
fn the_last_owner_may_write_bytes_that_former_owners_read() {
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        let mut a = zeroed(1024);
        let b = a.clone();
        thread::scope(|scope| {
            scope.spawn(move || assert!(b.host::<u8>().unwrap().iter().all(|&byte| byte == 0)));
            loop {
                if let Some(bytes) = a.get_mut_slice::<u8>() {
                    break bytes.fill(1);
                }
                thread::yield_now();
            }
        });
        assert_eq!(a.host::<u8>().unwrap(), [1; 1024]);
    }
}
