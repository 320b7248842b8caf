//! The contract of a handle: one value, dropped exactly once, writable only when unshared.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use gradus_mem::Handle;

/// Adds one to a counter when dropped.
struct Counts<'a>(&'a AtomicUsize, u64);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn is_one_pointer_even_in_an_option() {
    assert_eq!(size_of::<Handle<[u64; 25]>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Handle<[u64; 25]>>>(), size_of::<usize>());
}

#[test]
fn clones_share_one_value() {
    let a = Handle::new(String::from("seven"));
    let (b, c) = (a.clone(), Handle::new(String::from("seven")));
    assert!(a.ptr_eq(&b) && !a.ptr_eq(&c));
    assert_eq!(a.addr(), b.addr());
    assert_eq!(a.as_ptr(), &raw const *b);
    assert_ne!(a.addr(), c.addr());
    assert_eq!((a.len(), &**b), (5, "seven"));
    assert_eq!(format!("{a:?}"), "\"seven\"");
}

#[test]
fn only_a_unique_handle_is_writable() {
    let mut a = Handle::new(1);
    *a.get_mut().expect("unique") = 2;
    let mut b = a.clone();
    assert!(!a.is_unique() && a.get_mut().is_none() && b.get_mut().is_none());
    drop(b);
    assert!(a.is_unique());
    *a.get_mut().expect("unique again") += 1;
    assert_eq!(*a, 3);
}

#[test]
fn into_inner_moves_out_without_dropping() {
    let drops = AtomicUsize::new(0);
    let a = Handle::new(Counts(&drops, 9));
    let b = a.clone();
    assert!(a.into_inner().is_none());
    let value = b.into_inner().expect("the last handle");
    assert_eq!((value.1, drops.load(Relaxed)), (9, 0));
    drop(value);
    assert_eq!(drops.load(Relaxed), 1);
}

#[test]
fn a_value_that_is_never_freed_has_no_last_owner() {
    static KEPT: std::sync::OnceLock<Handle<Vec<u64>>> = std::sync::OnceLock::new();
    let kept = KEPT.get_or_init(|| Handle::forever(vec![1, 2, 3]));
    for _ in 0..3 {
        assert_eq!(kept.clone().iter().sum::<u64>(), 6);
        drop(kept.clone());
    }
    assert!(!kept.is_unique());
    assert_eq!(kept.clone().into_inner(), None);
    assert_eq!(kept.clone().get_mut(), None);
    assert_eq!(kept.to_vec(), [1, 2, 3]);
}

#[test]
fn any_size_and_alignment_works() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(4096))]
    struct Page(u8);

    let pages: Vec<_> = (0..9).map(|i| Handle::new(Page(i))).collect();
    for (i, page) in pages.iter().enumerate() {
        assert_eq!((page.addr() % 4096, page.0), (0, i as u8));
    }
    assert_eq!(Handle::new(()).into_inner(), Some(()));
    let big = Handle::new([3u64; 1 << 14]);
    assert_eq!(big.iter().sum::<u64>(), 3 << 14);
}

#[test]
fn handles_nest() {
    struct Node(Option<Handle<Node>>, u64);
    let mut list = Handle::new(Node(None, 0));
    for i in 1..=1000 {
        list = Handle::new(Node(Some(list), i));
    }
    let (mut at, mut sum) = (Some(&list), 0);
    while let Some(node) = at {
        sum += node.1;
        at = node.0.as_ref();
    }
    assert_eq!(sum, 500_500);
}

#[test]
fn a_panic_in_drop_is_passed_on() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    let bomb = Handle::new(Bomb);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(bomb))).is_err());
}

#[test]
fn threads_cloning_and_dropping_drop_each_value_once() {
    const THREADS: usize = 8;
    const VALUES: usize = if cfg!(miri) { 5 } else { 50 };
    let drops = AtomicUsize::new(0);
    let values: Vec<_> = (0..VALUES).map(|i| Handle::new(Counts(&drops, i as u64))).collect();
    thread::scope(|scope| {
        for t in 0..THREADS {
            let mut mine = values.clone();
            scope.spawn(move || {
                for round in 0..if cfg!(miri) { 10 } else { 200 } {
                    let at = (t * 7 + round * 3) % VALUES;
                    let copies = mine.clone();
                    assert_eq!(copies[at].1, at as u64);
                    mine = copies;
                }
            });
        }
        drop(values);
    });
    assert_eq!(drops.load(Relaxed), VALUES);
}

#[test]
fn the_last_owner_sees_all_writes() {
    for round in 0..if cfg!(miri) { 10 } else { 500 } {
        let drops = AtomicUsize::new(0);
        let start = Barrier::new(3);
        let handle = Handle::new(([const { AtomicUsize::new(0) }; 3], Counts(&drops, round)));
        let taken = AtomicUsize::new(0);
        thread::scope(|scope| {
            for t in 0..3 {
                let (handle, start, taken) = (handle.clone(), &start, &taken);
                scope.spawn(move || {
                    start.wait();
                    handle.0[t].store(t + 1, Relaxed);
                    if let Some((slots, counts)) = handle.into_inner() {
                        assert_eq!(slots.map(AtomicUsize::into_inner), [1, 2, 3]);
                        assert_eq!(counts.1, round);
                        taken.fetch_add(1, Relaxed);
                    }
                });
            }
            drop(handle);
        });
        // The handle of this thread may have been the last; then no other thread's was.
        assert!(taken.load(Relaxed) <= 1);
        assert_eq!(drops.load(Relaxed), 1);
    }
}
