//! Checks sizes that a caller requests, before memory of that size is allocated. Takes a number of bytes or
//! elements, or types; returns an error of kind `Memory` if memory cannot hold them. `Shape::checked_numel`
//! checks that extents multiply without overflow when types are inferred.

use crate::{Aval, Error, Kind, Result};

/// Largest size of one value, in bytes. A larger request is a mistake, and could exhaust the system even where the
/// allocator grants it.
pub const MAX_BYTES: usize = match 1usize.checked_shl(40) {
    Some(bytes) => bytes,
    None => isize::MAX as usize,
};

/// Requests up to this size are accepted without asking the allocator.
const LARGE_BYTES: usize = 1 << 28;

/// Returns an error if memory cannot hold `bytes` bytes; an allocation that fails later would abort the process.
#[inline]
pub fn check_bytes(bytes: usize) -> Result<()> {
    let fits =
        bytes <= LARGE_BYTES || (bytes <= MAX_BYTES && Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if fits { Ok(()) } else { Err(Error::new(Kind::Memory { bytes })) }
}

/// Calls [`check_bytes`] for `count` elements of `size` bytes each.
#[inline]
pub fn check_elements(count: usize, size: usize) -> Result<()> {
    check_bytes(count.saturating_mul(size))
}

/// Calls [`check_bytes`] for each value of these types.
pub fn check_values(avals: &[Aval]) -> Result<()> {
    avals.iter().try_for_each(|a| check_elements(a.shape.numel(), a.dtype.size()))
}

/// Collects the first `count` elements, or returns an error if memory cannot hold them.
pub fn collect<T>(count: usize, elements: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let bytes = count.saturating_mul(size_of::<T>());
    let mut all = Vec::new();
    if bytes > MAX_BYTES || all.try_reserve_exact(count).is_err() {
        return Err(Error::new(Kind::Memory { bytes }));
    }
    all.extend(elements.into_iter().take(count));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    fn is_memory(result: Result<()>) -> bool {
        matches!(result, Err(e) if matches!(e.kind(), Kind::Memory { .. }))
    }

    #[test]
    fn sizes_beyond_memory_are_refused() {
        for bytes in [MAX_BYTES + 1, isize::MAX as usize, isize::MAX as usize + 1, usize::MAX] {
            assert!(is_memory(check_bytes(bytes)), "{bytes} bytes");
            assert!(is_memory(check_elements(bytes / 2, 4)), "{bytes} / 2 elements");
            assert!(is_memory(collect(bytes, std::iter::repeat(0u8)).map(drop)), "{bytes} bytes");
        }
        assert!(is_memory(check_elements(usize::MAX, usize::MAX)));
        assert!(is_memory(check_values(&[Aval::new(DType::F32, [1 << 39])])));
    }

    #[test]
    fn small_sizes_are_granted() {
        check_bytes(LARGE_BYTES).unwrap();
        check_elements(usize::MAX, 0).unwrap();
        check_values(&[Aval::new(DType::F32, [0, 1 << 50]), Aval::new(DType::F32, [3])]).unwrap();
        assert_eq!(collect(3, (0..).map(|i| i * i)).unwrap(), [0, 1, 4]);
    }
}
