//! Data files: round trips, files of other programs, and errors.

use crate::common::Folder;
use gradus_ir::DType;
use gradus_nn::data::Characters;
use gradus_nn::file::{csv, idx, npy, npz, png};
use gradus_tensor::Tensor;
use std::path::Path;

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

#[test]
fn arrays_of_numpy_are_read() {
    let names = [
        ("float32", DType::F32),
        ("float64", DType::F64),
        ("float16", DType::F16),
        ("int8", DType::I8),
        ("uint8", DType::U8),
        ("int32", DType::I32),
        ("uint32", DType::U32),
        ("int64", DType::I64),
        ("complex64", DType::C64),
        ("complex128", DType::C128),
        ("columns", DType::F32),
    ];
    for file in ["arrays.npz", "arrays_compressed.npz"] {
        let all = npz::read(golden(file)).unwrap();
        let get = |name: &str| all.iter().find(|(n, _)| n == name).unwrap().1.clone();
        for (name, dtype) in names {
            let t = get(name);
            assert_eq!((t.dtype(), t.shape()), (dtype, [2, 3].into()), "{name}");
            let values = t.real().to_dtype(DType::F64).to_vec::<f64>().unwrap();
            assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "{name}");
        }
        assert_eq!(get("bool").to_vec::<bool>().unwrap(), [false, true, false, true, false, true]);
        assert_eq!(get("scalar").item::<f64>().unwrap(), 2.5);
        assert_eq!(get("empty").shape(), [0, 3].into());
    }
}

#[test]
fn written_arrays_are_read() {
    let folder = Folder::new("npy");
    let x = Tensor::from([[1.5f32, -2.0, 0.0], [4.0, 5.0, -6.5]]);
    for dtype in DType::ALL.into_iter().filter(|d| *d != DType::BF16) {
        npy::write(folder.file("x.npy"), &x.to_dtype(dtype)).unwrap();
        let back = npy::read(folder.file("x.npy")).unwrap();
        assert_eq!(back.to_bytes().unwrap(), x.to_dtype(dtype).to_bytes().unwrap(), "{dtype}");
        assert_eq!(back.aval(), x.to_dtype(dtype).aval());
    }
    npy::write(folder.file("b"), &x.to_dtype(DType::BF16)).unwrap();
    assert_eq!(npy::read(folder.file("b")).unwrap().aval(), x.aval());
    let two = [("a".to_string(), x.t()), ("deep.name".to_string(), Tensor::from(3i64))];
    npz::write(folder.file("x.npz"), &two).unwrap();
    let back = npz::read(folder.file("x.npz")).unwrap();
    assert_eq!(back[0].1.to_vec2::<f32>().unwrap(), [[1.5, 4.0], [-2.0, 5.0], [0.0, -6.5]]);
    assert_eq!((back[1].0.as_str(), back[1].1.item::<i64>().unwrap()), ("deep.name", 3));
}

#[test]
fn damaged_arrays_are_refused() {
    let folder = Folder::new("broken");
    let x = Tensor::from([[1.5f32, -2.0], [4.0, 5.0]]);
    npy::write(folder.file("x"), &x).unwrap();
    let whole = std::fs::read(folder.file("x")).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(folder.file("x"), &whole[..cut]).unwrap();
        assert!(npy::read(folder.file("x")).is_err(), "cut at {cut}");
    }
    let text = |from: &str, to: &str| {
        let changed = String::from_utf8_lossy(&whole[10..128]).replace(from, to);
        let bytes = [&whole[..10], &changed.as_bytes()[..118.min(changed.len())], &whole[128..]].concat();
        std::fs::write(folder.file("x"), bytes).unwrap();
        npy::read(folder.file("x")).unwrap_err().to_string()
    };
    assert!(text("<f4", "<q4").contains("elements of type `<q4`, which is not supported"));
    assert!(text("(2, 2)", "(2, z)").contains("has the extent `z`, which is not a number"));
    assert!(text("(2, 2)", "(9, 9)").contains("16 bytes of elements, which does not match [9, 9] of `<f4`"));
    npz::write(folder.file("z"), &[("first".to_string(), x.clone()), ("second".to_string(), x)]).unwrap();
    let whole = std::fs::read(folder.file("z")).unwrap();
    let mut flipped = whole.clone();
    // An element of the first array: elements are stored unchanged.
    let at = whole.windows(4).position(|w| w == 1.5f32.to_le_bytes()).unwrap();
    flipped[at] ^= 1;
    std::fs::write(folder.file("z"), &flipped).unwrap();
    let e = npz::read(folder.file("z")).unwrap_err().to_string();
    assert!(e.contains("`first` is damaged"), "{e}");
    std::fs::write(folder.file("z"), &whole[..whole.len() / 2]).unwrap();
    assert!(npz::read(folder.file("z")).is_err());
}

#[test]
fn tables_are_read() {
    let folder = Folder::new("csv");
    let read = |text: &str| {
        std::fs::write(folder.file("t.csv"), text).unwrap();
        csv::read(folder.file("t.csv"))
    };
    let named = read("x, \"y, really\" ,\"a \"\"b\"\"\"\n1,2,3\n\n4 , 5e-1,-6\n").unwrap();
    assert_eq!(named.names, ["x", "y, really", "a \"b\""]);
    assert_eq!(named.values.to_vec2::<f64>().unwrap(), [[1.0, 2.0, 3.0], [4.0, 0.5, -6.0]]);
    assert_eq!(named.column("y, really").unwrap().to_vec::<f64>().unwrap(), [2.0, 0.5]);
    assert!(named.column("z").is_err());
    let plain = read("1,2\r\n3,4\r\n").unwrap();
    assert!(plain.names.is_empty());
    assert_eq!(plain.values.to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let e = |text: &str| read(text).unwrap_err().to_string();
    assert!(e("x,y\n1,2\n3\n").contains("line 3 has 1 columns, but earlier lines have 2"));
    assert!(e("x,y\n1,two\n").contains("line 2, column 2: `two` is not a number"));
    assert!(e("x,y\n1,\"2\n").contains("line 2: a quote is not closed"));
    assert!(e("").contains("is empty"));
}

#[test]
fn written_idx_files_and_images_are_read() {
    let folder = Folder::new("images");
    let x = Tensor::from((0..24u8).collect::<Vec<u8>>()).reshape([2, 3, 4]);
    idx::write(folder.file("x"), &x).unwrap();
    let file = std::fs::read(folder.file("x")).unwrap();
    assert_eq!(file[..16], [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4]);
    assert_eq!(idx::read(folder.file("x")).unwrap().to_vec::<u8>().unwrap(), x.to_vec::<u8>().unwrap());
    let floats = [&[0u8, 0, 0x0D, 1, 0, 0, 0, 2][..], &1.5f32.to_be_bytes(), &(-2f32).to_be_bytes()].concat();
    assert_eq!(idx::from_bytes(&floats).unwrap().to_vec::<f32>().unwrap(), [1.5, -2.0]);
    for cut in 0..floats.len() {
        assert!(idx::from_bytes(&floats[..cut]).is_err());
    }
    assert!(
        idx::from_bytes(&[0, 0, 0x08, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255])
            .is_err()
    );
    assert!(idx::write(folder.file("y"), &Tensor::zeros([2])).is_err());
    for channels in 1..=4usize {
        let pixels: Vec<u8> = (0..15 * channels).map(|i| (i * 37 % 256) as u8).collect();
        let image = Tensor::from_slice(&pixels, [5, 3, channels]);
        png::write(folder.file("x.png"), &image).unwrap();
        let back = png::read(folder.file("x.png")).unwrap();
        assert_eq!((back.shape(), back.to_vec::<u8>().unwrap()), (image.shape(), pixels));
    }
    let whole = std::fs::read(folder.file("x.png")).unwrap();
    std::fs::write(folder.file("x.png"), &whole[..whole.len() / 2]).unwrap();
    assert!(
        png::read(folder.file("x.png"))
            .unwrap_err()
            .to_string()
            .contains("is damaged, or is not a PNG image")
    );
    assert!(png::write(folder.file("x.png"), &Tensor::zeros([2, 2, 1])).is_err());
    assert!(png::write(folder.file("x.png"), &x.reshape([24])).is_err());
}

#[test]
fn characters_are_numbered_in_order() {
    let known = Characters::of("hello, world");
    assert_eq!(known.len(), 9);
    let tokens = known.encode("old hero").unwrap();
    assert_eq!(known.decode(&tokens), "old hero");
    assert!(known.encode("x").unwrap_err().to_string().contains("'x' is not a known character"));
    assert_eq!(known.decode(&[-1, 99]), "");
}
