//! `gradus devices`: lists the devices with their limits, and with `--measure` their rates.

use crate::args::DevicesArgs;
use crate::{Done, Terminal};
use gradus::{Device, DeviceInfo};
use serde_json::{Map, Value};

pub(crate) fn run(args: &DevicesArgs, terminal: &mut Terminal<'_>) -> Done {
    let mut all = Device::list();
    if args.measure {
        all.iter_mut().for_each(measure);
    }
    if args.json {
        let one = |found: &DeviceInfo| {
            let facts = found.facts.iter().map(|(key, value)| (key.clone(), Value::String(value.clone())));
            let name = [("name".to_string(), Value::String(found.name.clone()))];
            Value::Object(Map::from_iter(name.into_iter().chain(facts)))
        };
        writeln!(terminal.out, "{}", Value::Array(all.iter().map(one).collect()))?;
        return Ok(());
    }
    for found in &all {
        writeln!(terminal.out, "{}", found.name)?;
        let width = found.facts.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
        for (key, value) in &found.facts {
            writeln!(terminal.out, "  {key:width$}  {value}")?;
        }
    }
    if all.len() == 1 {
        writeln!(terminal.err, "note: no GPU was found; on Linux, WebGPU needs a Vulkan driver")?;
    }
    Ok(())
}

/// Appends the measured rates of the device, or the reason why it cannot be opened.
fn measure(found: &mut DeviceInfo) {
    let roofline = Device::named(&found.name).and_then(Device::roofline);
    let mut fact = |key: &str, value: String| found.facts.push((key.to_string(), value));
    match roofline {
        Ok(roofline) => {
            fact("bandwidth", format!("{:.1} GB/s, reading and writing", roofline.bytes / 1e9));
            fact("products", format!("{:.1} GFLOP/s in f32", roofline.flops / 1e9));
        }
        Err(e) => fact("cannot be used", e.to_string()),
    }
}
