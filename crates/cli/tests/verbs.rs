//! The output and the exit code of every verb.

use crate::common::{Folder, STEPS, gradus, gradus_with, json, output, seed};

#[test]
fn run_shows_values() {
    let text = output("X[i] = const([1, 2])\nY[i] = X[i] X[i]\nZ = Y[i]", &["run", "-", "--only", "Y,Z"]);
    assert_eq!(text, "Y[i]: f32 2\n[1. 4.]\n\nZ: f32\n5.\n");
}

/// Names inside of blocks are made unique, so that the lines of a gradient can read them.
#[test]
fn grad_of_blocks_runs() {
    let text = "X = 3\n{\n    let t = X X # inside\n    A = t t\n}\n{ let t = 2 X; B = t }\nLoss = A B\n";
    let grad = output(text, &["grad", "-"]);
    assert!(
        grad.starts_with("X = 3\n{\n    t = X X # inside\n    A = t t\n}\n{ t_2 = 2 X; B = t_2 }\n"),
        "{grad}"
    );
    // 2 X⁵ has the derivative 10 X⁴.
    assert!(output(&grad, &["run", "-", "--only", "Grad_X"]).contains("810"), "{grad}");
    let whole = output(text, &["run", "-"]);
    assert_eq!(whole, "Loss: f32\n486.\n");
}

/// The temperature of a name also applies to the lines of its gradient.
#[test]
fn temperatures_reach_gradients() {
    let text = "X[i] = const([0.3, -0.2])\nY[i] = sig(X[i])\nZ[i] = sig(Y[i] X[i])\nLoss = Z[i] Z[i] Y[i]\n";
    let given = ["--temperature", "Y=0.7", "--temperature", "Z=1.3"];
    let checked = gradus_with(text, &[&["check", "-"], &given[..]].concat());
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let grad = output(text, &["grad", "-", "--wrt", "X"]);
    let number = |text: &str, args: &[&str]| {
        let value = json(&output(text, &[&["run", "-", "--json", "--f64"], args].concat()));
        value.as_object().unwrap().values().next().unwrap()["data"].clone()
    };
    let found = number(&grad, &[&["--only", "Grad_X"], &given[..]].concat());
    for (i, slope) in found.as_array().unwrap().iter().enumerate() {
        let at = |h: f64| {
            let mut x = [0.3, -0.2];
            x[i] += h;
            let moved = text.replace("0.3, -0.2", &format!("{}, {}", x[0], x[1]));
            number(&moved, &[&["--only", "Loss"], &given[..]].concat()).as_f64().unwrap()
        };
        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!(
            difference.abs() > 1e-2 && (slope.as_f64().unwrap() - difference).abs() < 1e-8,
            "{slope} {difference}"
        );
    }
    assert_eq!(gradus_with(&grad, &[&["explain", "-"], &given[..]].concat()).code, 0);
}

#[test]
fn run_json_is_one_object() {
    let text = output(
        "Y[i,j] = const([[1, 2.5], [3, 4]])\nS = 0.1\nR(x) = P(x)\nP(x) = Y[x,0] > 1",
        &["run", "-", "--json"],
    );
    let value = json(&text);
    assert_eq!(value["S"], json(r#"{"shape": [], "dtype": "f32", "data": 0.1}"#));
    let all = json(&output("Y[i,j] = const([[1, 2.5], [3, 4]])", &["run", "-", "--json"]));
    assert_eq!(all, json(r#"{"Y": {"shape": [2, 2], "dtype": "f32", "data": [[1, 2.5], [3, 4]]}}"#));
    assert_eq!(value["R"], json(r#"{"shape": [2], "dtype": "bool", "data": [false, true]}"#));
}

#[test]
fn run_of_the_seed_programs_in_f64() {
    for (file, loss) in [("mlp.eq", 0.994097233248), ("attention.eq", 0.279249727660)] {
        let value = json(&output("", &["run", &seed(file), "--json", "--f64"]));
        assert_eq!(value["Loss"]["dtype"], "f64");
        assert!((value["Loss"]["data"].as_f64().unwrap() - loss).abs() < 1e-12);
    }
}

#[test]
fn complex_numbers_are_read_and_shown() {
    let folder = Folder::new("complex");
    let mut header = "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }".to_string();
    header.push_str(&" ".repeat(128 - 10 - 1 - header.len()));
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    let number = [1.5f32.to_le_bytes(), (-2f32).to_le_bytes()].concat();
    let bytes = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &number].concat();
    let file = folder.0.join("c.npy");
    std::fs::write(&file, bytes).unwrap();
    let input = format!("X={}", file.display());
    let shown = gradus_with("Y = 2 X[i]", &["run", "-", "--input", &input]);
    assert!(shown.code == 0 && shown.out == "Y: c64\n3.-4.j\n", "{}{}", shown.out, shown.err);
    let json = gradus_with("Y = 2 X[i]", &["run", "-", "--json", "--input", &input]);
    assert_eq!(json.out, "{\"Y\": {\"shape\": [], \"dtype\": \"c64\", \"data\": [3, -4]}}\n");
    let refused = gradus_with("Y = X[i] > 1", &["run", "-", "--input", &input]);
    assert!(refused.code == 1 && refused.err.contains("a complex number has no order"), "{}", refused.err);
}

#[test]
fn inputs_come_from_files_and_from_the_command_line() {
    let folder = Folder::new("inputs");
    let program = folder.file("p.eq", "param k = 2\nY[i] = k A[i,j] B[j] s");
    let a = folder.file("a.csv", "1,2\n3,4\n");
    let b = folder.file("b.json", r#"{"B": [10, 1]}"#);
    let (a, b) = (format!("A={a}"), format!("B={b}"));
    let args = ["run", &program, "--input", &a, "--input", &b, "--set", "s=0.5", "--set", "k=4", "--json"];
    assert_eq!(json(&output("", &args))["Y"]["data"], json("[24, 68]"));
    let missing = gradus(&["run", &program, "--input", &a]);
    assert_eq!(missing.code, 1);
    assert!(
        missing.err.contains("`B` has no equation, so it is an input, and none was given"),
        "{}",
        missing.err
    );
    let unknown = gradus(&["run", &program, "--input", &a, "--input", &b, "--set", "s=1", "--set", "kk=1"]);
    assert!(unknown.err.contains("did you mean `k`?"), "{}", unknown.err);
}

#[test]
fn sources_are_read_and_sinks_written_below_the_folder_only() {
    let folder = Folder::new("sinks");
    folder.file("par.tsv", "0\t1\n1\t2\n");
    folder.file("male.tsv", "3\n");
    let program = folder.file(
        "p.eq",
        "Par(x,y) = \"par.tsv\"\nMale(x) = \"male.tsv\"\nAnc(x,y) = Par(x,y)\nAnc(x,z) = Par(x,y) Anc(y,z)\n\
         Both(x) = Anc(x,y) Male(x)\nS[i] = const([3, 1, 2])\n\"deep/anc.tsv\" = Anc(x,y)\n\"top.jsonl\" = topk(S[i], k=2)\nexport Anc",
    );
    let out = folder.0.join("out").display().to_string();
    let text = output("", &["run", &program, "--out", &out]);
    assert!(text.starts_with("Anc(x, y): bool 3×3\n"), "{text}");
    assert_eq!(folder.read("out/deep/anc.tsv"), "0\t1\n0\t2\n1\t2\n");
    assert!(folder.read("out/top.jsonl").contains("{\"row\": [], \"rank\": 1, \"index\": 2, \"value\": 2}"));
    assert!(folder.0.join("out/Anc.npy").exists());
    // Both files share a domain; the second file enlarges it to four.
    assert!(output("", &["run", &program, "--only", "Both"]).starts_with("Both(x): bool 4\n"));
    for path in ["../x.npy", "/x.npy", "a/../../x.npy"] {
        let bad = folder.file("bad.eq", &format!("Y = 1\n\"{path}\" = Y"));
        let refused = gradus(&["run", &bad, "--out", &out]);
        assert_eq!(refused.code, 1);
        assert!(refused.err.contains("is outside of the output folder"), "{}", refused.err);
    }
    assert!(!folder.0.join("x.npy").exists());
}

#[test]
fn texts_are_read_with_their_vocabulary() {
    let folder = Folder::new("texts");
    folder.file("a.txt", "a b a");
    let program = folder.file("p.eq", "T[p,v] = \"a.txt\"\nC[v] = T[p,v]");
    let out = folder.0.join("out").display().to_string();
    let text = output("", &["run", &program, "--json", "--out", &out]);
    assert_eq!(json(&text)["C"]["data"], json("[2, 1]"));
    assert_eq!(folder.read("out/T.vocab.json"), "[\"a\",\"b\"]\n");
    assert!(!folder.0.join("a.vocab.json").exists(), "nothing is written next to the program");
}

#[test]
fn grad_writes_the_expected_program() {
    for name in ["mlp", "attention"] {
        let expected = std::fs::read_to_string(seed(&format!("{name}.grad.eq"))).unwrap();
        assert_eq!(output("", &["grad", &seed(&format!("{name}.eq"))]), expected);
    }
    let only = output("", &["grad", &seed("mlp.eq"), "--wrt", "W2", "--gradients-only"]);
    assert!(only.ends_with("Grad_W2[o, h] = Grad_Logits[b, o] Activation[b, h]\n"), "{only}");
    assert!(!only.contains("Grad_W1"));
    let merged = output("", &["grad", &seed("attention.eq"), "--merged", "--gradients-only"]);
    assert_eq!(merged.lines().filter(|l| l.starts_with("Grad_X")).count(), 1);
    let folder = Folder::new("grad");
    let file = folder.0.join("g.eq").display().to_string();
    assert_eq!(output("", &["grad", &seed("mlp.eq"), "-o", &file]), "");
    let value = json(&output(&folder.read("g.eq"), &["run", "-", "--only", "Grad_B2", "--json", "--f64"]));
    assert_eq!(value["Grad_B2"]["shape"], json("[2]"));
    let wrong = gradus(&["grad", &seed("mlp.eq"), "--wrt", "W3"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("--> command line:1:") && wrong.err.contains("^^^^^^^^"), "{}", wrong.err);
    assert!(
        wrong.err.contains("did you mean `W1`?") || wrong.err.contains("did you mean `W2`?"),
        "{}",
        wrong.err
    );
}

/// A loss with indices is an error, whether `--loss` names it or it was found by its name.
#[test]
fn grad_of_a_loss_with_indices() {
    for args in [&["grad", "-"][..], &["grad", "-", "--loss", "Loss"]] {
        let wrong = gradus_with("A[i] = const([1, 2])\nLoss[i] = 2 A[i]", args);
        let said = "`Loss` has 1 index; only a scalar can be differentiated";
        assert!(wrong.code == 1 && wrong.err.contains(said), "{}", wrong.err);
        assert!(wrong.err.contains("Total = Loss[i]"), "{}", wrong.err);
    }
}

/// Facts that are not numbers are refused with file and line.
#[test]
fn facts_have_one_heading() {
    let folder = Folder::new("facts");
    folder.file("par.csv", "from,to\nann,bob\n0,1\n");
    let file = folder.file("p.eq", "Par(x,y) = \"par.csv\"\nN = Par(x,y)");
    let wrong = gradus(&["run", &file]);
    let said = "par.csv: line 2, column 1: `ann` is not a non-negative integer";
    assert!(wrong.code == 1 && wrong.err.contains(said), "{}", wrong.err);
}

/// The exit code is 2 for a wrong command line and 1 for a wrong program.
#[test]
fn exit_codes() {
    let code = |program: &str, args: &[&str]| {
        let found = gradus_with(program, &[&[args[0], "-"], &args[1..]].concat());
        assert!(!found.err.is_empty(), "{args:?}");
        found.code
    };
    let fine = "param k = 2\nA[i] = const([1, 2])\nY[i] = k A[i]";
    for args in [
        &["run", "--only", "Z"][..],
        &["run", "--set", "z=1"],
        &["run", "--set", "Y=1"],
        &["run", "--set", "k=two"],
        &["run", "--steps", "3"],
        &["run", "--temperature", "Z=1"],
        &["run", "--tolerance", "-1"],
        &["run", "--tolerance", "nan"],
        &["run", "--rounds", "-1"],
        &["run", "--device", "abacus"],
        &["check", "--within", "-1"],
        &["check", "--loss", "Z"],
        &["grad", "--loss", "Z"],
        &["explain", "--only", "Z"],
        &["query", "Z[i]"],
        &["query", "Y[i"],
        &["query", "Y[7]"],
        &["query", "Y[i, j]"],
    ] {
        assert_eq!(code(fine, args), 2, "{args:?}");
    }
    for args in [&["run", "--input", "Y=no-such-file.npy"][..], &["run", "--out", "/dev/null/below"]] {
        assert_eq!(code(fine, args), 1, "{args:?}");
    }
    for program in ["Y = X", "Y = (", "Y = sofmax(1)", "X = 2 X + 1", "A[i] = const([1, 2])\nY = A[7]"] {
        assert_eq!(code(program, &["run"]), 1, "{program}");
    }
    // A wrong command line takes precedence over a wrong program.
    assert_eq!(code("Y = X", &["run", "--set", "z=1"]), 2);
    assert_eq!(code("Y = (", &["run", "--only", "Z"]), 2);
    assert!(output("", &["--help"]).contains("Exit codes: 0 success; 1 the program is wrong"));
}

/// Numbers that JSON lacks are written as strings and read back.
#[test]
fn json_of_infinities_and_nan() {
    let folder = Folder::new("lacks");
    let text = "X[i] = const([1, 0, -1])\nY[i] = X[i] / 0\nZ = -1 / 0";
    let written = output(text, &["run", "-", "--json"]);
    let value = json(&written);
    assert_eq!(value["Y"]["data"], json("[\"inf\", \"NaN\", \"-inf\"]"));
    assert_eq!(value["Z"]["data"], json("\"-inf\""));
    let file = folder.file("all.json", &written);
    let again = "A[i] = Y[i]\nB = Z\nC[i] = is_nan(Y[i])";
    let args = ["run", "-", "--json", "--input", &format!("Y={file}"), "--input", &format!("Z={file}")];
    let back = json(&output(again, &args));
    assert_eq!((&back["A"]["data"], &back["B"]["data"]), (&value["Y"]["data"], &value["Z"]["data"]));
    assert_eq!(back["C"]["data"], json("[false, true, false]"));
    assert!(output("", &["run", "--help"]).contains("\"NaN\", \"inf\" and \"-inf\""));
}

/// `--set` gives the first value of a state; an error in an option points at the option.
#[test]
fn states_are_given_by_set() {
    let value =
        json(&output(STEPS, &["run", "-", "--set", "H=[1, 1]", "--only", "H,Pre", "--json", "--f64"]));
    assert_eq!((&value["H"]["data"], &value["Pre"]["data"]), (&json("[7, 1]"), &json("[6, 2]")));
    assert_eq!(
        output(STEPS, &["query", "-", "Pre[i]", "--set", "H=[1, 1]"]),
        "i  value\n0      6\n1      2\n"
    );
    let said = |args: &[&str]| {
        let outcome = gradus_with(STEPS, &[&["run", "-", "--set", "H=[1,1]"], args].concat());
        assert_eq!(outcome.code, 2, "{}", outcome.err);
        outcome.err
    };
    // More steps than the program declares: H = relu(W H + Input) once more than above.
    let more = ["run", "-", "--set", "H=[1, 1]", "--only", "H", "--json", "--f64", "--steps", "4"];
    assert_eq!(json(&output(STEPS, &more))["H"]["data"], json("[9, 1]"));
    let both = said(&["--temperature", "Sun=2", "--set", "K=1"]);
    assert!(both.contains("the program has no parameter or input `K`"), "{both}");
    let sun = said(&["--temperature", "Sun=2"]);
    assert!(sun.contains("no equation defines `Sun`") && sun.contains("did you mean `Sum`?"), "{sun}");
    let twice = said(&["--set", "H=[1,2]"]);
    assert!(twice.contains("`H` is given twice"), "{twice}");
    let size = gradus_with(STEPS, &["run", "-", "--set", "H=[1,2,3]"]).err;
    assert!(size.contains("the given `H` has size 3 at `i`, which has size 2 here"), "{size}");
    let start = gradus_with("H[*0] = 1\nH[*t+1] = 2 H[*t]", &["run", "-", "--set", "H=3"]);
    assert!(start.err.contains("`H` cannot be given: the program defines its start"), "{}", start.err);
    let none = gradus_with("Y = 1", &["run", "-", "--steps", "3"]);
    assert!(none.code == 2 && none.err.contains("no name in the program depends on time"), "{}", none.err);
    let odd = json(&output("Y[i] = 2 B[i]", &["run", "-", "--set", "B=[nan, -inf, 1]", "--json"]));
    assert_eq!(odd["Y"]["data"], json("[\"NaN\", \"-inf\", 2]"));
}

#[test]
fn fmt_rewrites_or_checks() {
    let folder = Folder::new("fmt");
    let file = folder.file("p.eq", "# top\n\n\nA[i]=const( [1,2] )   # tail\nB = A[i] A[i]; C=B\n");
    let unformatted = gradus(&["fmt", &file, "--check"]);
    assert_eq!(unformatted.code, 1);
    assert!(unformatted.err.contains("p.eq"));
    assert_eq!(output("", &["fmt", &file]), "");
    let text = folder.read("p.eq");
    assert_eq!(text, "# top\n\n\nA[i] = const([1, 2])  # tail\nB = A[i] A[i]\nC = B\n");
    assert_eq!(output("", &["fmt", &file, "--check"]), "");
    assert_eq!(output(&text, &["fmt", "-"]), text);
}

#[test]
fn query_binds_names() {
    let program = "Par(x,y) = E[x,y] > 0\nE[x,y] = const([[0,1,0],[0,0,1],[0,0,0]])\nAnc(x,y) = Par(x,y)\nAnc(x,z) = Par(x,y) Anc(y,z)";
    let ask = |query: &str| output(program, &["query", "-", query]);
    assert_eq!(ask("Anc(0, x)"), "x\n1\n2\n");
    assert_eq!(ask("Anc(x, y)"), "x  y\n0  1\n0  2\n1  2\n");
    assert_eq!(ask("Anc(x, x)"), "x\n");
    assert_eq!(ask("Anc(0, 2)"), "yes\n");
    assert_eq!(ask("Anc(2, 0)"), "no\n");
    assert_eq!(ask("E[0, y]"), "y  value\n0      0\n1      1\n2      0\n");
    assert_eq!(output(program, &["query", "-", "Anc(0,x)", "--json"]), "[{\"x\":1},{\"x\":2}]\n");
    let wrong = gradus_with(program, &["query", "-", "Anz(0,x)"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("did you mean `Anc`?"), "{}", wrong.err);
    assert!(
        gradus_with(program, &["query", "-", "Anc(0)"])
            .err
            .contains("`Anc` has 2 indices, but the query has 1")
    );
    assert!(
        gradus_with(program, &["query", "-", "Anc(7,x)"]).err.contains("index 7 is out of range for `Anc`")
    );
}

#[test]
fn repl_continues_after_errors() {
    let typed = "A[i] = const([1, 2, 3])\nB = A[i] Q[i]\nB = A[i] A[i*]\nC = A[i] A[j]\nA\n:grad C\n:nonsense\n:drop C\n:list\n:quit\nnever";
    let text = output(typed, &["repl"]);
    let expected = [
        "A[i]: f32 3\n[1. 2. 3.]\n",
        "added; not computed without `Q`\n",
        "expected `,` or `]`, found `*`",
        "C: f32\n36.\n",
        "Grad_C = const(1.0)\n",
        "unknown command `:nonsense`",
        "A[i] = const([1, 2, 3])\n",
    ];
    let mut rest = &text[..];
    for part in expected {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        rest = &rest[at + part.len()..];
    }
    assert!(!rest.contains("C ="), "{text}");
}

/// A name that depends on a time which ends by a condition is computed once the condition is defined; a
/// statement is not a product of names.
#[test]
fn repl_waits_for_the_condition_of_a_time() {
    let typed = "axis t while Go\nX[*0] = 1\nX[*t+1] = X[*t] + 1\nGo[*t] = X[*t] < 3\nX\nexport X\n";
    assert_eq!(
        output(typed, &["repl"]),
        "X[*0]: f32 1\n[1.]\nadded; not computed without `Go`\nGo[*-1]: bool\nfalse\nX[*-1]: f32\n3.\n"
    );
}

/// Incomplete lines continue; expressions are shown without a name.
#[test]
fn repl_takes_more_lines_and_expressions() {
    let typed = "A[i] = const([1,\n  2,\n 3])\nB[i] = A[i] +\n 1  # one more\nA[i] B[i] - 20\n2 + 3\nA[i] nonsense(3)\nC = (1\n + 2)\nfoo(\n\nE = 2; F = 3; E F\nH[0] = 5; H[1] = 6\nD = [";
    let text = output(typed, &["repl"]);
    let expected = [
        "A[i]: f32 3\n[1. 2. 3.]\n",
        "B[i]: f32 3\n[2. 3. 4.]\n",
        ": f32\n0.\n",
        ": f32\n5.\n",
        "there is no function `nonsense`",
        "repl:1:6",
        "C: f32\n3.\n",
        "error:",
        "E: f32\n2.\nF: f32\n3.\n: f32\n6.\n",
        "H[:]: f32 2\n[5. 6.]\n",
        "error:",
    ];
    let mut rest = &text[..];
    for part in expected {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        rest = &rest[at + part.len()..];
    }
}

/// An output file may hold any expression; writing it does not change the results.
#[test]
fn files_of_expressions() {
    let folder = Folder::new("expressions");
    let out = folder.0.display().to_string();
    let text = "A[i,j] = const([[1,2],[3,4]])\nB[j] = const([1,10])\nY[i] = A[i,j]\n\
        \"sum.json\" = A[i,j] B[j] + 1\n\"top.json\" = topk(2 B[j], k=1)\n\"scaled.json\" = 2 Y[i]";
    let value = json(&output(text, &["run", "-", "--out", &out, "--json", "--only", "Y,Y"]));
    assert_eq!(value, json("{\"Y\": {\"shape\": [2], \"dtype\": \"f32\", \"data\": [3, 7]}}"));
    assert_eq!(json(&folder.read("sum.json"))["data"], json("[22, 44]"));
    assert_eq!(json(&folder.read("top.json"))["data"], json("[20]"));
    assert_eq!(json(&folder.read("scaled.json"))["data"], json("[6, 14]"));
    let all = json(&output(text, &["run", "-", "--json"]));
    assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), ["B", "Y"]);
}

#[test]
fn usage_and_help() {
    assert_eq!(gradus(&["run"]).code, 2);
    assert_eq!(gradus(&["walk"]).code, 2);
    assert_eq!(gradus(&["run", "x.eq", "--set", "a"]).code, 2);
    assert_eq!(gradus_with("Y = 1", &["run", "-", "--temperature", "Y=warm"]).code, 2);
    assert_eq!(gradus(&["run", "no-such-file.eq"]).code, 1);
    for verb in ["run", "grad", "check", "explain", "fmt", "query", "repl", "completions"] {
        let help = gradus(&[verb, "--help"]);
        assert_eq!(help.code, 0);
        assert!(help.out.contains("Examples:"), "{verb}: {}", help.out);
    }
    assert!(output("", &["completions", "bash"]).contains("_gradus"));
}

/// Runs the binary: exit codes, standard input, and no colours unless the output is a terminal.
#[test]
fn the_process() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let run = |args: &[&str], input: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gradus"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    assert_eq!(run(&["run", "-"], "Y = 1 + 2"), (Some(0), "Y: f32\n3.\n".to_string(), String::new()));
    let (code, out, err) = run(&["run", "-"], "Y = X");
    assert!(
        code == Some(1) && out.is_empty() && err.starts_with("error: `X`") && !err.contains('\u{1b}'),
        "{err}"
    );
    let (code, out, err) = run(&["walk"], "");
    assert!(code == Some(2) && out.is_empty() && !err.contains('\u{1b}'), "{err}");
}

/// `--svg` draws a box for each tensor with its type and equations. A transformer block fits on one screen.
#[test]
fn explain_draws_equations() {
    let folder = Folder::new("verbs-svg");
    let file = folder.file("p.eq", "A[i] = const([2, 1])\nY = A[i] * X[i]\nUnused = 3 * X[0]\n");
    let path = folder.0.join("p.svg").display().to_string();
    output("", &["explain", &file, "--set", "X=[3, 4]", "--only", "Y", "--svg", &path]);
    let drawn = folder.read("p.svg");
    for text in [">A<", ">f32[2]<", ">A[i] = const([2, 1])<", ">Y<", ">f32[]<", ">Y = A[i] * X[i]<"] {
        assert!(drawn.contains(text), "{text}: {drawn}");
    }
    assert!(!drawn.contains("Unused"), "{drawn}");
    assert_eq!(drawn.matches("Y needs ").count(), 2, "{drawn}");
    // Two lines of one name, of which one begins with the text of the other.
    let file = folder.file("two.eq", "A[i] = const([2, 1])\nY[i] = A[i]\nY[i] = A[i] * A[i]\n");
    output("", &["explain", &file, "--svg", &path]);
    let drawn = folder.read("p.svg");
    for text in [">Y[i] = A[i]<", ">Y[i] = A[i] * A[i]<"] {
        assert!(drawn.contains(text), "{text}: {drawn}");
    }
    let block = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/equations/transformer_block.eq");
    output("", &["explain", block, "--svg", &path]);
    let drawn = folder.read("p.svg");
    let size = |name: &str| -> f64 {
        let start = drawn.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        drawn[start..].split('"').next().unwrap().parse().unwrap()
    };
    let (width, height) = (size("width"), size("height"));
    assert!(width <= 1920.0 && height <= 1440.0, "{width} x {height}");
}

/// `--order` numbers the operations that `--svg --ops` draws, and needs both.
#[test]
fn explain_draws_the_order_of_evaluation() {
    let folder = Folder::new("verbs-order");
    let file = folder.file("p.eq", "A = const(2)\nY = exp(A) + A * X\n");
    let path = folder.0.join("p.svg").display().to_string();
    let with = |more: &[&str]| {
        output("", &[&["explain", &file, "--set", "X=3", "--svg", &path, "--ops"], more].concat());
        folder.read("p.svg")
    };
    let (plain, numbered) = (with(&[]), with(&["--order"]));
    assert!(
        !plain.contains("class=\"order\"") && numbered.contains("<tspan class=\"order\">(1) </tspan>"),
        "{numbered}"
    );
    assert!(numbered.contains("order of evaluation"));
    let outcome = gradus(&["explain", &file, "--order"]);
    assert!(outcome.code == 2 && outcome.err.contains("--ops"), "{}", outcome.err);
}

/// `--kernels` prints GPU code without a GPU, and names outputs. `f64` has none.
#[test]
fn explain_prints_kernels() {
    let folder = Folder::new("verbs-kernels");
    let file = folder.file("p.eq", "Y[i] = tanh(W[i,j] X[j])\nLoss = Y[i] Y[i]\n");
    let given = ["--set", "W=[[1, 2, 3], [4, 5, 6]]", "--set", "X=[1, 0, 2]"];
    let gradient = folder.0.join("g.eq").display().to_string();
    output("", &["grad", &file, "-o", &gradient]);
    let wgsl = output("", &[&["explain", &gradient, "--kernels"], &given[..]].concat());
    for part in
        ["graph (", "// output 1: Grad_W", "dispatches of", "b0: ", "input 0", "@compute @workgroup_size("]
    {
        assert!(wgsl.contains(part), "{part}: {wgsl}");
    }
    let cuda = output("", &[&["explain", &gradient, "--kernels=cuda"], &given[..]].concat());
    assert!(cuda.contains("extern \"C\" __global__ void") && !cuda.contains("@compute"), "{cuda}");
    let wide = gradus(&[&["explain", &file, "--kernels", "--f64"], &given[..]].concat());
    assert!(wide.code == 1 && wide.err.contains("has no kernels for GPUs"), "{}", wide.err);
}

/// `--core` prints where sums close and along which axes functions work, without inputs.
#[test]
fn explain_prints_core() {
    let folder = Folder::new("verbs-core");
    let file = folder.file("p.eq", "H[i] = relu(W[i,j] X[j])\nP[i] = softmax(H[i])\n");
    let text = output("", &["explain", &file, "--core"]);
    let expected = "# plain H\n# plain P\nH[i] = relu(reduce(sum, j) (W[i, j] X[j]))\nP[i] = softmax(H[i], axis=\"i\")\n";
    assert_eq!(text, expected);
    let refused = gradus(&["explain", &file, "--core", "--asm"]);
    assert!(refused.code == 2, "{}", refused.err);
}

/// `--asm` prints instructions where the processor has generated code; the last one of a kernel returns.
#[cfg(all(target_arch = "x86_64", unix))]
#[test]
fn explain_prints_instructions() {
    let folder = Folder::new("verbs-asm");
    let file = folder.file("p.eq", "Y[i] = exp(X[i]) + X[i]\n");
    let text = output("", &["explain", &file, "--set", "X=[1, 2, 3]", "--asm"]);
    assert!(text.starts_with("step 0: kernel"), "{text}");
    if std::arch::is_x86_feature_detected!("avx2") {
        assert!(text.contains("         0  push rbx\n") && text.contains("  ret\n"), "{text}");
        assert!(!text.contains("(bad)"), "{text}");
    }
}

/// `--profile` writes a trace: a complete event for each step of the plan, one after the other.
#[test]
fn explain_writes_a_trace() {
    let folder = Folder::new("verbs-trace");
    let file = folder.file("p.eq", "Y[i,k] = W[i,j] X[j,k]\nZ = Y[i,k] Y[i,k]\n");
    let path = folder.0.join("trace.json").display().to_string();
    let given = ["--set", "W=[[1, 2], [3, 4]]", "--set", "X=[[1, 2], [3, 4]]"];
    let text = output("", &[&["explain", &file, "--json", "--profile", &path], &given[..]].concat());
    let costs: serde_json::Value = serde_json::from_str(&text).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let steps: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    let names: Vec<_> = steps.iter().map(|e| e["name"].clone()).collect();
    assert_eq!(serde_json::Value::from(names), costs["program"]["kernels"]);
    let mut end = 0.0;
    for (i, step) in steps.iter().enumerate() {
        assert_eq!(step["args"]["step"], i);
        assert!((step["ts"].as_f64().unwrap() - end).abs() < 1e-9, "{step}");
        end += step["dur"].as_f64().unwrap();
    }
    assert!(end > 0.0);
    assert_eq!(events[0]["args"]["name"], "cpu");
}
