//! Images in PNG: `[height, width, channels]` of `u8`.

use crate::{atomic, bytes};
use gradus_ir::{DType, Result};
use gradus_tensor::Tensor;
use png::{BitDepth, ColorType, Decoder, Encoder, Transformations};
use std::io::Cursor;
use std::path::Path;

/// Reads an image: one channel for grey, three for colours, and one more with transparency. Palettes are
/// converted to colours, and all depths to eight bits.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let file = bytes(path)?;
    let broken =
        |e: png::DecodingError| atomic::failed(path, format!("is damaged, or is not a PNG image: {e}"));
    let mut decoder = Decoder::new(Cursor::new(&file[..]));
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(broken)?;
    let size = reader.output_buffer_size().ok_or_else(|| atomic::failed(path, "is too large to decode"))?;
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels).map_err(broken)?;
    let shape = [info.height as usize, info.width as usize, info.color_type.samples()];
    Ok(Tensor::from_slice(&pixels[..info.buffer_size()], shape))
}

/// Writes an image atomically.
pub fn write(path: impl AsRef<Path>, image: &Tensor) -> Result<()> {
    let (path, shape) = (path.as_ref(), image.check()?.shape());
    let kind = match (image.dtype(), &shape[..]) {
        (DType::U8, [h, w, 1..=4]) if (1..=1 << 30).contains(h) && (1..=1 << 30).contains(w) => shape[2],
        (dtype, _) => {
            let why = format!("an image must be u8[height, width, 1 to 4 channels], not {dtype}{shape}");
            return Err(atomic::failed(path, why));
        }
    };
    let kinds = [ColorType::Grayscale, ColorType::GrayscaleAlpha, ColorType::Rgb, ColorType::Rgba];
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, shape[1] as u32, shape[0] as u32);
    encoder.set_color(kinds[kind - 1]);
    encoder.set_depth(BitDepth::Eight);
    let written = encoder
        .write_header()
        .and_then(|mut w| w.write_image_data(&image.to_vec::<u8>().unwrap_or_default()));
    written.map_err(|e| atomic::failed(path, e))?;
    atomic::write(path, &[&file])
}
