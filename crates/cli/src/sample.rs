//! `gradus sample`: prints texts of a trained language model.

use crate::args::SampleArgs;
use crate::train::{checkpoint, language::Language};
use crate::{Done, Terminal};
use gradus::Generator;
use gradus::nn::Sampling;

pub(crate) fn run(args: &SampleArgs, terminal: &mut Terminal<'_>) -> Done {
    let model = Language::load(&checkpoint(&args.path), args.on.device()?)?;
    let sampling = Sampling { temperature: args.temperature, top_k: args.top_k, ..Sampling::default() };
    let g = Generator::new(args.seed);
    for _ in 0..args.count {
        writeln!(terminal.out, "{}", model.sample(args.length, &sampling, &g)?)?;
    }
    Ok(())
}
