//! `gradus web`: the requests that it answers and those that it refuses.

use crate::common::{Folder, gradus};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A port that is free at this time.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn ask(port: u16, request: &str) -> String {
    for _ in 0..200 {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            return answer;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no answer");
}

#[test]
fn files_of_the_folder_are_served_and_nothing_else() {
    let folder = Folder::new("web");
    folder.file("secret.txt", "secret");
    std::fs::create_dir(folder.0.join("site")).unwrap();
    folder.file("site/index.html", "<p>hello");
    folder.file("site/module.wasm", "wasm");
    let site = folder.0.join("site").display().to_string();
    let port = free_port();
    let number = port.to_string();
    let server = std::thread::spawn(move || {
        gradus(&["web", &site, "--port", &number, "--no-open", "--requests", "6"]).code
    });
    let get = |target: &str| ask(port, &format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
    let page = get("/?x=1");
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("<p>hello"), "{page}");
    assert!(page.contains("Content-Type: text/html"), "{page}");
    assert!(get("/module.wasm").contains("Content-Type: application/wasm"));
    assert!(get("/../secret.txt").starts_with("HTTP/1.1 404"));
    assert!(get("/nothing").starts_with("HTTP/1.1 404"));
    assert!(ask(port, "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    let head = ask(port, "HEAD / HTTP/1.1\r\n\r\n");
    assert!(head.contains("Content-Length: 8") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(server.join().unwrap(), 0);
}

#[test]
fn compressed_files_are_sent_to_clients_that_take_them() {
    let folder = Folder::new("web-encodings");
    for (name, text) in
        [("index.html", "page"), ("m.wasm", "plain"), ("m.wasm.gz", "gzipped"), ("m.wasm.br", "brotli")]
    {
        folder.file(name, text);
    }
    folder.file("old.js.br", "stale");
    std::thread::sleep(std::time::Duration::from_millis(20));
    folder.file("old.js", "fresh");
    let site = folder.0.display().to_string();
    let port = free_port();
    let number = port.to_string();
    let server = std::thread::spawn(move || {
        gradus(&["web", &site, "--port", &number, "--no-open", "--requests", "6"]).code
    });
    let get = |target: &str, head: &str| ask(port, &format!("GET {target} HTTP/1.1\r\n{head}\r\n"));
    let both = get("/m.wasm", "accept-encoding: gzip, deflate, br\r\n");
    assert!(both.contains("Content-Encoding: br\r\n") && both.ends_with("brotli"), "{both}");
    assert!(
        both.contains("Content-Type: application/wasm") && both.contains("Content-Length: 6\r\n"),
        "{both}"
    );
    let gzip = get("/m.wasm", "Accept-Encoding: gzip;q=0.5, br;q=0\r\n");
    assert!(gzip.contains("Content-Encoding: gzip\r\n") && gzip.ends_with("gzipped"), "{gzip}");
    for (target, head, text) in [
        ("/m.wasm", "", "plain"),
        ("/old.js", "Accept-Encoding: br\r\n", "fresh"),
        ("/", "Accept-Encoding: br\r\n", "page"),
    ] {
        let answer = get(target, head);
        assert!(!answer.contains("Content-Encoding") && answer.ends_with(text), "{answer}");
    }
    assert!(get("/m.wasm.br", "").ends_with("brotli"));
    assert_eq!(server.join().unwrap(), 0);
}

#[test]
fn a_folder_without_a_page_is_refused() {
    let folder = Folder::new("web-empty");
    let outcome = gradus(&["web", &folder.0.display().to_string(), "--no-open"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("index.html does not exist"), "{}", outcome.err);
}
