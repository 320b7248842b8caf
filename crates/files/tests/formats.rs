//! Every format: files written by NumPy are read, written files can be read back, invalid files are rejected
//! with a reason.

use gradus_files::{Wanted, json, npy, read, table, tokens, write};
use gradus_ir::DType;
use gradus_tensor::Tensor;
use std::fs;
use std::path::{Path, PathBuf};

/// A temporary folder for a test, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("gradus-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn numpy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numpy").join(name)
}

fn wanted(name: &str) -> Wanted<'_> {
    Wanted { name, ..Wanted::default() }
}

fn values(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).to_vec().unwrap()
}

fn refused<T: std::fmt::Debug>(result: gradus_ir::Result<T>, why: &str) {
    let e = result.unwrap_err().to_string();
    assert!(e.contains(why), "{e}");
}

#[test]
fn files_written_by_numpy_are_read() {
    let rows = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25];
    for (file, dtype) in [("f4.npy", DType::F32), ("fortran.npy", DType::F64)] {
        let t = read(&numpy(file), &wanted("")).unwrap();
        assert_eq!((t.dtype(), &*t.shape(), values(&t)), (dtype, &[2, 3][..], rows.to_vec()), "{file}");
    }
    let big = read(&numpy("big.npy"), &wanted("")).unwrap();
    assert_eq!((big.dtype(), values(&big)), (DType::I32, vec![1.0, -2.0, 300000.0]));
    assert_eq!(read(&numpy("scalar.npy"), &wanted("")).unwrap().item::<f64>().unwrap(), 2.5);
    assert_eq!(read(&numpy("bool.npy"), &wanted("")).unwrap().to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!(values(&read(&numpy("two.npz"), &wanted("B")).unwrap()), [7.0, 8.0]);
    assert_eq!(values(&read(&numpy("packed.npz"), &wanted("other")).unwrap()), vec![0.0; 10_000]);
    refused(read(&numpy("two.npz"), &wanted("C")), "has no tensor `C`, only: A, B");
}

/// Integers of sizes without a dtype are converted to larger ones, unless one does not fit.
#[test]
fn integers_of_every_size() {
    // The header of a list of two elements, for type names of equal length.
    let whole = npy::to_bytes(&Tensor::from([1i64, 2])).unwrap();
    let of = |descr: &str, elements: &[u8]| {
        let header = String::from_utf8_lossy(&whole[10..whole.len() - 16]).replace("<i8", descr);
        npy::parse(&[&whole[..10], header.as_bytes(), elements].concat())
    };
    let read = |descr: &str, elements: &[u8]| {
        let t = of(descr, elements).unwrap();
        assert_eq!(t.dtype(), DType::I64, "{descr}");
        t.to_vec::<i64>().unwrap()
    };
    assert_eq!(read("<i2", &[1, 0, 0xfe, 0xff]), [1, -2]);
    assert_eq!(read(">i2", &[0, 1, 0xff, 0xfe]), [1, -2]);
    assert_eq!(read("<u2", &[1, 0, 0xfe, 0xff]), [1, 65534]);
    let large = (1u64 << 62) + 1;
    assert_eq!(read("<u8", &[7u64, large].map(u64::to_le_bytes).concat()), [7, large as i64]);
    assert_eq!(read(">u8", &[7u64, large].map(u64::to_be_bytes).concat()), [7, large as i64]);
    let beyond = of("<u8", &[7u64, 1 << 63].map(u64::to_le_bytes).concat()).unwrap_err();
    assert!(beyond.contains("holds 9223372036854775808, which exceeds the largest"), "{beyond}");
    assert_eq!(gradus_files::read(&numpy("i2.npy"), &wanted("")).unwrap().item::<i64>().unwrap(), 1);
    assert!(of("<i2", &[1, 0, 2]).unwrap_err().contains("does not match"));
    assert!(of("<i3", &[0; 6]).unwrap_err().contains("holds elements of type `<i3`, which is not supported"));
}

#[test]
fn written_files_are_read_back() {
    let folder = Folder::new("back");
    let t = Tensor::from([[1.5f32, -2.0, 0.1], [4.0, 1e-7, 3e8]]);
    for file in ["a.npy", "a.npz", "a.json", "a.csv", "a.tsv", "a.safetensors"] {
        let path = folder.0.join(file);
        write(&path, "A", &t).unwrap();
        let back = read(&path, &wanted("A")).unwrap();
        assert_eq!(&*back.shape(), &[2, 3], "{file}");
        assert_eq!(back.to_dtype(DType::F32).to_vec::<f32>().unwrap(), t.to_vec::<f32>().unwrap(), "{file}");
    }
    // A list is a column, a scalar one number.
    let list = folder.0.join("list.csv");
    write(&list, "A", &Tensor::from([1.0, 2.0])).unwrap();
    let back = read(&list, &Wanted { rank: Some(1), ..wanted("A") }).unwrap();
    assert_eq!((&*back.shape(), values(&back)), (&[2][..], vec![1.0, 2.0]));
    refused(write(&list, "A", &Tensor::zeros([2, 2, 2])), "cannot hold 3 axes");
    refused(write(&folder.0.join("a.xyz"), "A", &t), "has an unknown extension");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 7, "no temporary file remains");
}

#[test]
fn damage_is_refused_before_anything_is_allocated() {
    let whole = npy::to_bytes(&Tensor::from([1.0f64, 2.0])).unwrap();
    for cut in 0..whole.len() {
        assert!(npy::parse(&whole[..cut]).is_err(), "{cut}");
    }
    let vast = String::from_utf8_lossy(&whole[10..whole.len() - 16]).replace("(2,)", "(999999999999999999,)");
    let mut bytes = whole[..8].to_vec();
    bytes.extend((vast.len() as u16).to_le_bytes());
    bytes.extend(vast.as_bytes());
    assert!(npy::parse(&bytes).unwrap_err().contains("does not match"));
    let folder = Folder::new("damage");
    refused(read(&folder.file("a.npz", "PK"), &wanted("A")), "is damaged, or is not a .npz file");
    refused(read(&folder.file("a.json", "[[1, 2], [3]]"), &wanted("A")), "is ragged");
    refused(read(&folder.file("b.json", "[1, [2]]"), &wanted("A")), "is ragged");
    refused(read(&folder.file("c.json", "[1, \"two\"]"), &wanted("A")), "where a number is expected");
    let deep = folder.file("d.json", &"[".repeat(100_000));
    refused(read(&deep, &wanted("A")), "is not valid JSON");
    refused(
        read(&folder.file("a.csv", "1,2\n3\n"), &wanted("A")),
        "line 2 has 1 columns, but earlier lines have 2",
    );
    refused(read(&folder.file("b.csv", "1,2\n3,x\n"), &wanted("A")), "line 2, column 2: `x` is not a number");
    refused(read(&folder.0.join("none.npy"), &wanted("A")), "cannot be read");
}

#[test]
fn json_of_objects_and_scalars() {
    let folder = Folder::new("json");
    let text = r#"{"X": {"shape": [2], "dtype": "f32", "data": [1, 0.5]}, "Y": 3}"#;
    let path = folder.file("all.json", text);
    let x = read(&path, &wanted("X")).unwrap();
    assert_eq!((x.dtype(), values(&x)), (DType::F32, vec![1.0, 0.5]));
    assert_eq!(read(&path, &wanted("Y")).unwrap().item::<f64>().unwrap(), 3.0);
    let shown = json::to_text(&Tensor::from(0.1f32)).unwrap();
    assert_eq!(shown, r#"{"shape": [], "dtype": "f32", "data": 0.1}"#);
    let odd = json::to_text(&Tensor::from([f64::NAN, f64::INFINITY, 1e300])).unwrap();
    assert!(odd.ends_with(r#""data": ["NaN", "inf", 1e300]}"#), "{odd}");
    let back = values(&read(&folder.file("odd.json", &odd), &wanted("X")).unwrap());
    assert!(back[0].is_nan() && back[1..] == [f64::INFINITY, 1e300]);
    let complex = Tensor::from([1.0, 2.0]).complex(&Tensor::from([3.0, 4.0]));
    let back = read(&folder.file("z.json", &json::to_text(&complex).unwrap()), &wanted("Z")).unwrap();
    assert_eq!(
        (back.dtype(), values(&back.real()), values(&back.imag())),
        (DType::C128, vec![1.0, 2.0], vec![3.0, 4.0])
    );
    let empty =
        read(&folder.file("empty.json", r#"{"shape": [0, 3], "dtype": "f32", "data": []}"#), &wanted("E"))
            .unwrap();
    assert_eq!((empty.dtype(), &*empty.shape()), (DType::F32, &[0, 3][..]));
    let wrong = r#"{"shape": [3], "data": [1, 2]}"#;
    refused(read(&folder.file("wrong.json", wrong), &wanted("X")), "has shape [3], but its data has [2]");
}

#[test]
fn facts_are_booleans() {
    let folder = Folder::new("facts");
    let path = folder.file("par.tsv", "# parents\nfrom\tto\n0\t1\n1\t2\n");
    let facts = table::Facts::read(&path).unwrap();
    assert_eq!(facts.domain(), 3);
    let t = facts.tensor(&[None, None], 4).unwrap();
    assert_eq!((t.dtype(), &*t.shape()), (DType::Bool, &[4, 4][..]));
    let holds: Vec<usize> = (0..16).filter(|i| values(&t)[*i] != 0.0).collect();
    assert_eq!(holds, [1, 6]);
    let back = folder.0.join("back.csv");
    write(&back, "P", &t).unwrap();
    assert_eq!(fs::read_to_string(&back).unwrap(), "0,1\n1,2\n");
    refused(facts.tensor(&[None, Some(2)], 0), "contains 2, but the axis has size 2");
    refused(facts.tensor(&[None], 0), "has 2 columns, but the relation has 1 axes");
    let vast = table::Facts::read(&folder.file("vast.csv", "0,999999999999\n")).unwrap();
    refused(vast.tensor(&[None, None], 0), "in total");
    refused(table::Facts::read(&folder.file("bad.csv", "0,1\n1,-2\n")), "is not a non-negative integer");
    // One line of words is a heading, a second one an error.
    let named = folder.file("named.csv", "\"from, really\",to\n0,1\n");
    assert_eq!(table::Facts::read(&named).unwrap().domain(), 2);
    let twice = folder.file("twice.csv", "from,to\nann,bob\n0,1\n");
    refused(table::Facts::read(&twice), "twice.csv: line 2, column 1: `ann` is not a non-negative integer");
    refused(
        table::Facts::read(&folder.file("minus.csv", "-1,-2\n0,1\n")),
        "line 1, column 1: `-1` is not a non-negative integer",
    );
    refused(table::Facts::read(&folder.file("wide.tsv", "from to\n0 1 2\n")), "line 2 has 3 columns");
    let empty = table::Facts::read(&folder.file("empty.tsv", "# none\n")).unwrap();
    assert_eq!(&*empty.tensor(&[None, None], 3).unwrap().shape(), &[3, 3]);
}

#[test]
fn texts_are_tokens_of_a_vocabulary() {
    let folder = Folder::new("tokens");
    let path = folder.file("a.txt", "to be or\nnot to be");
    let hot = read(&path, &wanted("T")).unwrap();
    assert_eq!(&*hot.shape(), &[6, 4]);
    let ids = read(&path, &Wanted { rank: Some(1), ..wanted("T") }).unwrap();
    assert_eq!(ids.to_vec::<i64>().unwrap(), [0, 1, 2, 3, 0, 1]);
    assert_eq!(values(&hot.argmax(-1)), [0.0, 1.0, 2.0, 3.0, 0.0, 1.0]);
    tokens::Tokens::read(&path).unwrap().write_vocabulary(&path).unwrap();
    assert_eq!(
        fs::read_to_string(folder.0.join("a.vocab.json")).unwrap(),
        "[\"to\",\"be\",\"or\",\"not\"]\n"
    );
    fs::write(&path, "be quiet").unwrap();
    refused(read(&path, &wanted("T")), "has the word `quiet`, which its vocabulary does not have");
    folder.file("a.vocab.json", r#"{"version": 1, "items": ["quiet", "so", "be"]}"#);
    let ids = read(&path, &Wanted { rank: Some(1), ..wanted("T") }).unwrap();
    assert_eq!(ids.to_vec::<i64>().unwrap(), [2, 0]);
}

#[test]
fn elements_are_written_as_json_lines() {
    let folder = Folder::new("rows");
    let x = Tensor::from([[1.0, 3.0, 2.0]]);
    let (values, indices) = x.topk(2, -1, true);
    let path = folder.0.join("top.jsonl");
    json::write_top(&path, "X", &values, &indices).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], r#"{"row": [0], "rank": 0, "index": 1, "value": 3}"#);
    assert_eq!(lines[2], r#"{"row": [0], "rank": 1, "index": 2, "value": 2}"#);
    write(&path, "X", &x).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().nth(2).unwrap(), r#"{"index": [0, 1], "value": 3}"#);
}

#[test]
fn a_cell_that_another_thread_changes_is_written_in_one_state() {
    let folder = Folder::new("meanwhile");
    let (path, done) = (folder.0.join("a.safetensors"), std::sync::atomic::AtomicBool::new(false));
    let order = std::sync::atomic::Ordering::Relaxed;
    let cells = [("a".to_string(), Tensor::full([4096], 0.0f32).cell())];
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut k = 0.0f32;
            while !done.load(order) {
                k += 1.0;
                cells[0].1.set_(&Tensor::full([4096], k)).unwrap();
            }
        });
        for _ in 0..100 {
            gradus_files::safetensors::write(&path, &cells, &Default::default()).unwrap();
            let t = gradus_files::safetensors::Reader::open(&path).unwrap().tensor("a");
            let found = t.map(|t| values(&t)).unwrap_or_default();
            if found.len() != 4096 || found.iter().any(|v| *v != found[0]) {
                done.store(true, order);
                panic!("the file mixes elements of two states");
            }
        }
        done.store(true, order);
    });
}
