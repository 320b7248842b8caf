//! Checks the formatter: the program is the same, comments and blank lines are kept, and formatting again
//! changes nothing.

use crate::common::same;
use gradus_lang::{Program, Source, format};
use std::fs;
use std::path::{Path, PathBuf};

fn formatted(text: &str) -> String {
    format(&Source::new("test", text)).unwrap_or_else(|f| panic!("{f}"))
}

/// Returns all programs of the repository, including those of the language reference.
fn programs() -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in ["tests/seed", "tests/bad", "../../examples/equations"] {
        let files = fs::read_dir(here.join(folder)).unwrap().map(|e| e.unwrap().path());
        let files: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "eq")).collect();
        all.extend(files.into_iter().map(|p| (p.display().to_string(), fs::read_to_string(p).unwrap())));
    }
    let page = fs::read_to_string(here.join("../../docs/language.md")).unwrap();
    let blocks = page.split("```eq\n").skip(1).filter_map(|b| b.split_once("```"));
    all.extend(
        blocks.enumerate().map(|(i, (text, _))| (format!("example {i} of the page"), text.to_string())),
    );
    all
}

#[test]
fn all_programs_mean_the_same() {
    let mut compared = 0;
    for (name, text) in programs() {
        let Ok(after) = format(&Source::new(&name, &text)) else { continue };
        assert_eq!(formatted(&after), after, "{name}");
        let comments = |t: &str| t.matches('#').count();
        assert_eq!(comments(&after), comments(&text), "{name}\n{after}");
        // Programs with imports are skipped: the libraries are not available here.
        let (Ok(a), Ok(b)) =
            (Program::parse(Source::new("", &text)), Program::parse(Source::new("", &after)))
        else {
            continue;
        };
        assert!(same(&a.statements(), &b.statements()), "{name}\n{after}");
        compared += 1;
    }
    assert!(compared >= 60, "{compared} compared");
}

#[test]
fn the_form() {
    let text = "\n\n#  top \nA[ i ,j]=const( [[1,2],\n [3,4]] )#one\n\n\nB = A[i,j]A[i,j] ;C=-2**2 # two\n{ let t=1;\n\n  # inside\n Y=t }\n\
                fn f(a[x])->y{ y=a[x] # why\n}\nexport A,B\n\n\n";
    let expected = "#  top\nA[i, j] = const([[1, 2], [3, 4]])  #one\n\n\nB = A[i, j] A[i, j]\nC = -2 ** 2  # two\n{\n    let t = 1\n\n    # inside\n    \
                    Y = t\n}\nfn f(a[x]) -> y {\n    y = a[x]  # why\n}\nexport A, B\n";
    let after = formatted(text);
    assert_eq!(after, expected);
    assert_eq!(formatted(&after), after);
}

#[test]
fn what_somebody_laid_out_stays() {
    let row = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12";
    let long = format!("W[i, j] = const([[{row}],\n                 [{row}],\n                 [{row}]])\n");
    assert_eq!(formatted(&long), long);
    let inside = "Y[i] = softmax(A[i],  # along the last\n               axis=\"i\")\n";
    assert_eq!(formatted(inside), inside);
    assert_eq!(formatted(""), "");
    assert_eq!(formatted("# only words"), "# only words\n");
    assert!(format(&Source::new("test", "Y = (")).is_err());
}

/// Between brackets, parentheses distinguish a number of the program from an index.
#[test]
fn positions_keep_their_meaning() {
    let start = "param k = 2\na = 1\nA[i] = const([1, 10, 100, 1000])\n";
    for (line, shown, expected) in [
        ("Y = A[(a)]", "Y = A[(a)]", 10.0),
        ("Y = A[(a)+1]", "Y = A[(a)+1]", 100.0),
        ("Y = A[(a)-1]", "Y = A[(a)-1]", 1.0),
        ("Y = A[(k)]", "Y = A[(k)]", 100.0),
        ("Y = A[(k) + 1]", "Y = A[(k)+1]", 1000.0),
        ("Y = A[2*k-1]", "Y = A[2*k-1]", 1000.0),
        ("Y = A[1-2]", "Y = A[1-2]", 0.0),
        ("Y = A[j+k]", "Y = A[j+k]", 1100.0),
        ("Y = A[a]", "Y = A[a]", 1111.0),
    ] {
        let text = format!("{start}{line}\n");
        let run = |text: &str| {
            let program = Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"));
            let values = program.run(&Default::default(), &Default::default(), &["Y".into()]);
            values.unwrap_or_else(|f| panic!("{text}\n{f}"))["Y"].item::<f32>().unwrap()
        };
        let after = formatted(&text);
        assert!(after.ends_with(&format!("{shown}\n")), "{after}");
        let program = Program::parse(Source::new("test", &text)).unwrap();
        for text in [text, after, program.open_text(), program.core()] {
            let lines: String =
                text.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
            assert_eq!(run(&lines), expected, "{lines}");
        }
    }
}
