//! Traces of timed steps, as JSON that Perfetto reads.

use gradus_device::Work;
use gradus_tensor::{TimedStep, Timeline};
use std::time::Duration;

#[test]
fn a_trace_has_the_steps_in_order() {
    let step = |title: &str, micros| TimedStep {
        title: title.into(),
        work: Work { flops: 8.0, bytes: 16.0 },
        took: Duration::from_micros(micros),
    };
    let timeline = Timeline { device: "cpu".into(), steps: vec![step("a \"b\"\n", 3), step("c", 4)] };
    let trace = timeline.trace();
    assert!(
        trace.contains(r#""ts":0,"dur":3,"name":"a \"b\"\u000a","args":{"step":0,"flops":8,"bytes":16}"#),
        "{trace}"
    );
    assert!(trace.contains(r#""ts":3,"dur":4,"name":"c""#), "{trace}");
}
