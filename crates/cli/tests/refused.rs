//! Errors that the command reports before it computes or writes anything, and errors in imported programs.

use crate::common::{Folder, gradus, gradus_with, output};

/// Tests that two values for the same file are an error.
#[test]
fn files_that_would_be_written_twice() {
    let folder = Folder::new("twice");
    let out = folder.0.join("out").display().to_string();
    let refused = |text: &str, why: &str| {
        let found = gradus_with(text, &["run", "-", "--out", &out]);
        assert!(found.code == 1 && found.err.contains(why), "{text}\n{}", found.err);
        assert!(!folder.0.join("out").exists(), "nothing is written");
    };
    refused("Y[i] = const([1, 2])\n\"Y.npy\" = 2 Y[i]", "`Y.npy` is also the file of a printed value");
    let twice = "Y[i] = const([1, 2])\n\"a.json\" = Y[i]\n\"./a.json\" = 2 Y[i]";
    refused(twice, "`./a.json` is written twice");
    output("Y[i] = const([1, 2])\n\"a.json\" = Y[i]\n\"b/a.json\" = 2 Y[i]", &["run", "-", "--out", &out]);
}

#[test]
fn temperatures_without_effect() {
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
fn too_many_rounds() {
    let found = gradus_with("X = X + 1", &["run", "-", "--rounds", "100000000000"]);
    assert!(found.code == 2 && found.err.contains("at most 1000000 rounds"), "{}", found.err);
}

/// A loop with a condition takes at most the stated number of steps.
#[test]
fn times_that_do_not_end() {
    let text = "X[*0] = 1\nX[*t+1] = X[*t] + 1\nGo[*t] = X[*t] > 0\naxis t while Go";
    let found = gradus_with(text, &["run", "-", "--steps", "7"]);
    assert!(found.code == 1 && found.out.is_empty(), "{}", found.out);
    assert!(
        found.err.contains("time `t` does not end: after 7 steps") && found.err.contains(":4:1"),
        "{}",
        found.err
    );
}

/// Floats are printed with the digits of their own dtype.
#[test]
fn digits_of_floats() {
    let folder = Folder::new("floats");
    let out = folder.0.display().to_string();
    output("Y[i] = const([0.1, 1e-30, 2])\n\"y.csv\" = Y[i]", &["run", "-", "--out", &out]);
    assert_eq!(folder.read("y.csv"), "0.1\n1e-30\n2\n");
    let ask = |query: &str, json: &[&str]| {
        output(
            "Y[i] = const([0.1, 2])\nK = cast(9007199254740993, to=\"i64\")",
            &[&["query", "-", query], json].concat(),
        )
    };
    assert_eq!((ask("Y[0]", &[]), ask("K", &[])), ("0.1\n".into(), "9007199254740993\n".into()));
    assert_eq!(ask("Y[i]", &["--json"]), "[{\"Y\":0.1,\"i\":0},{\"Y\":2,\"i\":1}]\n");
}

/// Integers are read and written with all their digits, or refused.
#[test]
fn digits_of_whole_numbers() {
    let folder = Folder::new("digits");
    let out = folder.0.join("out").display().to_string();
    let said = folder.file("said.json", r#"{"dtype": "i64", "data": [9007199254740993, 1]}"#);
    let bare = folder.file("bare.json", "[9007199254740993, 1]");
    let table = folder.file("bare.csv", "9007199254740993\n1\n");
    let sum = |text: &str, input: &str| {
        let found = output(text, &["run", "-", "--json", "--input", &format!("X={input}")]);
        assert!(found.contains("[9007199254740994, 2]"), "{text}\n{found}");
    };
    sum("Y[i] = X[i] + 1", &said);
    sum("Y[i] = cast(X[i], to=\"i64\") + 1", &bare);
    sum("Y[i] = cast(X[i], to=\"i64\") + 1", &table);
    let found = output("Y = cast(X, to=\"i64\") + 1", &["run", "-", "--set", "X=9007199254740993"]);
    assert!(found.contains("9007199254740994"), "{found}");
    let sinks = "Y[i] = X[i] + 1\n\"y.csv\" = Y[i]\n\"y.jsonl\" = Y[i]";
    output(sinks, &["run", "-", "--out", &out, "--input", &format!("X={said}")]);
    assert_eq!(folder.read("out/y.csv"), "9007199254740994\n2\n");
    assert!(folder.read("out/y.jsonl").contains("\"value\": 9007199254740994}"));
    let vast = ["run", "-", "--set", "K=9007199254740993"];
    let found = gradus_with("param K = 1\nY = cast(K, to=\"i64\")", &vast);
    assert!(
        found.code == 2 && found.err.contains("parameters are floats, and no float equals this integer"),
        "{}",
        found.err
    );
    for (text, why) in [
        (r#"{"dtype": "i64", "data": [1.5]}"#, "has 1.5, which is not an integer of type i64"),
        (r#"{"dtype": "u8", "data": [300]}"#, "has 300, which type u8 cannot hold"),
    ] {
        let file = folder.file("wrong.json", text);
        let found = gradus_with("Y[i] = X[i]", &["run", "-", "--input", &format!("X={file}")]);
        assert!(found.code == 1 && found.err.contains(why), "{}", found.err);
    }
}

#[test]
fn parameters_of_libraries_are_suggested() {
    let folder = Folder::new("suggested");
    folder.file("lib.eq", "param p = 2\nfn f(x) -> y { y = p x }\n");
    let file = folder.file("main.eq", "import \"lib.eq\" as l\nY = l::f(3)\n");
    let found = gradus(&["run", &file, "--set", "p=3"]);
    assert!(found.code == 2 && found.err.contains("did you mean `l::p`?"), "{}", found.err);
}

/// A gradient that is written to another folder finds the files of its program.
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

/// A path that can never be written is an error, even if nothing is written.
#[test]
fn files_that_could_never_be_written() {
    for (path, why) in
        [("../x.npy", "is outside of the output folder"), ("x.xyz", "has an unknown extension")]
    {
        let found = gradus_with(&format!("Y[i] = const([1, 2])\n\"{path}\" = Y[i]"), &["run", "-"]);
        assert!(found.code == 1 && found.err.contains(why), "{}", found.err);
        assert!(found.out.is_empty(), "{}", found.out);
    }
}

/// An input may be given by one option only.
#[test]
fn inputs_given_twice() {
    let folder = Folder::new("given_twice");
    let file = format!("X={}", folder.file("x.json", "[1, 2]"));
    for given in [["--input", &file, "--input", &file], ["--set", "X=[1]", "--input", &file]] {
        let found = gradus_with("Y = X[i]", &[&["run", "-"], &given[..]].concat());
        let pointed = found.err.contains("`X` is given twice") && found.err.contains("command line:1:");
        assert!(found.code == 2 && pointed, "{}", found.err);
    }
}

/// An index out of range is reported with the call that reads it, and its line.
#[test]
fn indices_out_of_range() {
    let text = "X[i] = const([1, 2, 3])\nZ[j] = 2 gather(X[i], Q[j])";
    let found = gradus_with(text, &["run", "-", "--set", "Q=[0, 7]"]);
    let said = "`gather` is given position 7, but there are 3 positions, counted from 0";
    assert!(found.code == 1 && found.err.contains(said) && found.err.contains(":2:10"), "{}", found.err);
}

/// With `--f64` numbers are shown with all their digits.
#[test]
fn digits_of_doubles() {
    let shown = output("X = 1 / 3\nY[i] = const([0.1, 0.25])", &["run", "-", "--f64"]);
    assert!(shown.contains("0.3333333333333333\n") && shown.contains("[0.1  0.25]"), "{shown}");
}

/// A program that cannot run has no gradient.
#[test]
fn gradients_of_sizes_that_clash() {
    let text = "A[i] = const([1, 2])\nB[i] = const([1, 2, 3])\nLoss = A[i] B[i] X[j]";
    let found = gradus_with(text, &["grad", "-"]);
    assert!(found.code == 1 && found.out.is_empty(), "{} {}", found.out, found.err);
    assert!(found.err.contains("index `i` has size 3 in `B`, but 2 elsewhere"), "{}", found.err);
    assert_eq!(gradus_with("Loss = A[i] B[i] X[j]", &["grad", "-"]).code, 0);
}

/// Suggested names exist and have no value yet.
#[test]
fn names_that_are_not_suggested() {
    let text = "Grad_W = 1\nY = 2 Grad_W";
    let found = gradus_with(text, &["run", "-", "--only", "Grad_W,Grad_P"]);
    assert!(found.code == 2 && !found.err.contains("did you mean"), "{}", found.err);
    let missing = gradus_with("Y = Alpha + Alphb", &["run", "-"]);
    assert!(missing.code == 1 && !missing.err.contains("did you mean"), "{}", missing.err);
    let steps = gradus_with("S[*t+1] = S[*t] + 1", &["run", "-", "--steps", "-5"]);
    assert!(steps.code == 2 && steps.err.contains("expected an integer, 0 or more"), "{}", steps.err);
}

/// One run reports all errors of names, files, inputs and sizes, but no consequences of these errors.
#[test]
fn faults_of_all_kinds_at_once() {
    let said = |text: &str, args: &[&str]| {
        let found = gradus_with(text, &[&["run", "-"], args].concat());
        let errors = found.err.lines().filter_map(|l| l.strip_prefix("error: "));
        (found.code, errors.map(str::to_string).collect::<Vec<_>>())
    };
    let files = "A[i] = \"no-such-1.npy\"\nB[i] = \"no-such-2.npy\"\nY[i] = A[i] B[i] C[i] D[i]\n\
        Z[i] = const([1,2]) + const([1,2,3])\nV[i] = 2 Y[i] Z[i]";
    let (code, errors) = said(files, &["--input", "D=no-such-3.npy"]);
    let begin = [
        "./no-such-1.npy: ",
        "./no-such-2.npy: ",
        "`C` has no equation",
        "index `i` of `Z` has size 3",
        "no-such-3.npy: ",
    ];
    assert!(code == 1 && errors.len() == 5, "{errors:?}");
    assert!(begin.iter().zip(&errors).all(|(b, e)| e.starts_with(b)), "{errors:?}");
    // The program has an unknown function, a line that does not parse and an unknown export. Names that such
    // lines would define are not reported as missing.
    let names =
        "Y[i] = Bee[i] + tanhh(B[i])\nP[i] = (2 B[i]\nQ[i] = P[i] + Y[i]\nR[i] = B[i] X[j]\nexport YY";
    let (code, errors) = said(names, &["--set", "B=[1, 2]"]);
    let begin = [
        "`Bee` has no equation",
        "there is no function `tanhh`",
        "this `(` is never closed",
        "`X` has no equation",
        "`YY` is exported",
    ];
    assert!(code == 1 && errors.len() == 5, "{errors:?}");
    assert!(begin.iter().zip(&errors).all(|(b, e)| e.starts_with(b)), "{errors:?}");
    // Inputs given by options are checked too; the number of time steps may be in a line that does not parse.
    let sizes = "Y[i] = tanhh(A[i])\nZ[i] = A[i] B[i]";
    let (_, errors) = said(sizes, &["--set", "A=[1, 2]", "--set", "B=[1, 2, 3]"]);
    assert!(errors.len() == 2 && errors[1].starts_with("index `i` has size 3 in `B`, but 2"), "{errors:?}");
    let time = "X[*t] = \"no-such.npy\"\nS[*t+1] = S[*t] + X[*t] W";
    let (_, errors) = said(time, &[]);
    assert!(errors.len() == 2 && errors[1].starts_with("`W` has no equation"), "{errors:?}");
    // Inputs that `check` draws at random are not reported as missing.
    let drawn = gradus_with("A[i] = \"no-such.npy\"\nY[i] = A[i] B[i]", &["check", "-"]);
    assert!(drawn.code == 1 && !drawn.err.contains("`B`"), "{}", drawn.err);
}

/// Names in a list are separated by commas.
#[test]
fn empty_names() {
    for args in [["run", "--only", ",Z"], ["explain", "--only", "Z, "], ["grad", "--wrt", "A,,B"]] {
        let found = gradus_with("A = 2\nB = 3\nZ = A B", &[args[0], "-", args[1], args[2]]);
        assert_eq!(found.code, 2, "{}", found.err);
        assert!(found.err.contains("expected names separated by commas"), "{}", found.err);
    }
    let found = gradus_with("A = 2\nZ = 3 A", &["run", "-", "--only", " Z, A"]);
    assert_eq!((found.code, &*found.out), (0, "Z: f32\n6.\n\nA: f32\n2.\n"));
}

/// Errors of the command line and of the program are reported together.
#[test]
fn the_command_and_the_program_at_once() {
    let cases: &[(&str, &[&str], u8, &[&str])] = &[
        (
            "Z[i] = B[i] C[i]",
            &["--set", "X=3", "--input", "B=nope.npy"],
            2,
            &["no parameter or input `X`", "nope.npy", "`C` has no equation"],
        ),
        (
            "Y[i] = tanhh(A[i])\nZ = 1",
            &["--only", "Nope", "--set", "Q=1"],
            2,
            &["no function `tanhh`", "no tensor `Nope`", "no parameter or input `Q`"],
        ),
        ("Z = 1", &["--only", "Nope", "--set", "Q=1"], 2, &["no tensor `Nope`", "no parameter or input `Q`"]),
        ("Y[i] = tanhh(A[i])", &["--set", "A=[1]"], 1, &["no function `tanhh`"]),
        (
            "param k = 2\nY[i] = k tanhh(A[i])",
            &["--set", "k=two", "--set", "A=[1"],
            2,
            &["no function `tanhh`", "k=two: expected a number", "A=[1: "],
        ),
    ];
    for (text, args, code, expected) in cases {
        let found = gradus_with(text, &[&["run", "-"], *args].concat());
        assert_eq!(found.code, *code, "{}", found.err);
        let count = found.err.matches("error: ").count();
        assert_eq!(count, expected.len(), "{}", found.err);
        expected.iter().for_each(|e| assert!(found.err.contains(e), "{e}\n{}", found.err));
    }
    // Names that a line with a syntax error may define are not reported as missing.
    let found = gradus_with("Y[i] = (A[i]\nZ = 1", &["run", "-", "--only", "Y", "--set", "A=[1]"]);
    assert!(found.code == 1 && !found.err.contains("the program has no"), "{}", found.err);
}

/// Errors that only follow from an earlier error are not reported.
#[test]
fn sizes_that_missing_inputs_determine() {
    for text in
        ["A[i] = \"no.npy\"\nX[i] = A[i] - index(i)", "X[i] = A[i] - index(i)", "X[i] = even(i) + A[i]"]
    {
        let found = gradus_with(text, &["run", "-"]);
        assert!(found.code == 1 && !found.err.contains("not known"), "{}", found.err);
    }
    let alone = gradus_with("X[i] = A + index(i)", &["run", "-", "--set", "A=1"]);
    assert!(alone.err.contains("the size of index `i` is not known"), "{}", alone.err);
}

/// An unknown name does not hide other missing names.
#[test]
fn a_wrong_name_and_missing_inputs_in_one_run() {
    let found = gradus_with("Y[i] = X[i] + 1\nZ[i] = V[i]", &["run", "-", "--only", "Nope"]);
    assert_eq!(found.code, 2);
    for said in ["the program has no tensor `Nope`", "`X`", "`V`"] {
        assert!(found.err.contains(said), "{said}: {}", found.err);
    }
    let found = gradus_with(
        "Y[i] = X[i] + 1\nZ[i] = V[i]",
        &["run", "-", "--only", "Nope,Z", "--input", "V=nope.npy"],
    );
    assert!(
        found.code == 2 && found.err.contains("`Nope`") && found.err.contains("nope.npy"),
        "{}",
        found.err
    );
    assert!(!found.err.contains("`X`"), "{}", found.err);
    let found = gradus_with("Y[i] = X[i] + 1", &["explain", "-", "--only", "Nope"]);
    assert!(found.code == 2 && found.err.contains("`X`"), "{}", found.err);
}
