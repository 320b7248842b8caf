//! Shares memory with other libraries by DLPack.
//!
//! An exported capsule holds a clone of the storage. The clone keeps the memory alive, and Gradus writes only
//! to storages that are not shared. An imported tensor owns the exported structure, and calls its deleter
//! when the last tensor of that memory is dropped.

use crate::error::{raise, type_error};
use gradus::mem::Storage;
use gradus::{Aval, DType, Memory, Shape, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// DLPack's device type and number of the CPU.
pub(crate) const CPU: (i32, i32) = (1, 0);

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// The flag of read-only memory.
const READ_ONLY: u64 = 1;

/// Largest number of axes accepted.
const MAX_AXES: usize = 64;

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: (i32, i32),
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    version: (u32, u32),
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// DLPack's type code and bits of each dtype.
const CODES: &[(DType, u8, u8)] = &[
    (DType::I8, 0, 8),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::U8, 1, 8),
    (DType::U32, 1, 32),
    (DType::F16, 2, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
    (DType::BF16, 4, 16),
    (DType::C64, 5, 64),
    (DType::C128, 5, 128),
    (DType::Bool, 6, 8),
];

/// Owned by an exported capsule; its address is the capsule's context.
struct Exported {
    memory: Memory,
    shape: Vec<i64>,
}

fn describe(kept: &mut Exported) -> PyResult<DlTensor> {
    let dtype = kept.memory.aval.dtype;
    let Some(&(_, code, bits)) = CODES.iter().find(|(d, ..)| *d == dtype) else {
        return Err(PyBufferError::new_err(format!(
            "{} does not exist in DLPack",
            crate::dtype::name(dtype)
        )));
    };
    let Some(all) = kept.memory.storage.host::<u8>() else {
        return Err(PyBufferError::new_err("the memory of another device cannot be shared by DLPack"));
    };
    Ok(DlTensor {
        data: all.as_ptr().wrapping_add(kept.memory.offset).cast_mut().cast(),
        device: CPU,
        ndim: kept.shape.len() as i32,
        code,
        bits,
        lanes: 1,
        shape: kept.shape.as_mut_ptr(),
        strides: kept.memory.strides.as_mut_ptr(),
        byte_offset: 0,
    })
}

unsafe extern "C" fn free(managed: *mut Managed) {
    // SAFETY: `export` made both boxes, and a deleter is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Exported>()));
    }
}

unsafe extern "C" fn free_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: as in `free`.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Exported>()));
    }
}

/// Frees the contents of a capsule that was never consumed. A consumed capsule has been renamed.
unsafe extern "C" fn free_unconsumed(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with the capsule, whose name determines the type of its pointer; we own it
    // until it is renamed.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            free(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            free_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

/// Returns an error for tensors on other devices, whose memory has no host address.
pub(crate) fn of_host(t: &Tensor) -> PyResult<()> {
    match t.device() {
        gradus::Device::CPU => Ok(()),
        other => Err(PyBufferError::new_err(format!(
            "a tensor on {other} cannot be shared by DLPack; use Tensor.cpu() to copy it to host memory first"
        ))),
    }
}

/// Makes a capsule with the tensor's memory.
pub(crate) fn export<'py>(
    py: Python<'py>,
    t: &Tensor,
    max_version: Option<(u32, u32)>,
    copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if t.requires_grad() {
        return Err(PyBufferError::new_err(
            "a tensor that requires grad cannot be exported; call detach() first",
        ));
    }
    of_host(t)?;
    let t = if copy {
        raise(Tensor::from_bytes(&raise(t.memory())?.aval, &raise(t.to_bytes())?).check().cloned())?
    } else {
        t.clone()
    };
    let memory = raise(t.memory())?;
    let shape = memory.aval.shape.iter().map(|&d| d as i64).collect();
    let mut kept = Box::new(Exported { memory, shape });
    let tensor = describe(&mut kept)?;
    let context = Box::into_raw(kept).cast::<c_void>();
    let (pointer, name) = if max_version.is_some_and(|(major, _)| major >= 1) {
        let flags = if copy { 0 } else { READ_ONLY };
        let deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)> = Some(free_versioned);
        let all = ManagedVersioned { version: (1, 0), context, deleter, flags, tensor };
        (Box::into_raw(Box::new(all)).cast::<c_void>(), VERSIONED)
    } else {
        let deleter: Option<unsafe extern "C" fn(*mut Managed)> = Some(free);
        (Box::into_raw(Box::new(Managed { tensor, context, deleter })).cast::<c_void>(), NAME)
    };
    // SAFETY: the pointer is a box, which is freed by its deleter: in the capsule's destructor, or by the
    // consumer.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(free_unconsumed));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// A structure that another library exported, owned here.
enum ImportedTensor {
    Plain(NonNull<Managed>),
    Versioned(NonNull<ManagedVersioned>),
}

// SAFETY: DLPack's deleters may be called from any thread; those of Python libraries acquire the GIL
// themselves.
unsafe impl Send for ImportedTensor {}
// SAFETY: a shared reference gives no access to the structure.
unsafe impl Sync for ImportedTensor {}

impl Drop for ImportedTensor {
    fn drop(&mut self) {
        // Acquires the GIL, which the deleters of Python objects need.
        Python::attach(|_| {
            // SAFETY: we own the structure that the capsule contained, and drop runs once.
            unsafe {
                match self {
                    ImportedTensor::Plain(m) => {
                        if let Some(deleter) = m.as_ref().deleter {
                            deleter(m.as_ptr());
                        }
                    }
                    ImportedTensor::Versioned(m) => {
                        if let Some(deleter) = m.as_ref().deleter {
                            deleter(m.as_ptr());
                        }
                    }
                }
            }
        });
    }
}

/// Makes a tensor of another library's array: of the same memory, or of a copy.
pub(crate) fn import(obj: &Bound<'_, PyAny>, copy: bool) -> PyResult<Tensor> {
    let py = obj.py();
    let device: (i32, i32) = obj.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
    if device.0 != CPU.0 {
        return Err(PyBufferError::new_err("only memory of the CPU can be shared"));
    }
    let kept = pyo3::types::PyDict::new(py);
    kept.set_item(intern!(py, "max_version"), (1, 0))?;
    let capsule = match obj.call_method(intern!(py, "__dlpack__"), (), Some(&kept)) {
        Ok(c) => c,
        Err(_) => obj.call_method0(intern!(py, "__dlpack__"))?, // protocol without versions
    };
    let capsule =
        capsule.cast::<PyCapsule>().map_err(|_| type_error("__dlpack__ did not return a capsule"))?;
    let versioned = capsule.is_valid_checked(Some(VERSIONED));
    let pointer = capsule.pointer_checked(Some(if versioned { VERSIONED } else { NAME }))?;
    let (name, taken) = match versioned {
        true => (USED_VERSIONED, ImportedTensor::Versioned(pointer.cast())),
        false => (USED, ImportedTensor::Plain(pointer.cast())),
    };
    // SAFETY: the capsule is alive; renaming marks its contents as consumed.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name.as_ptr()) } != 0 {
        std::mem::forget(taken);
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the name determines the type of the structure, which we own since the renaming.
    let tensor = unsafe {
        match &taken {
            ImportedTensor::Plain(m) => &m.as_ref().tensor,
            ImportedTensor::Versioned(m) => &m.as_ref().tensor,
        }
    };
    let tensor: *const DlTensor = tensor;
    // SAFETY: the structure lives as long as `taken`, which is moved into the storage or dropped at the end.
    unsafe { shared(&*tensor, taken, copy) }
}

/// Makes a tensor of an imported array: of its memory, or of a copy.
///
/// # Safety
///
/// `tensor` is an exported structure, and lives as long as `taken`.
unsafe fn shared(tensor: &DlTensor, taken: ImportedTensor, copy: bool) -> PyResult<Tensor> {
    let (ndim, code) = (tensor.ndim as usize, (tensor.code, tensor.bits));
    if tensor.ndim < 0 || ndim > MAX_AXES || tensor.lanes != 1 || tensor.device.0 != CPU.0 {
        let why = "the array must be on the CPU, with at most 64 axes and one lane per element";
        return Err(PyBufferError::new_err(why));
    }
    let Some(&(dtype, ..)) = CODES.iter().find(|(_, c, b)| (*c, *b) == code) else {
        let why = format!("the DLPack type with code {} and {} bits has no dtype here", code.0, code.1);
        return Err(PyBufferError::new_err(why));
    };
    // SAFETY: a DLPack tensor has `ndim` extents, and as many strides unless the pointer is null (row-major).
    let (shape, strides) = unsafe {
        let list = |p: *mut i64| match p.is_null() || ndim == 0 {
            true => None,
            false => Some(std::slice::from_raw_parts(p, ndim).to_vec()),
        };
        (list(tensor.shape).unwrap_or_default(), list(tensor.strides))
    };
    let extents: Vec<usize> = shape.iter().map(|&d| usize::try_from(d).unwrap_or(0)).collect();
    let aval = Aval::new(dtype, Shape::from(extents));
    let strides = strides.unwrap_or_else(|| aval.shape.strides().iter().map(|&s| s as i64).collect());
    // The first and the last element that the strides reach, relative to the start.
    let size = dtype.size() as i64;
    let (mut first, mut last) = (0i64, 0i64);
    for (d, s) in shape.iter().zip(&strides) {
        let reach = (d - 1).max(0).saturating_mul(*s);
        if reach < 0 { first = first.saturating_add(reach) } else { last = last.saturating_add(reach) }
    }
    if aval.shape.numel() == 0 {
        return raise(Tensor::zeros_of(&aval).check().cloned());
    }
    let bytes = last.saturating_sub(first).saturating_add(1).saturating_mul(size) as usize;
    let start = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    let Some(start) = NonNull::new(start.wrapping_offset((first * size) as isize)) else {
        return Err(PyBufferError::new_err("the array has no memory"));
    };
    let offset = (-first * size) as usize;
    // SAFETY: the array's elements occupy `bytes` from `start` on until `taken` is dropped. The caller must
    // not write them while they are read, as for all shared memory in Python.
    let storage = unsafe {
        // Booleans are checked, because any byte other than 0 and 1 is not a valid value.
        if copy || dtype == DType::Bool {
            let bytes = std::slice::from_raw_parts(start.as_ptr(), bytes);
            if dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
                return Err(PyBufferError::new_err("a boolean must be stored as 0 or 1"));
            }
            Storage::from_slice(bytes)
        } else {
            match Storage::foreign(start, bytes, Box::new(taken)) {
                Some(storage) => Some(storage),
                None => {
                    return Err(PyBufferError::new_err(
                        "unaligned memory cannot be shared; copy the array first",
                    ));
                }
            }
        }
    };
    let Some(storage) = storage else { return Err(pyo3::exceptions::PyMemoryError::new_err("no memory")) };
    raise(Tensor::from_memory(Memory { storage, offset, strides, aval }).check().cloned())
}
