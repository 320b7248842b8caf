//! The scopes of names: blocks and libraries.

use gradus_ir::DType;
use gradus_lang::ast::Name;
use gradus_lang::{Program, Settings, Source};
use std::collections::BTreeMap;

fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{f}"))
}

fn f64s() -> Settings {
    Settings { float: DType::F64, ..Settings::default() }
}

fn numbers(text: &str, name: &str) -> Vec<f64> {
    let found = load(text).run(&BTreeMap::new(), &f64s(), &[name.into()]);
    let found = found.unwrap_or_else(|f| panic!("{text}\n{f}"));
    found[&Name::from(name)].to_dtype(DType::F64).to_vec::<f64>().unwrap()
}

fn fault(text: &str) -> String {
    let done = Program::parse(Source::new("test", text))
        .and_then(|p| p.run(&BTreeMap::new(), &Settings::default(), &p.outputs()));
    done.map(|_| ()).unwrap_err().to_string()
}

/// A name of `let` is visible in its block only, also if another block has the same name.
#[test]
fn names_of_blocks_are_their_own() {
    let two = "{ let t = 1; A = t }\n{ let t = 2; B = t }\n";
    assert_eq!((numbers(two, "A"), numbers(two, "B")), (vec![1.0], vec![2.0]));
    // Two lines of one block add; a block within sees the names around it, and may have its own.
    let nested = "{ let t = 1; let t = 2; A = t; { B = 10 t; { let t = 5; C = t }; D = t } }";
    let all: Vec<f64> = ["A", "B", "C", "D"].iter().flat_map(|n| numbers(nested, n)).collect();
    assert_eq!(all, [3.0, 30.0, 5.0, 3.0]);
    // A local name is not the parameter, tensor or index of the same name.
    assert_eq!(numbers("param t = 7\n{ let t = 2; A = t }\nB = A + t", "B"), [9.0]);
    assert_eq!(numbers("t = 7\n{ let t = 2; let t_2 = 3; A = 10 t_2 + t }\nB = A + t", "B"), [39.0]);
    let rules = "E(x,y) = const([[0,1],[0,0]])\n{ let x = 3; let R(x,y) = E(x,y); P(x) = R(x,y); A = x }\nR(x,y) = E(y,x)\nQ(x) = R(x,y)";
    assert_eq!(
        (numbers(rules, "P"), numbers(rules, "Q"), numbers(rules, "A")),
        (vec![1.0, 0.0], vec![0.0, 1.0], vec![3.0])
    );
    let calls = "axis k = 2\nV[k] = const([3,4])\n{ let k = 2; A[k] = k cumsum(V[k], axis=k) index(k) }\n{ let k = 5; B = k }";
    assert_eq!(numbers(calls, "A"), [0.0, 14.0]);
    assert_eq!(numbers("t' = 7\n{ let t' = 2; A = t' }\nB = A + t'", "B"), [9.0]);
    // Outside its block the name is not defined.
    let message = fault("{ let t = 1; A = t }\nB = t");
    assert!(message.contains("`t` has no equation, so it is an input"), "{message}");
    // Exports and sinks of a block use the names of that block.
    let given = load("{ let t = 1; A = t; export t }\n{ B = 1 }");
    assert_eq!(given.outputs(), ["t".into()]);
    let clash = fault("t = 1\n{ let t = 2; export t }");
    assert!(
        clash
            .contains("cannot export `t`: `let` defines it in this block, and the name is also used outside"),
        "{clash}"
    );
    let written = load("t = 1\n{ let t = 2\n\"t.json\" = t\n\"u.json\" = t + 1 }");
    let names: Vec<String> = written.sinks.iter().map(|s| s.1.to_string()).collect();
    let values = written.run(
        &BTreeMap::new(),
        &Settings::default(),
        &[names[0].as_str().into(), names[1].as_str().into()],
    );
    let values = values.unwrap();
    let of = |n: &str| values[&Name::from(n)].item::<f32>().unwrap();
    assert_eq!((of(&names[0]), of(&names[1])), (2.0, 3.0));
}

/// Texts to import, by their paths.
struct Texts(Vec<(&'static str, &'static str)>);

impl gradus_lang::Loader for Texts {
    fn load(&self, path: &str) -> Result<String, String> {
        let text = self.0.iter().find(|(p, _)| *p == path);
        text.map(|(_, t)| t.to_string()).ok_or_else(|| format!("no {path}"))
    }
}

fn imported(text: &str, texts: &[(&'static str, &'static str)]) -> Result<Vec<f64>, String> {
    let program =
        Program::load(Source::new("test", text), &Texts(texts.to_vec())).map_err(|f| f.to_string())?;
    let values = program.run(&BTreeMap::new(), &f64s(), &["Y".into()]).map_err(|f| f.to_string())?;
    Ok(values[&Name::from("Y")].to_vec::<f64>().unwrap())
}

/// A library has functions, numbers and tensors that these share, and libraries of its own.
#[test]
fn libraries() {
    let inner = ("units/inner.eq", "const K = 3\nfn thrice(a) -> y { y = K a }");
    let shared = "import \"inner.eq\" as in\nparam S = in::K + 1\nlet w[i] = const([1,2]) v\nlet v = in::thrice(S)\n\
        fn f(a[i]) -> y { let v = 100\ny = a[i] w[i] + v }\nfn g(a) -> y { y = in::thrice(tanh_grad(a)) + h_grad(a, 1, wrt=\"a\") }\nfn h(a) -> y { y = a a }";
    let texts = [inner, ("units/lib.eq", shared)];
    let of = |text: &str| imported(text, &texts);
    let vector = "A[i] = const([1,10])\n";
    // w = [12, 24]
    assert_eq!(of(&format!("import \"units/lib.eq\" as lib\n{vector}Y = lib::f(A[i])")), Ok(vec![352.0]));
    assert_eq!(of(&format!("import \"units/lib.eq\"\n{vector}Y = f(A[i]) + S")), Ok(vec![356.0]));
    assert_eq!(of("import \"units/lib.eq\" as lib\nY = lib::in::thrice(lib::in::K) lib::S"), Ok(vec![36.0]));
    assert_eq!(of("import \"units/lib.eq\" as lib\nY = lib::g(0)"), Ok(vec![3.0]));
    // A number of the program does not change that of a library, which can be set.
    assert_eq!(of("import \"units/lib.eq\" as lib\nconst K = 5\nY = lib::in::thrice(K)"), Ok(vec![15.0]));
    let program = Program::load(
        Source::new("test", "import \"units/lib.eq\" as lib\nY = lib::S"),
        &Texts(texts.to_vec()),
    );
    let set = Settings { set: [("lib::S".into(), 7.0)].into(), ..Settings::default() };
    let values = program.unwrap().run(&BTreeMap::new(), &set, &["Y".into()]).unwrap();
    assert_eq!(values[&Name::from("Y")].item::<f32>().unwrap(), 7.0);
    // Two libraries may need a third.
    let diamond = [
        ("a.eq", "import \"c.eq\"\nfn a(x) -> y { y = c(x) + 1 }"),
        ("b.eq", "import \"./c.eq\"\nfn b(x) -> y { y = 2 c(x) }"),
        ("c.eq", "fn c(x) -> y { y = 10 x }"),
    ];
    assert_eq!(imported("import \"a.eq\"\nimport \"b.eq\"\nY = a(1) + b(1)", &diamond), Ok(vec![31.0]));
    for (text, texts, says) in [
        (
            "import \"a.eq\"\nY = 1",
            vec![("a.eq", "import \"b/b.eq\""), ("b/b.eq", "import \"../a.eq\"")],
            "`a.eq` imports itself through `b/b.eq`",
        ),
        ("import \"a.eq\"\nY = 1", vec![("a.eq", "import \"a.eq\" as a")], "`a.eq` imports itself"),
        (
            "import \"a.eq\"\nY = 1",
            vec![("a.eq", "Z = 1")],
            "an imported file may contain only functions, `const`, `param`, `let` and imports",
        ),
        (
            "import \"a.eq\" as a\nY = a::K",
            vec![("a.eq", "const L = 1")],
            "no import defines the number `a::K`",
        ),
        (
            "import \"a.eq\" as a\nY = a::f(1)",
            vec![("a.eq", "fn f(x) -> y { y = x K }")],
            "`K` is neither a parameter of `a::f` nor defined in it",
        ),
    ] {
        let said = imported(text, &texts).unwrap_err();
        assert!(said.contains(says), "{said}");
    }
}

/// Functions that call functions, with axes that the outermost call added.
#[test]
fn axes_brought_through_several_calls() {
    let text = "fn a(x) -> y { y = x + 1 }\nfn b(x) -> y { y = a(x) ** 2 }\nfn c(x, w[k]) -> y { y = b(a(x)) w[k] }\n\
        fn d(x[k]) -> y[k] { y[k] = b(x[k]) b(x[k-1]) }\n\
        W[i] = const([1, 2])\nM[i,j] = const([[1, 2], [3, 4]])\n\
        B[i] = b(W[i])\nSum = b(W[i])\nC[i,j] = c(M[i,j], W[k])\nD[i,j] = d(M[i,j])";
    let program = load(text);
    let names: Vec<_> = ["B", "Sum", "C", "D"].map(Into::into).to_vec();
    let found =
        program.run(&Default::default(), &Default::default(), &names).unwrap_or_else(|f| panic!("{f}"));
    let of = |name: &str| found[name].reshape([-1]).to_vec::<f32>().unwrap();
    assert_eq!(of("B"), [4.0, 9.0]);
    assert_eq!(of("Sum"), [13.0]);
    assert_eq!(of("C"), [27.0, 48.0, 75.0, 108.0]);
    // Reads outside are 0, and there `b` is 1.
    assert_eq!(of("D"), [4.0, 36.0, 16.0, 400.0]);
}

/// An axis that a call added is not an axis of a function whose argument is computed in the call.
#[test]
fn axes_brought_to_what_is_computed() {
    let text = "fn s(a[x]) -> y { y = a[x] a[x] }\nfn h(a[x]) -> y { y = s(2 a[x]) }\n\
        fn l(a[x]) -> y[x] { y[x] = cumsum(2 a[x]) }\nM[i,j] = const([[1, 2, 3], [4, 5, 6]])\n\
        Y[i] = h(M[i,j])\nZ[i,j] = l(M[i,j])";
    let found = load(text).run(&Default::default(), &f64s(), &["Y".into(), "Z".into()]);
    let found = found.unwrap_or_else(|f| panic!("{f}"));
    let of = |name: &str| found[name].reshape([-1]).to_vec::<f64>().unwrap();
    assert_eq!(of("Y"), [56.0, 308.0]);
    assert_eq!(of("Z"), [2.0, 6.0, 12.0, 8.0, 18.0, 30.0]);
}

#[test]
fn a_name_is_kept_once_however_often_it_stands() {
    let program = load("A[i] = B[i] C\nD[i] = B[i] + A[i]\n");
    let reads: Vec<_> = program.equations.iter().flat_map(|e| e.reads()).collect();
    let of = |name: &str| reads.iter().filter(|r| &*r.name == name).map(|r| &r.name).collect::<Vec<_>>();
    let [first, second] = of("B")[..] else { panic!("B is read twice") };
    assert!(std::sync::Arc::ptr_eq(first, second));
    // The statements are parsed again from the text.
    assert_eq!(
        program.statements().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["A[i] = B[i] C", "D[i] = B[i] + A[i]"]
    );
}

#[test]
fn a_number_before_parentheses_is_no_function() {
    let said = fault("param rate = 0.5\nA[i] = const([1, 2])\nY[i] = rate (A[i] + 1)");
    assert!(said.contains("`rate` is a number of this program, not a function"), "{said}");
    assert!(said.contains("write rate * (…) to multiply"), "{said}");
    assert_eq!(numbers("param rate = 0.5\nA[i] = const([1, 2])\nY[i] = rate * (A[i] + 1)", "Y"), [1.0, 1.5]);
}
