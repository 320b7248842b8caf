//! Errors of requests: an HTTP status, and the error object that OpenAI's clients expect.

use serde_json::{Value, json};

/// The error of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The field of the body that is wrong.
    pub(crate) param: Option<String>,
    pub(crate) code: Option<&'static str>,
}

impl ApiError {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> ApiError {
        ApiError { status, message: message.into(), param: None, code: None }
    }

    /// Makes an error about a field of the body.
    pub(crate) fn field(name: &str, message: impl std::fmt::Display) -> ApiError {
        let message = format!("`{name}` {message}");
        ApiError { status: 400, message, param: Some(name.to_string()), code: Some("invalid_value") }
    }

    pub(crate) fn with_code(self, code: &'static str) -> ApiError {
        ApiError { code: Some(code), ..self }
    }

    /// Returns the JSON object of the response body.
    pub(crate) fn body(&self) -> Value {
        let kind = match self.status {
            401 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": { "message": self.message, "type": kind, "param": self.param, "code": self.code } })
    }
}

impl From<gradus::Error> for ApiError {
    fn from(e: gradus::Error) -> ApiError {
        ApiError::new(400, e.message())
    }
}
