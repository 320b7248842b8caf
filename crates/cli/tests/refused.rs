//! What the command refuses before it computes or writes anything, and programs that are written elsewhere.

mod common;

use common::{Folder, gradus, gradus_with, output};

/// Every file is written once.
#[test]
fn files_that_would_be_written_twice() {
    let folder = Folder::new("twice");
    let out = folder.0.join("out").display().to_string();
    let refused = |text: &str, why: &str| {
        let found = gradus_with(text, &["run", "-", "--out", &out]);
        assert!(found.code == 1 && found.err.contains(why), "{text}\n{}", found.err);
        assert!(!folder.0.join("out").exists(), "nothing is written");
    };
    refused(
        "Y[i] = const([1, 2])\n\"Y.npy\" = 2 Y[i]",
        "`Y.npy` is what the run writes a value of its own to",
    );
    let twice = "Y[i] = const([1, 2])\n\"a.json\" = Y[i]\n\"./a.json\" = 2 Y[i]";
    refused(twice, "`./a.json` is written twice");
    output("Y[i] = const([1, 2])\n\"a.json\" = Y[i]\n\"b/a.json\" = 2 Y[i]", &["run", "-", "--out", &out]);
}

#[test]
fn temperatures_of_nothing() {
    for (text, given, why) in [
        ("Y = 1", "*=3", "nothing in the program has a temperature"),
        ("Y = sig(1, 2)", "*=3", "nothing in the program has a temperature"),
        ("Y = 1\nZ = sig(Y)", "Y=3", "no equation of `Y` has a temperature"),
    ] {
        let found = gradus_with(text, &["run", "-", "--temperature", given]);
        assert!(found.code == 2 && found.err.contains(why), "{text}\n{}", found.err);
    }
    let soft = output("Y = sig(1)", &["run", "-", "--temperature", "*=3"]);
    assert!(soft.contains("0.5825702"), "{soft}");
    output("fn f(x) -> y { y = sig(x) }\nY = f(1)", &["run", "-", "--temperature", "*=3"]);
}

#[test]
fn more_rounds_than_anyone_waits_for() {
    let found = gradus_with("X = X + 1", &["run", "-", "--rounds", "100000000000"]);
    assert!(found.code == 2 && found.err.contains("at most 1000000 rounds"), "{}", found.err);
}

#[test]
fn parameters_of_libraries_are_suggested() {
    let folder = Folder::new("suggested");
    folder.file("lib.eq", "param p = 2\nfn f(x) -> y { y = p x }\n");
    let file = folder.file("main.eq", "import \"lib.eq\" as l\nY = l::f(3)\n");
    let found = gradus(&["run", &file, "--set", "p=3"]);
    assert!(found.code == 2 && found.err.contains("did you mean `l::p`?"), "{}", found.err);
}

/// A gradient that is written to another folder finds what its program finds.
#[test]
fn gradients_in_another_folder() {
    let folder = Folder::new("elsewhere");
    for inner in ["sub", "other/deep"] {
        std::fs::create_dir_all(folder.0.join(inner)).unwrap();
    }
    folder.file("sub/lib.eq", "fn f(x) -> y { y = 2 x }\n");
    folder.file("sub/x.json", "[1, 2]");
    let file =
        folder.file("sub/p.eq", "import \"lib.eq\" as l # \"here\"\nX[i] = \"x.json\"\nLoss = l::f(X[i])\n");
    for (to, way) in [("out.eq", "sub/"), ("other/deep/out.eq", "../../sub/"), ("sub/out.eq", "")] {
        let to = folder.0.join(to).display().to_string();
        output("", &["grad", &file, "-o", &to]);
        let text = std::fs::read_to_string(&to).unwrap();
        let head = format!("import \"{way}lib.eq\" as l # \"here\"\nX[i] = \"{way}x.json\"\n");
        assert!(text.starts_with(&head), "{text}");
        let found = output("", &["run", &to, "--only", "Grad_X"]);
        assert!(found.contains("[2. 2.]"), "{found}");
    }
}

/// A file that could never be written is wrong, whether or not anything is.
#[test]
fn files_that_could_never_be_written() {
    for (path, why) in
        [("../x.npy", "lies outside of the output folder"), ("x.xyz", "has no ending that is known")]
    {
        let found = gradus_with(&format!("Y[i] = const([1, 2])\n\"{path}\" = Y[i]"), &["run", "-"]);
        assert!(found.code == 1 && found.err.contains(why), "{}", found.err);
        assert!(found.out.is_empty(), "{}", found.out);
    }
}
