//! Layers: each is a struct of parameters with PyTorch's names, layouts and initial values.

mod attention;
mod conv;
mod dropout;
mod linear;
mod lora;
mod norm;
mod pool;
mod recurrent;
mod sequential;
mod transformer;

pub use attention::{Cache, MultiHeadAttention};
pub use conv::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use dropout::Dropout;
pub use linear::{Embedding, Linear};
pub use lora::{LoraSlot, LowRank};
pub use norm::{BatchNorm, GroupNorm, LayerNorm, RmsNorm};
pub use pool::{AdaptiveAvgPool, AvgPool, Flatten, MaxPool};
pub use recurrent::{Gru, GruUnit, Lstm, LstmUnit, Recurrent, ReluUnit, Rnn, TanhUnit, Unit};
pub use sequential::Sequential;
pub use transformer::TransformerBlock;
