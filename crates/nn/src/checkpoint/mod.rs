//! Checkpoints: weights by name, and everything that a run needs to continue exactly.
//!
//! Files are written to a temporary name and renamed, so that a path never holds a partial checkpoint.
//! Loading checks every name and type and reads every tensor before the first cell is changed.

pub use gradus_files::safetensors;

use crate::module::{Module, Part};
use crate::step::Step;
use gradus_ir::{Error, Result, message};
use gradus_tensor::{Tensor, default_generator};
use safetensors::{Notes, Reader};
use std::path::Path;

/// Writes a model's parameters and buffers.
pub fn save(path: impl AsRef<Path>, model: &impl Module) -> Result<()> {
    safetensors::write(path, &model.state(), &Notes::new())
}

/// Reads a model's parameters and buffers: all of them, under their names and types, or none.
pub fn load(path: impl AsRef<Path>, model: &impl Module) -> Result<()> {
    load_cells(&Reader::open(path)?, &model.state(), true)
}

/// As [`load`], from a file with other names: `name` maps the model's names to the file's. Other tensors of
/// the file are ignored.
pub fn load_as(path: impl AsRef<Path>, model: &impl Module, name: impl Fn(&str) -> String) -> Result<()> {
    let renamed: Vec<(String, Tensor)> = model.state().into_iter().map(|(own, t)| (name(&own), t)).collect();
    load_cells(&Reader::open(path)?, &renamed, false)
}

/// Sets parameters and buffers of a model by name, all or none; for example from
/// [`npz::read`](gradus_files::npz::read).
pub fn set_state(model: &impl Module, tensors: &[(String, Tensor)]) -> Result<()> {
    let own = model.state();
    let mut values = Vec::with_capacity(own.len());
    for (name, cell) in &own {
        let Some((_, value)) = tensors.iter().find(|(n, _)| n == name) else {
            return Err(Error::value(format!("`{name}`"), "is missing"));
        };
        if value.check()?.aval() != cell.aval() {
            return Err(Error::shape(
                message!(format!("`{name}` of type "), value.aval()),
                message!("does not fit the model's ", cell.aval()),
            ));
        }
        values.push(value);
    }
    if let Some((other, _)) = tensors.iter().find(|(n, _)| own.iter().all(|(own, _)| own != n)) {
        return Err(Error::value(format!("`{other}`"), "is not in the model"));
    }
    own.iter().zip(values).try_for_each(|((_, cell), value)| cell.data_().set_(value))
}

/// Sets cells to the values that a file has for them, all or none. If `exact`, the file must contain nothing
/// else.
fn load_cells(file: &Reader, cells: &[(String, Tensor)], exact: bool) -> Result<()> {
    let mut values = Vec::with_capacity(cells.len());
    for (name, cell) in cells {
        let (own, found) = (cell.aval(), file.aval(name)?);
        if own.as_ref() != Some(&found) {
            let own = own.map_or_else(String::new, |a| a.to_string());
            return Err(file.failed(format!("`{name}` is {found}, and the model's is {own}")));
        }
        values.push(file.tensor(name)?);
    }
    if exact && let Some(other) = file.names().iter().find(|n| cells.iter().all(|(own, _)| own != *n)) {
        return Err(file.failed(format!("has a tensor `{other}`, and the model has none of that name")));
    }
    cells.iter().zip(&values).try_for_each(|((_, cell), value)| cell.data_().set_(value))
}

impl Step<'_> {
    /// Returns every cell of the run by name: parameters and buffers, the optimizer's state, generators.
    pub fn cells(&self) -> Vec<(String, Tensor)> {
        let named = |(name, part): &(String, Part)| match part {
            Part::Param(t) | Part::Buffer(t) => Some((format!("model.{name}"), t.clone())),
            Part::Generator(g) => Some((format!("generator.{name}"), g.state().clone())),
            Part::Mode(_) | Part::LoraSlot(_) => None,
        };
        let sums = self.sums().iter().enumerate().map(|(i, t)| (format!("sum.{i}"), t.clone()));
        let default = ("generator".to_string(), default_generator().state().clone());
        self.parts
            .iter()
            .filter_map(named)
            .chain(self.optimizer().state())
            .chain(sums)
            .chain([default])
            .collect()
    }

    /// Writes all state that the run needs to continue: parameters, buffers and generators of the model, the
    /// default generator, the optimizer and the counts. Also writes `notes`, such as a loader's position. A
    /// cell that the loss function changes but the model does not hold is not saved: make it a
    /// [`Buffer`](crate::Buffer).
    pub fn save(&self, path: impl AsRef<Path>, notes: &Notes) -> Result<()> {
        let (steps, seen) = self.counts();
        let mut all = notes.clone();
        all.insert("steps".to_string(), steps.to_string());
        all.insert("seen".to_string(), seen.to_string());
        safetensors::write(path, &self.cells(), &all)
    }

    /// Reads the state that [`save`](Step::save) wrote, all or nothing; returns the notes.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<Notes> {
        let file = Reader::open(path)?;
        let number = |key: &str| {
            let text = file.note(key).unwrap_or("");
            text.parse::<u64>()
                .map_err(|_| file.failed(format!("the note `{key}` is `{text}`, which is not a count")))
        };
        let (steps, seen) = (number("steps")?, number("seen")?);
        load_cells(&file, &self.cells(), true)?;
        self.set_counts(steps, seen);
        Ok(file.notes().map(|(k, v)| (k.to_string(), v.to_string())).collect())
    }
}

/// Reads all tensors of a file.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>, Error> {
    let file = Reader::open(path)?;
    file.names().into_iter().map(|name| file.tensor(&name).map(|t| (name, t))).collect()
}
