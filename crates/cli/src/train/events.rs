//! Writes event files for TensorBoard: records with checksums that contain protocol buffers.

/// Encodes the first record of a file.
pub(crate) fn version(time: f64) -> Vec<u8> {
    record(&event(time, 0, &bytes(3, b"brain.Event:2")))
}

/// Encodes a record of named numbers at a step.
pub(crate) fn scalars(time: f64, step: u64, values: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, x) in values {
        let mut value = bytes(1, tag.as_bytes());
        value.push(2 << 3 | 5);
        value.extend((*x as f32).to_le_bytes());
        summary.extend(bytes(1, &value));
    }
    record(&event(time, step, &bytes(5, &summary)))
}

/// Encodes an event: its time (field 1), its step (field 2), and `what`, which is an encoded field.
fn event(time: f64, step: u64, what: &[u8]) -> Vec<u8> {
    let mut out = vec![1 << 3 | 1];
    out.extend(time.to_le_bytes());
    out.push(2 << 3);
    varint(step, &mut out);
    out.extend(what);
    out
}

/// Encodes a field of bytes, with its tag and length.
fn bytes(field: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![field << 3 | 2];
    varint(content.len() as u64, &mut out);
    out.extend(content);
    out
}

/// Appends an integer, seven bits per byte, lowest first.
fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Frames a record: length, checksum of the length, content, checksum of the content.
fn record(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let mut out = length.to_vec();
    out.extend(masked(&length).to_le_bytes());
    out.extend(content);
    out.extend(masked(content).to_le_bytes());
    out
}

/// Computes the masked checksum of TFRecord files: without the mask, checksums of data that contains
/// checksums would be weak.
fn masked(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Computes the CRC-32C (Castagnoli) checksum, bit by bit because records are short.
fn crc32c(data: &[u8]) -> u32 {
    let bit = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !data.iter().fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test values of RFC 3720 (iSCSI), B.4, and the usual one of `123456789`.
    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_record_is_framed() {
        let all = scalars(1.5, 300, &[("loss", 0.25)]);
        let length = all.len() - 16;
        assert_eq!(all[..8], (length as u64).to_le_bytes());
        assert_eq!(all[8..12], masked(&all[..8]).to_le_bytes());
        let content = &all[12..12 + length];
        assert_eq!(all[12 + length..], masked(content).to_le_bytes());
        let mut right = vec![0x09];
        right.extend(1.5f64.to_le_bytes());
        // Step 300, a summary of 13 bytes, which contains a value of 11 bytes: its tag and its number.
        right.extend([0x10, 0xac, 0x02, 0x2a, 13, 0x0a, 11, 0x0a, 4]);
        right.extend(b"loss");
        right.push(0x15);
        right.extend(0.25f32.to_le_bytes());
        assert_eq!(content, right);
    }
    /// The bytes that TensorBoard's own writer (`RecordWriter` of the package, version 2.21) produces for the
    /// same event, including checksums.
    #[test]
    fn a_record_is_that_of_tensorboards_own_writer() {
        let found = scalars(1.5, 300, &[("loss", 0.25), ("validation", -2.0)]);
        let hex: String = found.iter().map(|b| format!("{b:02x}")).collect();
        let right = "2e00000000000000c5cb57fa09000000000000f83f10ac022a200a0b0a046c6f7373150000803e\
                     0a110a0a76616c69646174696f6e15000000c0cc9fe4ae";
        assert_eq!(hex, right);
    }
}
