//! GGUF files: files of the package `gguf` are read bit for bit, written files can be read back, damaged
//! files are rejected.

use gradus_files::gguf::{Content, Entry, Format, Kind, Metadata, Reader, Value, write};
use gradus_ir::{DType, Shape};
use gradus_tensor::Tensor;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// A temporary file for a test, removed when dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("gradus-gguf-{name}-{}.gguf", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gguf/formats.gguf")
}

fn bits(t: &Tensor) -> Vec<u32> {
    t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

#[test]
fn all_formats_dequantize_to_the_bits_of_the_package() {
    let file = Reader::open(sample()).unwrap();
    let formats: Vec<Format> =
        file.tensors().iter().map(|t| t.format).filter(|f| *f != Format::F32).collect();
    assert_eq!(formats.len(), 12);
    for format in formats.into_iter().chain([Format::F32]) {
        let found = file.dequantized(format.name()).unwrap();
        let expected = file.tensor(&format!("{}.expected", format.name())).unwrap();
        assert_eq!(found.shape(), expected.shape(), "{}", format.name());
        assert_eq!(bits(&found), bits(&expected), "{}", format.name());
        assert!(bits(&found).iter().any(|b| *b != bits(&found)[0]), "{}", format.name());
    }
    // Formats whose blocks have one element keep their dtype.
    assert_eq!(file.tensor("BF16").unwrap().dtype(), DType::BF16);
    assert_eq!(file.tensor("F16").unwrap().dtype(), DType::F16);
    let stored = file.stored("Q4_K").unwrap();
    assert_eq!((stored.dtype(), &*stored.shape()), (DType::U8, &[3, 288][..]));
    assert_eq!(stored.to_vec::<u8>().unwrap(), file.bytes("Q4_K").unwrap());
}

#[test]
fn metadata_has_the_values_that_the_package_wrote() {
    let file = Reader::open(sample()).unwrap();
    let m = file.metadata();
    assert_eq!(m.text("general.architecture"), Some("llama"));
    let expected = [
        ("a.u8", Value::U8(200)),
        ("a.i8", Value::I8(-100)),
        ("a.u16", Value::U16(60000)),
        ("a.i16", Value::I16(-30000)),
        ("a.u32", Value::U32(4_000_000_000)),
        ("a.i32", Value::I32(-2_000_000_000)),
        ("a.u64", Value::U64(1 << 63)),
        ("a.i64", Value::I64(-(1 << 62))),
        ("a.f32", Value::F32(0.1)),
        ("a.f64", Value::F64(0.1)),
        ("a.bool", Value::Bool(true)),
        ("a.string", Value::String("naïve ☃".into())),
        ("a.strings", Value::strings(["", "Ġthe", "é"])),
        ("a.integers", Value::Array(Kind::I32, [1, -2, 3].map(Value::I32).to_vec())),
        ("a.floats", Value::Array(Kind::F32, [0.5, -1.5].map(Value::F32).to_vec())),
    ];
    for (name, value) in expected {
        assert_eq!(m.get(name), Some(&value), "{name}");
    }
    let rows: Vec<Vec<i64>> = m
        .get("a.nested")
        .unwrap()
        .items()
        .unwrap()
        .iter()
        .map(|row| row.items().unwrap().iter().map(|v| v.integer().unwrap()).collect())
        .collect();
    assert_eq!(rows, [vec![1, 2], vec![3]]);
    assert_eq!((m.integer("a.u64"), m.number("a.i8"), m.flag("a.bool")), (None, Some(-100.0), Some(true)));
}

#[test]
fn written_files_are_read_back() {
    let file = Reader::open(sample()).unwrap();
    let raw = |t: &gradus_files::gguf::Info| Entry {
        name: t.name.clone(),
        content: Content::Bytes(t.format, t.shape.clone(), file.bytes(&t.name).unwrap()),
    };
    let mut entries: Vec<Entry<'_>> = file.tensors().iter().map(raw).collect();
    let own = Tensor::iota(DType::I64, [2, 3], 1);
    entries.push(Entry { name: "own".into(), content: Content::Tensor(own.t()) });
    let mut metadata = file.metadata().clone();
    metadata.set("general.alignment", Value::U32(128));
    metadata.set("a.empty", Value::Array(Kind::F64, vec![]));
    let out = Temporary::new("written");
    write(&out.0, &metadata, &entries).unwrap();
    let again = Reader::open(&out.0).unwrap();
    assert_eq!(again.metadata(), &metadata);
    for (a, b) in file.tensors().iter().zip(again.tensors()) {
        assert_eq!((&a.name, a.format, &a.shape), (&b.name, b.format, &b.shape));
        assert_eq!(file.bytes(&a.name).unwrap(), again.bytes(&a.name).unwrap());
        assert!(b.offset.is_multiple_of(128));
    }
    assert_eq!(again.tensor("own").unwrap().to_vec2::<i64>().unwrap(), [[0, 0], [1, 1], [2, 2]]);
}

/// Returns a valid file with one tensor of eight bytes per name.
fn small(names: &[&str]) -> Vec<u8> {
    let out = Temporary::new(&format!("small-{}", names.concat()));
    let mut metadata = Metadata::new();
    metadata.set("k", Value::strings(["ab"]));
    let t =
        |name: &&str| Entry { name: name.to_string(), content: Content::Tensor(Tensor::from([1.0f32, 2.0])) };
    write(&out.0, &metadata, &names.iter().map(t).collect::<Vec<_>>()).unwrap();
    std::fs::read(&out.0).unwrap()
}

fn opened(bytes: &[u8], name: &str) -> gradus_ir::Result<Reader> {
    let file = Temporary::new(name);
    std::fs::write(&file.0, bytes).unwrap();
    Reader::open(&file.0)
}

#[test]
fn hostile_headers_are_refused_with_their_reason() {
    let good = small(&["a", "b"]);
    let refused = |change: &dyn Fn(&mut Vec<u8>), why: &str| {
        let mut bytes = good.clone();
        change(&mut bytes);
        let e = opened(&bytes, "hostile").unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    };
    let put =
        |at: usize, value: u64| move |b: &mut Vec<u8>| b[at..at + 8].copy_from_slice(&value.to_le_bytes());
    // Header: magic, version, tensors at 8, entries at 16, then "k": length 24, byte 32, type 33, array of
    // type 37, count 41, length 49, text 57; table from 59: length, name 67, axes 68, extent 72, format 80,
    // offset 84; the second from 92.
    refused(&|b| b[0] = b'X', "is not a GGUF file");
    refused(&|b| b.truncate(3), "is not a GGUF file");
    refused(&|b| b[4] = 1, "has GGUF version 1");
    refused(&|b| b[4] = 0, "has GGUF version 0; 2 and 3 are supported");
    refused(&|b| b[4..8].copy_from_slice(&[0, 0, 0, 3]), "big-endian");
    refused(&put(8, u64::MAX), "declares 18446744073709551615 tensors");
    refused(&put(16, 1 << 40), "metadata entries");
    refused(&put(24, u64::MAX), "bytes of text");
    refused(&put(24, 0), "metadata name of 0 bytes");
    refused(&|b| b[33] = 13, "unknown type 13");
    refused(&put(41, u64::MAX / 2), "values in an array");
    refused(&|b| b[57] = 0xff, "not UTF-8");
    refused(&|b| b[68] = 5, "with 5 axes");
    refused(&put(72, u64::MAX), "impossible extents");
    refused(&put(72, 0), "impossible extents");
    refused(&|b| b[80] = 99, "in format 99, which is not supported");
    refused(&|b| b[80] = 2, "needs a multiple of 32");
    refused(&put(84, 1), "at offset 1, which is not a multiple of 32");
    refused(&put(84, 1 << 40), "tensor `a` is incomplete");
    refused(&put(84, u64::MAX - 31), "tensor `a` is incomplete");
    refused(&put(84, 32), "tensors `a` and `b` that overlap");
    refused(&|b| b[100] = b'a', "has tensor `a` twice");
    let most = good.len();
    refused(&|b| b.truncate(most - 32), "tensor `b` is incomplete");
    // The writer rejects all files that the reader would reject.
    let out = Temporary::new("refused");
    let entry = |name: &str, content| vec![Entry { name: name.into(), content }];
    let t = || Content::Tensor(Tensor::from([1.0f32]));
    let twice = [entry("a", t()), entry("a", t())].concat();
    for (entries, why) in [
        (twice, "occurs twice"),
        (entry("", t()), "name must have"),
        (entry("a", Content::Tensor(Tensor::from([true]))), "GGUF has no format"),
        (entry("a", Content::Bytes(Format::Q4_0, Shape::from([31]), &[0; 18])), "does not fit format Q4_0"),
        (entry("a", Content::Bytes(Format::Q4_0, Shape::from([32]), &[0; 17])), "needs 18"),
    ] {
        let e = write(&out.0, &Metadata::new(), &entries).unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    }
    let mut mixed = Metadata::new();
    mixed.set("m", Value::Array(Kind::U8, vec![Value::Bool(true)]));
    assert!(write(&out.0, &mixed, &[]).unwrap_err().to_string().contains("`m`"));
    assert!(!out.0.exists());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// A damaged file is rejected, or everything it lists can be read.
    #[test]
    fn damaged_files_never_panic(
        changes in prop::collection::vec((0usize..1 << 20, any::<u8>()), 1..6),
        header in any::<bool>(),
        cut in prop::option::of(0usize..1 << 20),
        case in any::<u32>(),
    ) {
        let mut bytes = std::fs::read(sample()).unwrap();
        // Most of the file consists of elements, in which damage cannot be detected.
        let most = if header { 2600.min(bytes.len()) } else { bytes.len() };
        for (at, value) in changes {
            bytes[at % most] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut % bytes.len());
        }
        if let Ok(file) = opened(&bytes, &format!("fuzz-{case}")) {
            for t in file.tensors() {
                let read = file.dequantized(&t.name).unwrap();
                prop_assert_eq!(read.shape(), t.shape.clone());
                prop_assert_eq!(file.bytes(&t.name).unwrap().len(), t.bytes);
            }
        }
    }
}
