//! Memory shared with NumPy by its array structure, in fewer steps than by DLPack, which is for everybody else.
//!
//! An array of ours holds a clone of the storage, so that nobody writes to it and it lives as long as the array. A tensor of
//! theirs holds what the array gave, and with it the array.

use crate::error::{raise, type_error};
use gradus::mem::Storage;
use gradus::{Aval, DType, Memory, Shape, Tensor};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Flags of NumPy's.
const ALIGNED: i32 = 0x100;
const NATIVE: i32 = 0x200;
const WRITEABLE: i32 = 0x400;

/// Most axes of what is taken in.
const MOST_AXES: usize = 64;

/// `PyArrayInterface`.
#[repr(C)]
struct Interface {
    two: i32,
    nd: i32,
    kind: u8,
    size: i32,
    flags: i32,
    shape: *mut isize,
    strides: *mut isize,
    data: *mut c_void,
    descr: *mut ffi::PyObject,
}

/// NumPy's kind of each dtype; with the size it says which.
const KINDS: &[(DType, u8)] = &[
    (DType::I8, b'i'),
    (DType::I32, b'i'),
    (DType::I64, b'i'),
    (DType::U8, b'u'),
    (DType::U32, b'u'),
    (DType::F16, b'f'),
    (DType::F32, b'f'),
    (DType::F64, b'f'),
    (DType::C64, b'c'),
    (DType::C128, b'c'),
    (DType::Bool, b'b'),
];

/// What an array of ours is of.
#[pyclass(frozen, module = "gradus")]
struct Shared {
    memory: Memory,
    shape: Vec<isize>,
    /// In bytes.
    strides: Vec<isize>,
    kind: u8,
}

/// Frees the structure and lets go of what it describes.
unsafe extern "C" fn free(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once with a capsule of `__array_struct__`, which made the box and counted an owner.
    unsafe {
        drop(Box::from_raw(ffi::PyCapsule_GetPointer(capsule, std::ptr::null()).cast::<Interface>()));
        ffi::Py_DecRef(ffi::PyCapsule_GetContext(capsule).cast());
    }
}

#[pymethods]
impl Shared {
    #[getter]
    fn __array_struct__<'py>(slf: &Bound<'py, Shared>) -> PyResult<Bound<'py, PyAny>> {
        let own = slf.get();
        let all = Interface {
            two: 2,
            nd: own.shape.len() as i32,
            kind: own.kind,
            size: own.memory.aval.dtype.size() as i32,
            flags: ALIGNED | NATIVE,
            shape: own.shape.as_ptr().cast_mut(),
            strides: own.strides.as_ptr().cast_mut(),
            data: own.memory.storage.as_ptr().wrapping_add(own.memory.offset).cast(),
            descr: std::ptr::null_mut(),
        };
        // SAFETY: what the structure points at is never changed and lives as long as `slf`, of which the capsule is an owner.
        unsafe {
            let all = Box::into_raw(Box::new(all));
            let capsule = ffi::PyCapsule_New(all.cast(), std::ptr::null(), None);
            let capsule =
                Bound::from_owned_ptr_or_err(slf.py(), capsule).inspect_err(|_| drop(Box::from_raw(all)))?;
            ffi::PyCapsule_SetContext(capsule.as_ptr(), slf.clone().into_ptr().cast());
            ffi::PyCapsule_SetDestructor(capsule.as_ptr(), Some(free));
            Ok(capsule)
        }
    }
}

/// Something of NumPy's.
fn of_numpy<'py>(
    py: Python<'py>,
    lock: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let it = lock.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr(name)?.unbind()))?;
    Ok(it.bind(py).clone())
}

/// A NumPy array of a tensor's memory, not to be written.
pub(crate) fn numpy<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let memory = raise(t.memory())?;
    let dtype = memory.aval.dtype;
    let Some(&(_, kind)) = KINDS.iter().find(|(d, _)| *d == dtype) else {
        return Err(type_error("NumPy has no bfloat16; convert with float() first"));
    };
    let shape = memory.aval.shape.iter().map(|&d| d as isize).collect();
    let strides = memory.strides.iter().map(|&s| s as isize * dtype.size() as isize).collect();
    let shared = Bound::new(py, Shared { memory, shape, strides, kind })?;
    of_numpy(py, &ASARRAY, "asarray")?.call1((shared,))
}

/// Whether it is an array of NumPy's, or says that it is like one.
pub(crate) fn is_array(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    // Asked of the type, since an array would make one to answer.
    Ok(is_exact(obj)? || obj.get_type().hasattr(intern!(obj.py(), "__array_interface__"))?)
}

fn is_exact(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(obj.get_type().is(&of_numpy(obj.py(), &NDARRAY, "ndarray")?))
}

/// A tensor of an array's memory; `None` where something is to be said or done about the array first, as DLPack does.
pub(crate) fn taken(obj: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if !is_exact(obj)? {
        return Ok(None);
    }
    let capsule = obj.getattr(intern!(obj.py(), "__array_struct__"))?;
    let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
    let all: NonNull<Interface> = capsule.pointer_checked(None)?.cast();
    // SAFETY: NumPy's own array gives a structure of this kind, which lives as long as the capsule.
    let all = unsafe { all.as_ref() };
    let (size, nd) = (all.size as isize, all.nd as usize);
    let known = KINDS.iter().find(|(d, kind)| *kind == all.kind && d.size() as isize == size);
    let plain = all.flags & (ALIGNED | NATIVE | WRITEABLE) == ALIGNED | NATIVE | WRITEABLE;
    let Some(&(dtype, _)) = known.filter(|(d, _)| plain && nd <= MOST_AXES && *d != DType::Bool) else {
        return Ok(None);
    };
    let (mut shape, mut strides, mut first, mut last) = (Vec::new(), Vec::new(), 0, 0);
    for axis in 0..nd {
        // SAFETY: an array has as many extents and strides as it has axes.
        let (extent, stride) = unsafe { (*all.shape.add(axis), *all.strides.add(axis)) };
        if extent == 0 || stride % size != 0 {
            return Ok(None);
        }
        let reach = (extent - 1) * stride;
        if reach < 0 {
            first += reach
        } else {
            last += reach
        }
        shape.push(extent as usize);
        strides.push((stride / size) as i64);
    }
    let Some(start) = NonNull::new(all.data.cast::<u8>().wrapping_offset(first)) else { return Ok(None) };
    // SAFETY: the elements lie from `start` on for as many bytes, as long as the array does, which the capsule holds. That
    // nobody writes them while they are read is what sharing memory asks of the caller, as everywhere in Python.
    let storage =
        unsafe { Storage::foreign(start, (last - first + size) as usize, Box::new(capsule.unbind())) };
    let Some(storage) = storage else { return Ok(None) };
    let aval = Aval::new(dtype, Shape::from(shape));
    raise(Tensor::from_memory(Memory { storage, offset: -first as usize, strides, aval }).check().cloned())
        .map(Some)
}
