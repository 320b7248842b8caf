//! Functions that generated code calls: sine, cosine and tangent of large angles.

use super::functions::Value;
use super::node::Action;
use gradus_scalar::{Float, circular};

/// A function that is called for large arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Far {
    Sin,
    Cos,
    Tan,
}

impl Far {
    pub(super) const ALL: [Far; 3] = [Far::Sin, Far::Cos, Far::Tan];

    /// Returns the address of the function for vectors of `LANES` lanes.
    pub(super) fn address<const LANES: usize>(self) -> usize {
        extern "sysv64" fn sin<const LANES: usize>(x: &[f32; LANES], y: &mut [f32; LANES]) {
            replace(x, y, circular::far_sin);
        }
        extern "sysv64" fn cos<const LANES: usize>(x: &[f32; LANES], y: &mut [f32; LANES]) {
            replace(x, y, circular::far_cos);
        }
        extern "sysv64" fn tan<const LANES: usize>(x: &[f32; LANES], y: &mut [f32; LANES]) {
            replace(x, y, circular::far_tan);
        }
        fn replace(x: &[f32], y: &mut [f32], f: fn(f32) -> f32) {
            for (x, y) in x.iter().zip(y) {
                if x.abs() > circular::FAR {
                    *y = f(*x);
                }
            }
        }
        let function: extern "sysv64" fn(&[f32; LANES], &mut [f32; LANES]) = match self {
            Far::Sin => sin,
            Far::Cos => cos,
            Far::Tan => tan,
        };
        function as usize
    }
}

/// Builds the function with this name, if there is one.
pub(super) fn circular<'n>(name: &str, x: Value<'n>) -> Option<Value<'n>> {
    let (y, far) = match name {
        "sin" => (circular::sin(x), Far::Sin),
        "cos" => (circular::cos(x), Far::Cos),
        "tan" => (circular::tan(x), Far::Tan),
        _ => return None,
    };
    Some(Value::of(Action::Far(far), &[x, y, x.abs().gt(circular::FAR).0]))
}
