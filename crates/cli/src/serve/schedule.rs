//! Runs the thread that generates texts. Texts wait in a bounded queue for a slot of the batch, and their tokens
//! are sent through channels.
//!
//! The thread never writes to a client, so a slow client delays only its own connection.

use super::metrics::Metrics;
use gradus::models::batch::{Batch, Event, Slot};
use gradus::models::decoder::Decoder;
use gradus::models::engine::Options;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A text to generate.
pub(crate) struct Job {
    pub(crate) prompt: Arc<Vec<i64>>,
    pub(crate) options: Options,
    /// Index of the text in its request.
    pub(crate) index: usize,
    /// Receives the events. If the receiver has been dropped, generation of the text ends.
    pub(crate) events: Sender<(usize, Event)>,
    /// Set when the client has disconnected or the text is complete.
    pub(crate) cancelled: Arc<AtomicBool>,
}

/// The queue of texts that wait for the engine.
pub(crate) struct Scheduler {
    queue: Mutex<VecDeque<Job>>,
    wake: Condvar,
    most: usize,
    metrics: Arc<Metrics>,
}

impl Scheduler {
    /// Starts the engine's thread with `slots` slots and a queue of at most `most` waiting texts.
    pub(crate) fn start(
        model: Arc<Decoder>,
        slots: usize,
        most: usize,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Arc<Scheduler>> {
        let scheduler = Arc::new(Scheduler { queue: Mutex::default(), wake: Condvar::new(), most, metrics });
        let own = scheduler.clone();
        let run = move || {
            loop {
                // A panic or an error ends only the texts that were running.
                let batch = Batch::new(model.clone(), slots);
                let _ = catch_unwind(AssertUnwindSafe(|| own.run(batch)));
                own.metrics.restarts.fetch_add(1, Relaxed);
            }
        };
        std::thread::Builder::new().name("engine".into()).spawn(run)?;
        Ok(scheduler)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Largest number of waiting texts.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Queues all texts of a request. If they do not fit, queues none and returns false.
    pub(crate) fn submit(&self, jobs: Vec<Job>) -> bool {
        let mut queue = self.lock();
        // Texts of disconnected clients do not count.
        queue.retain(|job| !job.cancelled.load(Relaxed));
        if queue.len() + jobs.len() > self.most {
            return false;
        }
        queue.extend(jobs);
        self.metrics.waiting.store(queue.len() as u64, Relaxed);
        self.wake.notify_one();
        true
    }

    /// Generates until an error concerns all texts.
    fn run(&self, mut batch: Batch) {
        let mut running: Vec<(Slot, Job)> = Vec::new();
        loop {
            let (free, metrics) = (batch.free(), &self.metrics);
            metrics.running.store(running.len() as u64, Relaxed);
            let mut queue = self.lock();
            while queue.is_empty() && running.is_empty() {
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            queue.retain(|job| !job.cancelled.load(Relaxed));
            let count = free.min(queue.len());
            let admitted: Vec<Job> = queue.drain(..count).collect();
            metrics.waiting.store(queue.len() as u64, Relaxed);
            drop(queue);
            for job in admitted {
                match batch.admit(&job.prompt, &job.options) {
                    Ok(slot) => {
                        metrics.prompt_tokens.fetch_add(job.prompt.len() as u64, Relaxed);
                        running.push((slot, job));
                    }
                    Err(e) => drop(job.events.send((job.index, Event::Failed(e.message())))),
                }
            }
            running.retain(|(slot, job)| {
                let stays = !job.cancelled.load(Relaxed);
                if !stays {
                    batch.release(*slot);
                }
                stays
            });
            metrics.running.store(running.len() as u64, Relaxed);
            let events = match batch.step() {
                Ok(events) => events,
                Err(e) => {
                    for (_, job) in &running {
                        let _ = job.events.send((job.index, Event::Failed(e.message())));
                    }
                    return;
                }
            };
            for (slot, event) in events {
                let Some(at) = running.iter().position(|(s, _)| *s == slot) else { continue };
                let ended = !matches!(event, Event::Token(_));
                if !ended {
                    metrics.generated_tokens.fetch_add(1, Relaxed);
                }
                let job = &running[at].1;
                if job.events.send((job.index, event)).is_err() || ended {
                    batch.release(slot);
                    running.swap_remove(at);
                }
            }
        }
    }
}
