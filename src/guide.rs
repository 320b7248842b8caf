//! The Rust code of the book in `docs/`, as documentation tests.

/// Makes the Rust blocks of pages documentation tests.
macro_rules! pages {
    ($($name:ident = $path:literal,)*) => {
        $(#[doc = include_str!(concat!("../docs/", $path))] mod $name {})*
    };
}

pages! {
    introduction = "introduction.md",
    first = "first.md",
    derivatives = "tutorial/derivatives.md",
    graphs = "tutorial/graphs.md",
    broadcasting = "tutorial/broadcasting.md",
    regression = "tutorial/regression.md",
    networks = "tutorial/networks.md",
    pytorch = "pytorch.md",
    transforms = "transforms.md",
    training = "training.md",
    devices = "devices.md",
    models = "models.md",
    tuning = "tuning.md",
    internals = "internals.md",
    adding_an_op = "adding_an_op.md",
    performance = "performance.md",
}
