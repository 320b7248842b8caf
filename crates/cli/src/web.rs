//! `gradus web`: a server on the loopback address for the page of the browser package, or for any folder of
//! static files.

use crate::{Done, Failure, Terminal};
use clap::Args;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The folder to which `cargo xtask web` writes the page.
const PAGE: &str = "web/dist/page";
/// Maximum size of a request's header, in bytes.
const HEAD: u64 = 16 << 10;
/// Timeout for reading a request and for writing a response.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
pub(crate) struct WebArgs {
    /// Folder to serve, for example one written by `gradus export`
    #[arg(default_value = PAGE)]
    pub(crate) folder: PathBuf,
    /// Port to listen on; 0 chooses a free port
    #[arg(long, default_value_t = 8770)]
    pub(crate) port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Stop after this many requests
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) requests: Option<usize>,
}

pub(crate) fn run(args: &WebArgs, terminal: &mut Terminal<'_>) -> Done {
    let root = args.folder.canonicalize().ok().filter(|folder| folder.join("index.html").is_file());
    let Some(root) = root else {
        let build = if args.folder == Path::new(PAGE) { "; `cargo xtask web` builds it" } else { "" };
        let why = format!("{}: index.html does not exist{build}", args.folder.display());
        return Err(Failure::Run(why));
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|e| {
        Failure::Run(format!("cannot listen on port {}: {e}; choose another port with --port", args.port))
    })?;
    let address = format!("http://{}/", listener.local_addr()?);
    writeln!(terminal.out, "{address} serves {}; Ctrl-C stops it", args.folder.display())?;
    terminal.out.flush()?;
    if !args.no_open {
        open(&address);
    }
    for (count, stream) in listener.incoming().enumerate() {
        let root = root.clone();
        // Errors of a client do not stop the server.
        let answer = move || drop(stream.and_then(|stream| answer(stream, &root)));
        match args.requests {
            // Answers requests one after the other, so that all are answered when the loop ends.
            Some(_) => answer(),
            None => drop(std::thread::spawn(answer)),
        }
        if args.requests.is_some_and(|most| count + 1 >= most) {
            break;
        }
    }
    Ok(())
}

/// Asks the system to open the page in a browser. Failure is ignored, because the address has been printed.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = || Stdio::null();
    let _ = Command::new(program).arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}

/// Answers one request.
fn answer(mut stream: TcpStream, root: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?.take(HEAD));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    // Reads the entire head: closing the connection with unread data would reset it.
    let mut accepted = String::new();
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("accept-encoding")
        {
            accepted = value.trim().to_ascii_lowercase();
        }
        line.clear();
    }
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !["GET", "HEAD"].contains(&method) {
        return send(
            &mut stream,
            "405 Method Not Allowed",
            "text/plain",
            None,
            b"only GET and HEAD are supported\n",
            true,
        );
    }
    let with_body = method == "GET";
    let found = file(root, target).and_then(|path| {
        let (encoding, stored) = encoded(root, &path, &accepted);
        Some((std::fs::read(stored).ok()?, encoding, kind(&path)))
    });
    match found {
        Some((bytes, encoding, kind)) => send(&mut stream, "200 OK", kind, encoding, &bytes, with_body),
        None => send(&mut stream, "404 Not Found", "text/plain", None, b"no such file\n", with_body),
    }
}

/// Returns the encoding and the path of the compressed version of a file, from the same folder. Returns the
/// file itself if the client does not accept the compressed version, or if that is older than the file.
fn encoded(root: &Path, path: &Path, accepted: &str) -> (Option<&'static str>, PathBuf) {
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    for (encoding, ending) in [("br", "br"), ("gzip", "gz")] {
        if !accepts(accepted, encoding) {
            continue;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        let stored = PathBuf::from(name).canonicalize();
        if let Some(stored) = stored.ok().filter(|p| p.starts_with(root) && p.is_file())
            && time(&stored) >= time(path)
        {
            return (Some(encoding), stored);
        }
    }
    (None, path.to_path_buf())
}

/// Returns true if a list such as `gzip, br;q=0.8` names an encoding that is not forbidden (`q=0`).
fn accepts(list: &str, encoding: &str) -> bool {
    list.split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next() == Some(encoding);
        let weight = parts.find_map(|p| p.strip_prefix("q=")).map_or(Ok(1.0), str::parse::<f32>);
        is_named && weight.is_ok_and(|q| q > 0.0)
    })
}

/// Returns the file that a request names, if it is inside the folder.
fn file(root: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let path = Path::new(path);
    if path.components().any(|c| !matches!(c, Component::Normal(_))) {
        return None;
    }
    let mut path = root.join(path);
    if path.is_dir() {
        path.push("index.html");
    }
    // A symbolic link may point outside of the folder.
    path.canonicalize().ok().filter(|path| path.starts_with(root) && path.is_file())
}

fn send(
    stream: &mut TcpStream,
    status: &str,
    kind: &str,
    encoding: Option<&str>,
    body: &[u8],
    with_body: bool,
) -> std::io::Result<()> {
    let encoding = encoding.map_or(String::new(), |e| format!("Content-Encoding: {e}\r\n"));
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{encoding}\
         Vary: Accept-Encoding\r\nCache-Control: no-cache\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if with_body {
        stream.write_all(body)?;
    }
    stream.flush()
}

/// Returns the type of a file, by its ending.
fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("txt" | "eq" | "tsv" | "ts") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
