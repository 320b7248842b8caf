//! Tests grammars of JSON schemas: generated text parses and validates, whichever tokens a model prefers.

use gradus_models::constrain::{Document, Grammar, Matcher, Vocabulary};
use serde_json::{Value, json};
use std::sync::Arc;

/// Makes a vocabulary of all bytes, some longer pieces as in tokenisers, and a last token without text.
fn vocabulary() -> Arc<Vocabulary> {
    let mut all: Vec<Option<Vec<u8>>> = (0..=255u8).map(|b| Some(vec![b])).collect();
    let pieces = [
        "{\"",
        "\":",
        "\": \"",
        "\",",
        "\", \"",
        "},",
        "}}",
        "]}",
        "[[",
        "{}",
        "[]",
        "true",
        "false",
        "null",
        "tr",
        "12",
        "3.1",
        "-",
        "e+",
        "\\u",
        "\\\"",
        "\n  ",
        "  ",
        "name",
        "\"name\"",
        "é",
        "日本",
        "\u{1F600}",
        "hello",
        " world",
        "\"a\": 1",
        "00",
    ];
    all.extend(pieces.iter().map(|p| Some(p.as_bytes().to_vec())));
    // Parts of characters, alone and with other bytes around them.
    all.push(Some(vec![0xE6, 0x97]));
    all.push(Some(vec![0xA5, b'"']));
    all.push(Some(vec![0xF0, 0x9F]));
    all.push(None);
    Arc::new(Vocabulary::from_bytes(all))
}

fn grammar(schema: &str) -> Arc<Grammar> {
    let schema: Document = serde_json::from_str(schema).unwrap();
    Arc::new(Grammar::json_schema(&schema, &vocabulary()).unwrap())
}

/// Random numbers by a simple recurrence, independent of the crate's generator.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Generates a text of at most `most` tokens from the logits that `prefer` returns. Returns the text and its
/// number of tokens.
fn generate(
    grammar: &Arc<Grammar>,
    most: usize,
    mut prefer: impl FnMut(usize, &[u8]) -> f64,
) -> (Vec<u8>, usize) {
    let vocabulary = vocabulary();
    let (mut matcher, mut text) = (Matcher::new(grammar), Vec::new());
    for count in 0..most {
        if matcher.is_finished() {
            return (text, count);
        }
        let allowed = matcher.allowed(most - count);
        let mut best: Option<(f64, usize)> = None;
        if matcher.is_complete() {
            best = Some((prefer(usize::MAX, b""), usize::MAX));
        }
        for token in (0..allowed.len()).filter(|t| allowed[*t]) {
            let x = prefer(token, vocabulary.bytes(token as i64).unwrap());
            if best.is_none_or(|(b, _)| x > b) {
                best = Some((x, token));
            }
        }
        let (_, token) =
            best.unwrap_or_else(|| panic!("nothing continues {:?}", String::from_utf8_lossy(&text)));
        if token == usize::MAX {
            return (text, count);
        }
        matcher.push(token as i64).unwrap();
        text.extend(vocabulary.bytes(token as i64).unwrap());
    }
    assert!(
        matcher.is_complete(),
        "{:?} is not complete after {most} tokens",
        String::from_utf8_lossy(&text)
    );
    (text, most)
}

/// Returns true if a value fits a schema, as the standard defines it; implemented independently of the
/// grammar.
fn fits(schema: &Value, root: &Value, value: &Value) -> bool {
    let Value::Object(map) = schema else { return schema == &json!(true) };
    map.iter().all(|(key, rule)| {
        let count = rule.as_u64().unwrap_or(0) as usize;
        match (key.as_str(), value) {
            ("$ref", _) => {
                let path = rule.as_str().unwrap().strip_prefix('#').unwrap();
                fits(root.pointer(path).unwrap(), root, value)
            }
            ("anyOf", _) => rule.as_array().unwrap().iter().any(|s| fits(s, root, value)),
            ("allOf", _) => rule.as_array().unwrap().iter().all(|s| fits(s, root, value)),
            ("const", _) => rule == value,
            ("enum", _) => rule.as_array().unwrap().contains(value),
            ("type", _) => {
                let one = |t: &Value| match t.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "string" => value.is_string(),
                    "number" => value.is_number(),
                    "integer" => value.as_f64().is_some_and(|x| x.fract() == 0.0),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("{other}"),
                };
                rule.as_array().map_or_else(|| one(rule), |all| all.iter().any(one))
            }
            ("properties", Value::Object(o)) => {
                rule.as_object().unwrap().iter().all(|(k, s)| o.get(k).is_none_or(|v| fits(s, root, v)))
            }
            ("required", Value::Object(o)) => {
                rule.as_array().unwrap().iter().all(|k| o.contains_key(k.as_str().unwrap()))
            }
            ("additionalProperties", Value::Object(o)) => {
                let listed = |k: &String| map.get("properties").is_some_and(|p| p.get(k).is_some());
                o.iter().all(|(k, v)| listed(k) || fits(rule, root, v))
            }
            ("items", Value::Array(all)) => all.iter().all(|v| fits(rule, root, v)),
            ("minItems", Value::Array(all)) => all.len() >= count,
            ("maxItems", Value::Array(all)) => all.len() <= count,
            ("minLength", Value::String(s)) => s.chars().count() >= count,
            ("maxLength", Value::String(s)) => s.chars().count() <= count,
            ("minimum", Value::Number(n)) => n.as_f64() >= rule.as_f64(),
            ("maximum", Value::Number(n)) => n.as_f64() <= rule.as_f64(),
            ("exclusiveMinimum", Value::Number(n)) => n.as_f64() > rule.as_f64(),
            ("exclusiveMaximum", Value::Number(n)) => n.as_f64() < rule.as_f64(),
            _ => true,
        }
    })
}

const SCHEMAS: &[&str] = &[
    r#"{"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": false}"#,
    r#"{"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "boolean"}, "c": {"type": "null"}},
        "additionalProperties": false}"#,
    r#"{"type": "array", "items": {"enum": ["red", "gré\"en", 3, null, {"x": [1]}]}, "minItems": 2, "maxItems": 4}"#,
    r#"{"anyOf": [{"type": "string", "minLength": 2, "maxLength": 3}, {"type": "integer", "minimum": -12, "maximum": 305},
        {"const": "fixed"}]}"#,
    r##"{"$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer", "minimum": 0}, "next":
        {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["value", "next"], "additionalProperties": false}},
        "$ref": "#/$defs/node"}"##,
    r#"{"type": "object", "additionalProperties": {"type": ["string", "boolean"], "maxLength": 2}}"#,
    r#"{"type": "array", "items": {"type": "array", "items": {"type": "number", "minimum": 0}, "maxItems": 2}, "maxItems": 3}"#,
    r#"{"type": "object", "properties": {"any": true, "list": {"items": {"type": "integer", "exclusiveMaximum": 0}}},
        "required": ["any"]}"#,
    r#"{"type": "string"}"#,
    r#"{"title": "Anything"}"#,
    r##"{"type": "object", "properties": {"tree": {"$ref": "#/definitions/t"}}, "required": ["tree"], "additionalProperties": false,
        "definitions": {"t": {"type": "array", "items": {"$ref": "#/definitions/t"}, "maxItems": 2}}}"##,
    r#"{"type": "object", "properties": {}, "additionalProperties": false}"#,
];

#[test]
fn texts_of_any_logits_validate() {
    for schema in SCHEMAS {
        let (grammar, json) = (grammar(schema), serde_json::from_str::<Value>(schema).unwrap());
        for seed in 0..40 {
            let mut numbers = Numbers(seed);
            let (text, _) = generate(&grammar, 60 + seed as usize * 5, |_, _| numbers.next());
            let shown = String::from_utf8(text).unwrap();
            let value: Value =
                serde_json::from_str(&shown).unwrap_or_else(|e| panic!("{schema}: {shown:?}: {e}"));
            assert!(fits(&json, &json, &value), "{schema}: {shown}");
        }
    }
}

#[test]
fn a_model_that_never_ends_is_ended_in_time() {
    for schema in SCHEMAS {
        let (grammar, json) = (grammar(schema), serde_json::from_str::<Value>(schema).unwrap());
        // The model prefers letters, brackets, digits or white space; the end token has the lowest logit.
        for liked in [&b"abcdefgh"[..], b"[{", b"1234567890.e", b" \n", b"\\u0", b"-,"] {
            for most in [grammar.shortest(), grammar.shortest() + 1, grammar.shortest() + 7, 100, 150] {
                let most = most.max(grammar.shortest());
                let prefer = |token: usize, bytes: &[u8]| {
                    let rank = bytes.first().and_then(|b| liked.iter().position(|l| l == b));
                    if token == usize::MAX {
                        -1.0
                    } else {
                        rank.map_or(0.0, |r| 10.0 - r as f64 + bytes.len() as f64)
                    }
                };
                let (text, count) = generate(&grammar, most, prefer);
                let value: Value = serde_json::from_slice(&text).unwrap();
                assert!(
                    count <= most && fits(&json, &json, &value),
                    "{schema}: {}",
                    String::from_utf8_lossy(&text)
                );
            }
        }
    }
}

#[test]
fn masks_are_what_bytes_permit() {
    let vocabulary = vocabulary();
    for schema in SCHEMAS {
        let grammar = grammar(schema);
        let (mut matcher, mut numbers) = (Matcher::new(&grammar), Numbers(9));
        for _ in 0..40 {
            if matcher.is_finished() {
                break;
            }
            let allowed = matcher.allowed(1_000_000);
            assert_eq!(allowed.len(), vocabulary.len());
            let mut fitting = Vec::new();
            for (token, allowed) in allowed.iter().enumerate() {
                // On a copy, because a matcher cannot undo a token.
                let mut other = matcher.clone();
                assert_eq!(other.push(token as i64).is_ok(), *allowed, "{schema} {token}");
                if *allowed {
                    fitting.push(token);
                }
            }
            matcher.push(fitting[(numbers.next() * fitting.len() as f64) as usize] as i64).unwrap();
        }
    }
}

/// Returns true if a grammar accepts a text, which is passed byte by byte.
fn accepts(grammar: &Arc<Grammar>, text: &str) -> bool {
    let mut matcher = Matcher::new(grammar);
    text.bytes().all(|b| matcher.push(i64::from(b)).is_ok()) && matcher.is_complete()
}

#[test]
fn integers_have_exactly_their_range() {
    for (least, most) in [(-120, 345), (0, 0), (7, 9), (-5, -5), (10, 1000), (-1000, -98), (99, 101), (-1, 1)]
    {
        let grammar = grammar(&json!({ "type": "integer", "minimum": least, "maximum": most }).to_string());
        for n in -1200..1200 {
            assert_eq!(
                accepts(&grammar, &n.to_string()),
                (least..=most).contains(&n),
                "{n} in {least} to {most}"
            );
        }
        assert!(!accepts(&grammar, "-0") && !accepts(&grammar, "007") && !accepts(&grammar, "1.5"));
    }
    let open = grammar(r#"{"type": "integer", "exclusiveMinimum": 2.5}"#);
    assert!(accepts(&open, "3") && accepts(&open, "999999999999999") && !accepts(&open, "2"));
}

#[test]
fn texts_are_json_and_nothing_else() {
    let string = grammar(r#"{"type": "string", "maxLength": 2}"#);
    for good in [r#""""#, r#""ab""#, r#""é日""#, r#""\n\u00e9""#, "\"\u{1F600}\"", r#""\ud7ff""#, r#""\/\"""#]
    {
        assert!(accepts(&string, good), "{good}");
    }
    for bad in ["", "\"", r#""abc""#, r#""\x""#, "\"\n\"", r#""\ud800""#, r#""a"b"#, " \"a\"", r#""é日x""#]
    {
        assert!(!accepts(&string, bad), "{bad}");
    }
    let mut matcher = Matcher::new(&string);
    // Bytes that do not form a character: a lone continuation, an overlong form, half a surrogate.
    matcher.push(i64::from(b'"')).unwrap();
    for bytes in [&[0x80][..], &[0xC0], &[0xE0, 0x80], &[0xED, 0xA0], &[0xF5], &[0xF4, 0x90]] {
        let mut other = matcher.clone();
        assert!(!bytes.iter().all(|b| other.push(i64::from(*b)).is_ok()), "{bytes:?}");
    }
    let number = grammar(r#"{"type": "number"}"#);
    for (text, good) in [
        ("0", true),
        ("-1.5e-07", true),
        ("12E3", true),
        ("01", false),
        ("1.", false),
        (".5", false),
        ("+1", false),
        ("-", false),
    ] {
        assert_eq!(accepts(&number, text), good, "{text}");
    }
    let object = Arc::new(Grammar::json_object(&vocabulary()).unwrap());
    for good in ["{}", r#"{"a": [1, {"b": null}], "c":"d"}"#, "{\n  \"a\": true\n}"] {
        assert!(accepts(&object, good), "{good}");
    }
    for bad in ["[]", "1", r#"{"a"}"#, r#"{"a":1,}"#, "{a:1}", "{} "] {
        assert!(!accepts(&object, bad), "{bad}");
    }
}

#[test]
fn properties_keep_the_order_of_the_schema() {
    let grammar = grammar(
        r#"{"type": "object", "properties": {"z": {"const": 1}, "a": {"const": 2}, "m": {"const": 3}}, "required": ["a"],
            "additionalProperties": false}"#,
    );
    for good in
        [r#"{"z":1,"a":2,"m":3}"#, r#"{"a":2}"#, r#"{"z":1, "a": 2}"#, "{\n  \"a\": 2,\n  \"m\": 3\n}"]
    {
        assert!(accepts(&grammar, good), "{good}");
    }
    for bad in ["{}", r#"{"a":2,"z":1}"#, r#"{"z":1}"#, r#"{"z":1,"m":3}"#, r#"{"a":2,"b":1}"#, r#"{,"a":2}"#]
    {
        assert!(!accepts(&grammar, bad), "{bad}");
    }
}

#[test]
fn schemas_that_cannot_be_honoured_are_refused() {
    let deep =
        (0..40).fold(json!({"type": "integer"}), |s, _| json!({"type": "array", "items": s, "minItems": 1}));
    let cases = [
        (r#"{"type": "string", "pattern": "a*"}"#.to_string(), "`pattern`"),
        (r#"{"oneOf": [{}]}"#.into(), "`oneOf`"),
        (json!({ "enum": (0..30_000).collect::<Vec<_>>() }).to_string(), "at most 20000 values"),
        (r#"{"type": "number", "minimum": 3}"#.into(), "for 0 only"),
        (r#"{"type": "thing"}"#.into(), "\"thing\""),
        (r#"{"type": "integer", "minItems": 3}"#.into(), "`minItems`"),
        (r##"{"$ref": "#/$defs/none"}"##.into(), "names nothing"),
        (r##"{"$ref": "#"}"##.into(), "permits no document"),
        (
            r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}"##.into(),
            "permits no document",
        ),
        (r#"{"anyOf": []}"#.into(), "`anyOf`"),
        (r#"{"enum": []}"#.into(), "`enum`"),
        (r#"{"type": "integer", "enum": ["a"]}"#.into(), "permits no document"),
        (r#"{"anyOf": [true], "type": "string"}"#.into(), "together with `type`"),
        (r#"{"type": "string", "maxLength": -1}"#.into(), "maxLength -1"),
        (r#"{"type": "string", "minLength": 4, "maxLength": 3}"#.into(), "minLength 4"),
        (r#"{"type": "object", "properties": {"a": true}, "required": ["b"]}"#.into(), "names `b`"),
        (r#"{"type": "object", "properties": 3}"#.into(), "`properties`"),
        (r#"{"type": "integer", "minimum": 1e300}"#.into(), "minimum"),
        ("3".into(), "must be an object or a boolean"),
        ("false".into(), "permits no document"),
        (deep.to_string(), "permits no document"),
    ];
    for (schema, why) in cases {
        let document: Document = serde_json::from_str(&schema).unwrap();
        let error = Grammar::json_schema(&document, &vocabulary()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{schema}: {error}");
    }
    assert!(serde_json::from_str::<Document>(r#"{"a": 1, "a": 2}"#).is_err());
    // The reference to itself permits nothing at the same level, so only the other choice remains.
    let choice = grammar(r##"{"anyOf": [{"$ref": "#"}, {"const": 1}]}"##);
    assert!(accepts(&choice, "1"));
}
