/** Limits overlapping calls of a function: one runs, and only the latest of the others waits. */

export type SingleFlightResult<R> = { type: 'completed', value: R } | { type: 'aborted' }

/** Wraps a function so that at most one call runs and one waits; a waiting call that a newer one replaces is aborted. */
export function singleFlight<A, R>(f: (argument: A) => Promise<R>): (argument: A) => Promise<SingleFlightResult<R>> {
  let running: Promise<unknown> | null = null
  let abortWaiting: (() => void) | null = null
  return async (argument) => {
    abortWaiting?.()
    abortWaiting = null
    if (running) {
      const mine = running
      const mayRun = await new Promise<boolean>((resolve) => {
        abortWaiting = () => resolve(false)
        void mine.then(() => resolve(true))
      })
      if (!mayRun) return { type: 'aborted' }
      abortWaiting = null
    }
    const call = f(argument)
    const ended = running = call.then(() => null, () => null)
    try {
      return { type: 'completed', value: await call }
    } finally {
      if (running === ended) running = null
    }
  }
}
