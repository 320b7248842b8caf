//! Gradients of reads at offsets and fixed steps, compared with PyTorch or derived values.

use super::called::gives;

/// A step that reads the first step of its own state, directly and inside functions.
#[test]
fn first_step_read_at_every_step() {
    let program = |step: &str| {
        format!(
            "B[p] = const([0.7, -0.3])\nC[p,q] = const([[1.1, 0.2], [0.4, -0.5]])\n\
             S[i,m,*0] = C[m,-m+1] + B[i]\nS[j,k,*t+1] = {step}\naxis t = 2\n\
             End[n,i] = S[n,i,*-1]\nLoss = End[n,i] End[n,i]"
        )
    };
    let diagonal = program("tanh(S[k,k,*t]) - square(sin(S[k,k,*0]))");
    gives(&diagonal, "B", &[2.9769421813719337, 0.18646092764719271]);
    gives(&diagonal, "C", &[0.0, 2.9769421813719337, 0.18646092764719271, 0.0]);
    let whole = program("tanh(S[j,k,*t]) - square(sin(S[j,k,*0]))");
    gives(&whole, "B", &[3.4707283117277505, -0.23404948431745365]);
    gives(&whole, "C", &[0.0, 1.1611911425449168, 2.0754876848653803, 0.0]);
}

/// An index at two axes of the left side, at one of them with an offset: only the last write is out of range.
#[test]
fn diagonals_at_offsets() {
    let below = "C[p,q] = const([[1, 2], [3, 4], [5, 6]])\nS[k] = C[k,k-1]\nLoss = S[k] S[k]";
    gives(below, "C", &[0.0, 0.0, 6.0, 0.0, 0.0, 12.0]);
    let above = "C[p,q] = const([[1, 2, 3], [4, 5, 6]])\nS[k] = C[k,k+1]\nLoss = S[k] S[k]";
    gives(above, "C", &[0.0, 4.0, 0.0, 0.0, 0.0, 12.0]);
}

/// Another tensor of the sum determines the size of an index that a term reads at an offset.
#[test]
fn sizes_of_other_terms() {
    // Y is the sum of A[m] - Z[m-1] B[k] over m and k: 2·6 - 12·3 = -24, with Z[-1] = 0.
    let text = "A[p] = const([1, 2, 3])\nB[p] = const([1, 2])\nZ[p] = const([5, 7])\n\
                Y = (A[m] - Z[m-1] B[k]) 1\nLoss = Y Y";
    gives(text, "B", &[576.0, 576.0]);
    gives(text, "Z", &[144.0, 144.0]);
}

/// A function of the program is called in a step with arguments without time: its gradient is that of one
/// step.
#[test]
fn functions_without_time_in_steps() {
    let text = "fn bend(x, w) -> y { let h = tanh(x w); y = h x - w }\nD = const(1.04)\nV = const(-0.8957)\n\
                axis k = 3\nS[k,*0] = 0.1\nS[k,*t+1] = bend(D, V)\n\
                End[m] = S[m,*-1]\nLoss = End[m] End[m]\n";
    let (x, v) = (1.04f64, -0.8957f64);
    let h = (x * v).tanh();
    let slope = h + x * v * (1.0 - h * h);
    let expected = [6.0 * (h * x - v) * slope];
    gives(&format!("{text}axis t = 3"), "D", &expected);
    gives(&format!("{text}axis t = 5 while Go\nGo[*t] = S[1,*t] < 9"), "D", &expected);
}
