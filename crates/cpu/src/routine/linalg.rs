//! Computes factorisations by `gradus-linalg` if matrices are large enough. The reference evaluator factorises small
//! matrices.
//!
//! Matrices of dtypes that are computed in `f32` are factorised in `f32`, as LAPACK does. The reference factorises them
//! in `f64`.

use super::Call;
use gradus_ir::ops::linalg::{Factorisation, matrix_of_batch, not_positive_definite, singular};
use gradus_ir::{C, DType, Error, Result, stop};
use gradus_linalg::{Failure, Number, Size, Triangle};
use num_complex::Complex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Smallest extent of matrices that are factorised here.
const SMALLEST: usize = 16;

/// Number of multiplications above which a separate thread does the work, so that the caller can be interrupted.
const LONG: usize = 1 << 27;

/// Upper limit of the memory that a factorisation needs, results included, in multiples of the size of its operand.
const COPIES: usize = 8;

/// The elements of one result for one matrix.
enum Part<N> {
    Numbers(Vec<N>),
    Reals(Vec<f64>),
    Indices(Vec<usize>),
}

/// A function of matrices of one size.
#[derive(Clone, Copy)]
struct Task {
    kind: Factorisation,
    size: Size,
    /// The distance from 1 to the next number of the operands' dtype.
    epsilon: f64,
}

/// A function that factorises one matrix. It takes the elements of each operand and returns those of each result.
type Factorise<N> = fn(Task, &[Vec<N>]) -> std::result::Result<Vec<Part<N>>, Failure>;

/// Runs a function of matrices. Returns false if the reference must evaluate it instead.
///
/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn factorise(call: &Call<'_>, kind: Factorisation) -> Result<bool> {
    let a = call.operand_type(0);
    let (true, [.., rows, cols]) = (is_factorised(kind, a.dtype), &a.shape[..]) else {
        return Ok(false);
    };
    if *rows.min(cols) < SMALLEST {
        return Ok(false);
    }
    let size = Size { rows: *rows, cols: *cols, threads: call.pool.threads() };
    let task = Task { kind, size, epsilon: a.dtype.epsilon() };
    // SAFETY: each arm reads and writes elements of the operands' dtype, which the caller guarantees.
    unsafe {
        match a.dtype {
            DType::F32 => each(call, task, general::<f32>, 1e15, |x: f32| x, |x| x, |x| x as f32),
            DType::F64 => each(call, task, general::<f64>, 1e140, |x: f64| x, |x| x, |x| x),
            DType::C64 => {
                let narrow = |x: C| Complex::new(x.re as f32, x.im as f32);
                let wide = |x: Complex<f32>| C::new(x.re.into(), x.im.into());
                each(call, task, complex, 1e140, wide, narrow, |x| x as f32)
            }
            DType::C128 => each(call, task, complex, 1e140, |x: C| x, |x| x, |x| x),
            _ => Ok(false),
        }
    }
}

/// Returns true for functions that are implemented here. Excludes the QR factorisation of complex matrices with the
/// signs of LAPACK's `R`: these follow from LAPACK's reflections, which differ from those of `gradus-linalg`.
fn is_factorised(kind: Factorisation, dtype: DType) -> bool {
    match kind {
        Factorisation::Qr { reflected } => !(reflected && dtype.is_complex()),
        Factorisation::Adjugate => false,
        _ => true,
    }
}

/// Factorises the matrices of the operands one after the other. Returns false if an element of a matrix is not finite, or
/// if a nonzero element has a modulus outside of `1 / largest` to `largest`. Squares or reciprocals of such elements
/// could overflow.
///
/// # Safety
/// As for [`run`](super::run); `E` is the element type of the operands, and `R` that of their real parts.
unsafe fn each<E: Copy + 'static, N: Number + 'static, R: 'static>(
    call: &Call<'_>,
    task: Task,
    factorise: Factorise<N>,
    largest: f64,
    load: fn(E) -> N,
    store: fn(N) -> E,
    real: fn(f64) -> R,
) -> Result<bool> {
    let count = call.operand_type(0).shape[..call.operand_type(0).rank() - 2].iter().product::<usize>();
    // Returns an error here, because a failed allocation in the factorisation would abort the process.
    let mut probe: Vec<N> = Vec::new();
    if probe.try_reserve_exact(COPIES.saturating_mul(task.size.rows * task.size.cols)).is_err() {
        return Err(Error::value(
            "the operand",
            "is too large: there is not enough memory for its factorisation",
        ));
    }
    drop(probe);
    for b in 0..count {
        let mut ins = Vec::with_capacity(call.routine.types.len());
        for (i, aval) in call.routine.types.iter().enumerate() {
            let elements = aval.shape.numel() / count;
            // SAFETY: the caller guarantees the type of the operand, which no thread writes.
            let all = unsafe { call.operand::<E>(i) };
            let mut own = Vec::with_capacity(elements);
            for some in all[b * elements..(b + 1) * elements].chunks(stop::STRIDE) {
                stop::poll()?;
                own.extend(some.iter().map(|x| load(*x)));
            }
            let fits = |x: &N| {
                let modulus = x.modulus();
                modulus == 0.0 || (1.0 / largest..largest).contains(&modulus)
            };
            if !own.iter().all(fits) {
                return Ok(false);
            }
            ins.push(own);
        }
        let parts = match interruptible(task.size, move || factorise(task, &ins))? {
            Ok(parts) => parts,
            Err(Failure::NotConverged) => return Ok(false),
            // An LU factorisation exists also for a singular matrix. The reference computes it.
            Err(Failure::Singular(_)) if task.kind == Factorisation::Lu => return Ok(false),
            Err(Failure::Singular(pivot)) => {
                return Err(Error::value(matrix_of_batch(b, count), singular(pivot)));
            }
            Err(Failure::NotPositiveDefinite(order)) => {
                return Err(Error::value(matrix_of_batch(b, count), not_positive_definite(order)));
            }
        };
        for (i, part) in parts.into_iter().enumerate() {
            // SAFETY: for each matrix of the operand, a result has a matrix, a vector or a number in the dtype of its
            // part. The caller guarantees that no other thread accesses the result.
            unsafe {
                match part {
                    Part::Numbers(x) => write(call, i, b, x, store),
                    Part::Reals(x) => write(call, i, b, x, real),
                    Part::Indices(x) => write(call, i, b, x, |x| x as i64),
                }
            }
        }
    }
    Ok(true)
}

/// Writes the elements of matrix `b` of a result.
///
/// # Safety
/// `E` is the element type of the result, which has `x.len()` elements for each matrix and no other reader or writer.
unsafe fn write<X, E: 'static>(
    call: &Call<'_>,
    result: usize,
    b: usize,
    x: Vec<X>,
    convert: impl Fn(X) -> E,
) {
    let first = b * x.len();
    for (i, x) in x.into_iter().enumerate() {
        // SAFETY: the caller guarantees the element.
        unsafe { call.result::<E>(result).at(first + i).write(convert(x)) };
    }
}

/// Runs a function, on a separate thread if it takes long. Returns an error as soon as a stop is requested. The thread
/// then still runs to its end, and its result is dropped.
fn interruptible<R: Send + 'static>(size: Size, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    stop::poll()?;
    if size.rows.saturating_mul(size.cols).saturating_mul(size.rows.min(size.cols)) < LONG {
        return Ok(work());
    }
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("gradus-linalg".into());
    let spawned = thread.spawn(move || {
        // Sending fails if the caller was interrupted and has dropped the receiver.
        let _ = sender.send(work());
    });
    spawned.map_err(|e| Error::value("the factorisation", format!("cannot start a thread: {e}")))?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(20)) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => stop::poll()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::value("the factorisation", "ended without a result"));
            }
        }
    }
}

/// Factorises a complex matrix.
fn complex(task: Task, ins: &[Vec<C>]) -> std::result::Result<Vec<Part<C>>, Failure> {
    match task.kind {
        Factorisation::Eig => {
            let found = gradus_linalg::eig(&ins[0], task.size)?;
            Ok(vec![Part::Numbers(found.values), Part::Numbers(found.vectors)])
        }
        _ => general(task, ins),
    }
}

/// Factorises a matrix by a function of real and complex numbers.
fn general<N: Number>(task: Task, ins: &[Vec<N>]) -> std::result::Result<Vec<Part<N>>, Failure> {
    let (a, size) = (&ins[0][..], task.size);
    let right = || ins.get(1).map_or(&[][..], |b| b);
    Ok(match task.kind {
        Factorisation::Cholesky => vec![Part::Numbers(gradus_linalg::cholesky(a, size)?)],
        Factorisation::Lu => {
            let (both, from) = gradus_linalg::lu(a, size)?;
            vec![Part::Numbers(both), Part::Indices(from)]
        }
        Factorisation::Solve => {
            vec![Part::Numbers(gradus_linalg::solve(a, size, right(), right().len() / size.rows)?)]
        }
        Factorisation::TriangularSolve { lower, transpose, unit } => {
            let triangle = Triangle { lower, transpose, unit };
            let cols = right().len() / size.rows;
            vec![Part::Numbers(gradus_linalg::triangular_solve(a, size, triangle, right(), cols)?)]
        }
        Factorisation::Qr { reflected } => {
            let (q, r) = gradus_linalg::qr(a, size, reflected);
            vec![Part::Numbers(q), Part::Numbers(r)]
        }
        Factorisation::Eigh => {
            let found = gradus_linalg::eigh(a, size)?;
            vec![Part::Reals(found.values), Part::Numbers(found.vectors)]
        }
        Factorisation::Svd => {
            let found = gradus_linalg::svd(a, size)?;
            vec![Part::Numbers(found.u), Part::Reals(found.s), Part::Numbers(found.vh)]
        }
        Factorisation::Pinv => {
            let least = task.epsilon * size.rows.max(size.cols) as f64;
            vec![Part::Numbers(gradus_linalg::pinv(a, size, least)?)]
        }
        Factorisation::Det => vec![Part::Numbers(vec![gradus_linalg::determinant(a, size)])],
        Factorisation::Slogdet => {
            let (sign, log) = gradus_linalg::sign_and_log_determinant(a, size);
            vec![Part::Numbers(vec![sign]), Part::Reals(vec![log])]
        }
        // Does not occur: `is_factorised` excludes the first, and `complex` computes the second.
        Factorisation::Adjugate | Factorisation::Eig => return Err(Failure::NotConverged),
    })
}
