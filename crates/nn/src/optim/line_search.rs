//! Line search by the strong Wolfe conditions.
//!
//! Steps grow until a minimum is bracketed, then the bracket shrinks around the minimum of the cubic through
//! its ends (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6).

use gradus_tensor::Tensor;

/// The loss at a distance along the direction.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) gradient: Tensor,
}

/// Required decrease, as a fraction of that predicted by the slope.
const DECREASE: f64 = 1e-4;
/// Largest slope at the result, as a fraction of the first slope.
const CURVATURE: f64 = 0.9;

/// Returns a point that meets the conditions, or the best found, and the number of evaluations. `first` is
/// the point at 0, `guess` the first distance to try. `size` is the largest element of the direction;
/// distances that change no parameter by more than `tolerance` count as equal. After `limit` evaluations, not
/// counting the first, the best point found is returned.
pub(super) fn search<E>(
    first: &Point,
    guess: f64,
    size: f64,
    tolerance: f64,
    limit: usize,
    mut evaluate: impl FnMut(f64) -> Result<Point, E>,
) -> Result<(Point, usize), E> {
    let high = |p: &Point| p.value > first.value + DECREASE * p.at * first.slope;
    let flat = |p: &Point| p.slope.abs() <= -CURVATURE * first.slope;
    let mut last = first.clone();
    let mut new = evaluate(guess)?;
    let mut taken = 1;
    // Grows until two points bracket a minimum.
    let mut ends = loop {
        if taken > limit {
            break [first.clone(), new];
        }
        if high(&new) || (taken > 2 && new.value >= last.value) {
            break [last, new];
        }
        if flat(&new) {
            return Ok((new, taken));
        }
        if new.slope >= 0.0 {
            break [last, new];
        }
        let bounds = (new.at + 0.01 * (new.at - last.at), new.at * 10.0);
        let next = cubic_minimum(&last, &new, Some(bounds));
        last = std::mem::replace(&mut new, evaluate(next)?);
        taken += 1;
    };
    // Shrinks the bracket; `low` is the index of its better end.
    let mut low = usize::from(ends[0].value > ends[1].value);
    let mut was_near_end = false;
    while taken <= limit && (ends[1].at - ends[0].at).abs() * size >= tolerance {
        let (least_at, most_at) = (ends[0].at.min(ends[1].at), ends[0].at.max(ends[1].at));
        let mut at = cubic_minimum(&ends[0], &ends[1], None);
        // If the minimum is outside of the bracket, or near an end twice in a row, moves it to a tenth from
        // that end.
        let margin = 0.1 * (most_at - least_at);
        let near = (most_at - at).min(at - least_at) < margin;
        if near && (was_near_end || at >= most_at || at <= least_at) {
            at = if (at - most_at).abs() < (at - least_at).abs() {
                most_at - margin
            } else {
                least_at + margin
            };
            was_near_end = false;
        } else {
            was_near_end = near;
        }
        let new = evaluate(at)?;
        taken += 1;
        if high(&new) || new.value >= ends[low].value {
            ends[1 - low] = new;
            low = usize::from(ends[0].value > ends[1].value);
            continue;
        }
        if flat(&new) {
            return Ok((new, taken));
        }
        if new.slope * (ends[1 - low].at - ends[low].at) >= 0.0 {
            ends[1 - low] = ends[low].clone();
        }
        ends[low] = new;
    }
    let best = ends[low].clone();
    Ok((best, taken))
}

/// Returns the minimum of the cubic through two points with their slopes, within bounds (by default the
/// points). Returns the middle of the bounds if the cubic has no minimum.
fn cubic_minimum(a: &Point, b: &Point, bounds: Option<(f64, f64)>) -> f64 {
    let (from, to) = bounds.unwrap_or((a.at.min(b.at), a.at.max(b.at)));
    let bend = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.at - b.at);
    let square = bend * bend - a.slope * b.slope;
    if square < 0.0 || square.is_nan() {
        return (from + to) / 2.0;
    }
    let (p, q) = if a.at <= b.at { (a, b) } else { (b, a) };
    let root = square.sqrt();
    let at = q.at - (q.at - p.at) * ((q.slope + root - bend) / (q.slope - p.slope + 2.0 * root));
    at.max(from).min(to)
}
