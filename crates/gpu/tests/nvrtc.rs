//! Loads NVRTC if it is installed. `GRADUS_NVRTC` may name the library; otherwise the system's loader searches for it.

use libloading::{Library, Symbol};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null;

pub(crate) struct Nvrtc(Library);

type Program = *mut c_void;

impl Nvrtc {
    /// Loads the library. If it is missing, tests are skipped, or fail if `GRADUS_ORACLES=required`.
    pub(crate) fn load() -> Option<Nvrtc> {
        let named = std::env::var("GRADUS_NVRTC").ok();
        let names =
            named.into_iter().chain(["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(String::from));
        // SAFETY: loading a library runs its initialisers; those of NVRTC access no memory of this program.
        let found = names.into_iter().find_map(|name| unsafe { Library::new(name).ok() });
        if found.is_none() {
            println!("skipped: NVRTC is not installed");
            assert!(std::env::var("GRADUS_ORACLES").as_deref() != Ok("required"), "NVRTC is required");
        }
        found.map(Nvrtc)
    }

    /// Compiles a text. Returns the compiler's log if that fails.
    pub(crate) fn compile(&self, text: &str) -> Result<(), String> {
        let source = CString::new(text).expect("text without zeros");
        let options = ["--gpu-architecture=compute_80", "--fmad=false", "--std=c++17"];
        let options: Vec<CString> = options.iter().map(|o| CString::new(*o).expect("no zeros")).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: NVRTC 11 to 13 define the functions with these types, and all pointers are valid during the calls.
        unsafe {
            type Create = unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int;
            type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
            type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
            type Log = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
            type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
            let create: Symbol<'_, Create> = self.0.get(b"nvrtcCreateProgram\0").expect("a function");
            let compile: Symbol<'_, Compile> = self.0.get(b"nvrtcCompileProgram\0").expect("a function");
            let size: Symbol<'_, Size> = self.0.get(b"nvrtcGetProgramLogSize\0").expect("a function");
            let log: Symbol<'_, Log> = self.0.get(b"nvrtcGetProgramLog\0").expect("a function");
            let destroy: Symbol<'_, Destroy> = self.0.get(b"nvrtcDestroyProgram\0").expect("a function");
            let made = create(&mut program, source.as_ptr(), null(), 0, null(), null());
            assert_eq!(made, 0, "nvrtcCreateProgram");
            let result = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let mut bytes = 0;
            size(program, &mut bytes);
            let mut text = vec![0u8; bytes.max(1)];
            log(program, text.as_mut_ptr().cast());
            destroy(&mut program);
            match result {
                0 => Ok(()),
                _ => Err(String::from_utf8_lossy(&text).into_owned()),
            }
        }
    }
}
