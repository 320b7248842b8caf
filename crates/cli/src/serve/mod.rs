//! `gradus serve`: serves a model over HTTP, with the API of OpenAI.
//!
//! Each connection has a thread, up to a limit; one thread runs the engine ([`schedule`]). Bodies are parsed
//! in [`ask`], answers written in [`answer`]. The server listens on the loopback address unless another is
//! given.

mod answer;
mod ask;
mod connection;
mod error;
mod http;
mod metrics;
mod schedule;
mod vectors;

use crate::args::{DeviceArgs, Precision};
use crate::{Done, Failure, Terminal};
use clap::Args;
use error::ApiError;
use gradus::models::bert::Embedder;
use gradus::models::chat::Template;
use gradus::models::constrain::{Grammar, Vocabulary};
use gradus::models::tokenizer::Tokenizer;
use metrics::Metrics;
use schedule::Scheduler;
use serde_json::Value as Json;
use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use vectors::Vectors;

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Language model or sentence encoder: GGUF file, or folder with config.json, tokenizer.json and
    /// safetensors files
    pub(crate) model: PathBuf,
    /// Folder of a sentence encoder that answers /v1/embeddings
    #[arg(long, value_name = "FOLDER")]
    pub(crate) embeddings: Option<PathBuf>,
    /// Name of the model in requests [default: the name of the file]
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) model_name: Option<String>,
    /// Address to listen on; addresses other than loopback accept requests from other computers
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 chooses a free port
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
    /// Require this key in requests (Authorization: Bearer KEY); set GRADUS_SERVE_KEY instead to keep it out
    /// of process lists
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Number of texts generated at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) slots: u16,
    /// Largest number of texts that wait for a slot; further requests get status 429
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) queue: u32,
    /// Largest number of open connections; further ones get status 503
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) connections: u32,
    /// Largest number of new tokens per text
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) max_tokens: usize,
    /// Largest number of tokens per text, including the prompt; smaller values need less memory [default: the
    /// model's context]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) context: Option<u32>,
    /// Largest request body, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    pub(crate) max_body: usize,
    /// Time limit of a request, including waiting, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) time: u64,
    /// End a request if its client reads nothing for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) stall: u64,
    /// Seconds that open requests may take to finish after the server is told to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) grace: u64,
    #[command(flatten)]
    pub(crate) precision: Precision,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
}

/// Limits of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    http: http::Limits,
    connections: u64,
    time: Duration,
}

/// A language model, with everything that requests need.
pub(crate) struct Language {
    name: String,
    tokenizer: Tokenizer,
    template: Option<Template>,
    context: usize,
    vocabulary_size: usize,
    most_tokens: usize,
    scheduler: Arc<Scheduler>,
    vocabulary: OnceLock<Arc<Vocabulary>>,
    objects: OnceLock<Arc<Grammar>>,
}

impl Language {
    /// Returns the bytes of all tokens, collected at the first call.
    fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.vocabulary.get_or_init(|| Arc::new(Vocabulary::new(&self.tokenizer, self.vocabulary_size)))
    }

    /// Returns the grammar of JSON objects, built at the first call.
    fn objects(&self) -> Result<Arc<Grammar>, ApiError> {
        if let Some(grammar) = self.objects.get() {
            return Ok(grammar.clone());
        }
        let grammar = Arc::new(Grammar::json_object(self.vocabulary())?);
        Ok(self.objects.get_or_init(|| grammar).clone())
    }
}

/// State shared by all connections.
pub(crate) struct Server {
    language: Option<Language>,
    vectors: Option<Vectors>,
    key: Option<String>,
    /// If true, only this computer can connect.
    loopback: bool,
    limits: Limits,
    metrics: Arc<Metrics>,
    /// Set when no new requests are accepted.
    stopping: AtomicBool,
    /// Set when open requests must end at once.
    cancel: AtomicBool,
    created: u64,
}

/// Returns true if a folder holds a sentence encoder.
fn is_encoder(path: &Path) -> bool {
    let config = std::fs::read(path.join("config.json")).ok();
    let config = config.and_then(|bytes| serde_json::from_slice::<Json>(&bytes).ok());
    config.is_some_and(|c| c["model_type"] == "bert")
}

/// Returns the name of a model, from its path.
fn name_of(path: &Path) -> String {
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.map_or("model".into(), |n| n.to_string_lossy().into_owned())
}

fn load(args: &ServeArgs, metrics: &Arc<Metrics>) -> Done<(Option<Language>, Option<Vectors>)> {
    let device = args.on.device()?;
    let name = args.model_name.clone().unwrap_or_else(|| name_of(&args.model));
    let vectors = |path: &Path, name: String| -> Done<Vectors> {
        Ok(Vectors { name, embedder: Mutex::new(Embedder::load(path, args.on.device()?)?) })
    };
    if is_encoder(&args.model) {
        if args.embeddings.is_some() {
            return Err(Failure::Usage(
                "--embeddings cannot be used: MODEL is a sentence encoder itself".into(),
            ));
        }
        return Ok((None, Some(vectors(&args.model, name)?)));
    }
    let mut model = args.precision.load(&args.model, device)?;
    if let Some(most) = args.context {
        model = model.limit_context(most as usize)?;
    }
    let decoder = model.engine.shared();
    let (context, vocabulary_size) = (decoder.config.context, decoder.config.vocabulary);
    let scheduler = Scheduler::start(decoder, args.slots.into(), args.queue as usize, metrics.clone())?;
    let language = Language {
        name,
        tokenizer: model.tokenizer,
        template: model.template,
        context,
        vocabulary_size,
        most_tokens: args.max_tokens,
        scheduler,
        vocabulary: OnceLock::new(),
        objects: OnceLock::new(),
    };
    let other = args.embeddings.as_deref().map(|path| vectors(path, name_of(path))).transpose()?;
    Ok((Some(language), other))
}

pub(crate) fn run(args: &ServeArgs, terminal: &mut Terminal<'_>) -> Done {
    let key = args.key.clone().or_else(|| std::env::var("GRADUS_SERVE_KEY").ok());
    if key.as_ref().is_some_and(String::is_empty) {
        return Err(Failure::Usage("the key must not be empty".into()));
    }
    // The port is opened before the model is loaded, so that a port in use is reported at once.
    let listener = TcpListener::bind((args.host, args.port)).map_err(|e| {
        Failure::Run(format!(
            "cannot listen on {}:{}: {e}; choose another port with --port",
            args.host, args.port
        ))
    })?;
    let address = listener.local_addr()?;
    let metrics = Arc::new(Metrics::default());
    let (language, vectors) = load(args, &metrics)?;
    let http = http::Limits {
        head: 16 << 10,
        body: args.max_body,
        idle: Duration::from_secs(75),
        arrive: Duration::from_secs(30),
        stall: Duration::from_secs(args.stall),
    };
    let time = Duration::from_secs(args.time);
    let server = Arc::new(Server {
        language,
        vectors,
        key,
        loopback: args.host.is_loopback(),
        limits: Limits { http, connections: args.connections.into(), time },
        metrics,
        stopping: AtomicBool::new(false),
        cancel: AtomicBool::new(false),
        created: now(),
    });
    if !server.loopback && server.key.is_none() {
        writeln!(terminal.err, "note: other computers can use the model without a key; --key requires one")?;
    }
    stop_on_signals(&server, address);
    let names = server.names().join(", ");
    writeln!(terminal.out, "http://{address}/v1 serves {names}; Ctrl-C stops it")?;
    terminal.out.flush()?;
    for stream in listener.incoming() {
        if server.stopping.load(Relaxed) {
            break;
        }
        match stream {
            Ok(stream) => connection::accept(&server, stream),
            // Too many open files, or a client that has already disconnected; later connections may succeed.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    drop(listener);
    server.finish(Duration::from_secs(args.grace));
    writeln!(terminal.out, "stopped")?;
    Ok(())
}

/// Stops the server at Ctrl-C or a termination signal; the second signal ends the process at once.
fn stop_on_signals(server: &Arc<Server>, address: SocketAddr) {
    static CURRENT: Mutex<Option<(Arc<Server>, SocketAddr)>> = Mutex::new(None);
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some((server.clone(), address));
    // Fails if a handler exists. It is that of an earlier call, which uses `CURRENT`, or that of a program
    // that calls this library.
    let _ = ctrlc::set_handler(|| {
        let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((server, address)) = &*current else { return };
        if server.stopping.swap(true, Relaxed) {
            std::process::exit(130);
        }
        // Wakes the thread in `accept`. An unspecified address is reached through the loopback address.
        let mut address = *address;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1u16])
            });
        }
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
    });
}

impl Server {
    /// Names of the served models.
    fn names(&self) -> Vec<&str> {
        let language = self.language.as_ref().map(|l| l.name.as_str());
        language.into_iter().chain(self.vectors.as_ref().map(|v| v.name.as_str())).collect()
    }

    /// Waits until open requests have ended; cancels those that take longer than `grace`.
    fn finish(&self, grace: Duration) {
        let wait = |most: Duration| {
            let until = Instant::now() + most;
            while self.metrics.busy.load(Relaxed) > 0 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        wait(grace);
        self.cancel.store(true, Relaxed);
        wait(Duration::from_secs(2));
    }
}

/// Returns an error if a request names another model. A request without a name gets the served model.
fn check_model(model: Option<&Json>, name: &str) -> Result<(), ApiError> {
    match model.map(Json::as_str) {
        None => Ok(()),
        Some(Some(asked)) if asked == name => Ok(()),
        Some(Some(asked)) => {
            let e = ApiError::new(
                404,
                format!(
                    "the model `{asked}` is not available at this endpoint; the served model is `{name}`"
                ),
            );
            Err(ApiError { param: Some("model".into()), ..e }.with_code("model_not_found"))
        }
        Some(None) => Err(ApiError::field("model", "must be a string")),
    }
}

/// Returns a random number for ids and seeds.
fn random() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Seconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs())
}
