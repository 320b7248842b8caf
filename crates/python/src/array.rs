//! Shares memory with NumPy through its C structures, which is faster than DLPack (`dlpack.rs`, for other
//! libraries).
//!
//! A NumPy array of a tensor's memory holds a clone of the storage, which keeps it alive and prevents writes.
//! A tensor of an array's memory holds a reference to the array.

use crate::error::{raise, type_error};
use gradus::mem::Storage;
use gradus::{Aval, DType, Memory, Shape, Tensor};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::{c_int, c_long, c_void};
use std::ptr::NonNull;

/// NumPy's array flags.
const ALIGNED: i32 = 0x100;
const NATIVE: i32 = 0x200;
const WRITEABLE: i32 = 0x400;

/// Largest number of axes accepted.
const MAX_AXES: usize = 64;

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

/// NumPy's kind (which together with the size identifies a dtype) and type number of each dtype.
const KINDS: &[(DType, u8, c_int)] = &[
    (DType::I8, b'i', 1),
    (DType::I32, b'i', 5),
    (DType::I64, b'i', if size_of::<c_long>() == 8 { 7 } else { 9 }),
    (DType::U8, b'u', 2),
    (DType::U32, b'u', 6),
    (DType::F16, b'f', 23),
    (DType::F32, b'f', 11),
    (DType::F64, b'f', 12),
    (DType::C64, b'c', 14),
    (DType::C128, b'c', 15),
    (DType::Bool, b'b', 0),
];

/// The owner of the memory of an exported array.
#[pyclass(frozen, module = "gradus")]
struct Shared(#[expect(dead_code, reason = "keeps the memory alive as long as the array")] Memory);

/// Returns an attribute of NumPy.
fn of_numpy<'py>(
    py: Python<'py>,
    lock: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let it = lock.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr(name)?.unbind()))?;
    Ok(it.bind(py).clone())
}

/// NumPy's table of C functions, whose indices are the same in all versions.
struct Functions(NonNull<c_void>);

// SAFETY: the table is constant, in a library that is never unloaded.
unsafe impl Send for Functions {}
// SAFETY: the table is constant, in a library that is never unloaded.
unsafe impl Sync for Functions {}

impl Functions {
    fn of(py: Python<'_>) -> PyResult<&'static Functions> {
        static FUNCTIONS: PyOnceLock<Functions> = PyOnceLock::new();
        FUNCTIONS.get_or_try_init(py, || {
            let module = py.import("numpy._core._multiarray_umath");
            let module = module.or_else(|_| py.import("numpy.core._multiarray_umath"))?; // before NumPy 2
            let table = module.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
            Ok(Functions(table.pointer_checked(None)?))
        })
    }

    /// Reads an entry of the table.
    ///
    /// # Safety
    ///
    /// The entry is a pointer of type `T`.
    unsafe fn at<T: Copy>(&self, index: usize) -> T {
        // SAFETY: the table is an array of pointers, longer than every index used; the caller guarantees `T`.
        unsafe { self.0.cast::<T>().add(index).read() }
    }
}

/// Indices in this table of `PyArray_Type`, `PyArray_DescrFromType`, `PyArray_NewFromDescr`, `PyArray_SetBaseObject`.
const TYPE: usize = 2;
const DTYPE_OF: usize = 45;
const NEW: usize = 94;
const SET_BASE: usize = 282;
type DTypeOf = unsafe extern "C" fn(c_int) -> *mut ffi::PyObject;
type New = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type SetBase = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

/// Makes a read-only NumPy array of a tensor's memory.
pub(crate) fn numpy<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let memory = raise(t.memory())?;
    let dtype = memory.aval.dtype;
    let Some(&(_, _, number)) = KINDS.iter().find(|(d, ..)| *d == dtype) else {
        return Err(type_error("NumPy has no bfloat16; convert with float() first"));
    };
    let shape: Vec<isize> = memory.aval.shape.iter().map(|&d| d as isize).collect();
    let strides: Vec<isize> = memory.strides.iter().map(|&s| s as isize * dtype.size() as isize).collect();
    let Some(bytes) = memory.storage.host::<u8>() else {
        return Err(type_error("the memory of another device has no NumPy array; use Tensor.cpu() first"));
    };
    let data = bytes.as_ptr().wrapping_add(memory.offset).cast_mut().cast();
    let (all, rank) = (Functions::of(py)?, shape.len() as c_int);
    let owner = Bound::new(py, Shared(memory))?;
    // SAFETY: the table entries are these functions, called with one extent and stride per axis. The array
    // takes ownership of the dtype and its base. Strides stay within the storage, which the base keeps alive.
    unsafe {
        let dtype = all.at::<DTypeOf>(DTYPE_OF)(number);
        let (shape, strides, none) = (shape.as_ptr(), strides.as_ptr(), std::ptr::null_mut());
        let array = all.at::<New>(NEW)(all.at(TYPE), dtype, rank, shape, strides, data, ALIGNED, none);
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        match all.at::<SetBase>(SET_BASE)(array.as_ptr(), owner.into_ptr()) {
            0 => Ok(array),
            _ => Err(PyErr::fetch(py)),
        }
    }
}

/// Returns true if an object is a NumPy array, or has NumPy's array interface.
pub(crate) fn is_array(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    // Checks the type, because an array creates its interface when the attribute is read.
    Ok(is_exact(obj)? || obj.get_type().hasattr(intern!(obj.py(), "__array_interface__"))?)
}

fn is_exact(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(obj.get_type().is(&of_numpy(obj.py(), &NDARRAY, "ndarray")?))
}

/// Makes a tensor that shares an array's memory. Returns `None` if the array must be converted or is invalid;
/// then the import by DLPack copies it or reports the error.
pub(crate) fn share(obj: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if !is_exact(obj)? {
        return Ok(None);
    }
    let capsule = obj.getattr(intern!(obj.py(), "__array_struct__"))?;
    let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
    let all: NonNull<Interface> = capsule.pointer_checked(None)?.cast();
    // SAFETY: NumPy's array returns a structure of this type, which lives as long as the capsule.
    let all = unsafe { all.as_ref() };
    let (size, nd) = (all.size as isize, all.nd as usize);
    let known = KINDS.iter().find(|(d, kind, _)| *kind == all.kind && d.size() as isize == size);
    let plain = all.flags & (ALIGNED | NATIVE | WRITEABLE) == ALIGNED | NATIVE | WRITEABLE;
    let Some(&(dtype, ..)) = known.filter(|(d, ..)| plain && nd <= MAX_AXES && *d != DType::Bool) else {
        return Ok(None);
    };
    let (mut shape, mut strides, mut first, mut last) = (Vec::new(), Vec::new(), 0, 0);
    for axis in 0..nd {
        // SAFETY: an array has one extent and stride per axis.
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
    // SAFETY: the elements occupy these bytes from `start` on, as long as the array lives, which the capsule
    // keeps alive. The caller must not write them while they are read, as for all shared memory in Python.
    let storage =
        unsafe { Storage::foreign(start, (last - first + size) as usize, Box::new(capsule.unbind())) };
    let Some(storage) = storage else { return Ok(None) };
    let aval = Aval::new(dtype, Shape::from(shape));
    raise(Tensor::from_memory(Memory { storage, offset: -first as usize, strides, aval }).check().cloned())
        .map(Some)
}
