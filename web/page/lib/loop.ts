/**
 * Runs training steps until it is paused. Waits for a loss about every 40 ms only, because each wait is a round trip to the GPU. Between
 * two waits it takes as many steps as fit, and lets the page draw.
 */
import type { StepResult } from 'gradus'

export interface Steps {
  readonly steps: number
  step(inputs: never, options?: { read?: boolean }): Promise<StepResult>
}

/** State of a training, after each loss that was read. */
export interface Report {
  step: number
  /** The last loss that was read. */
  loss: number
  /** Mean of the last losses that were read. */
  mean: number
  /** Steps per second of training time; drawing does not count. */
  rate: number
}

/** Number of losses in `mean`. */
const RECENT = 10
/** Milliseconds between two losses. */
const SLICE = 40
const MOST_STEPS = 50

export class Loop {
  running = false
  readonly points: { step: number, loss: number }[] = []
  private slice = 1
  private times: { steps: number, ms: number }[] = []
  private ended: Promise<void> = Promise.resolve()

  constructor(
    private steps: () => Steps,
    private batch: (step: number) => unknown,
    private on: {
      report: (r: Report) => void | Promise<void>
      error: (e: Error) => void
      state: (running: boolean) => void
    },
  ) {}

  start(): void {
    if (this.running) return
    this.running = true
    this.on.state(true)
    const before = this.ended
    this.ended = (async () => {
      await before
      while (this.running && await this.take(this.slice)) await breathe()
      this.running = false
      this.on.state(false)
    })()
  }

  /** Stops after the current slice of steps; resolves when that slice has ended. */
  async pause(): Promise<void> {
    this.running = false
    await this.ended
  }

  /** Takes one step. */
  async once(): Promise<void> {
    await this.pause()
    await this.take(1)
  }

  async reset(): Promise<void> {
    await this.pause()
    this.points.length = 0
    this.times.length = 0
    this.slice = 1
  }

  private async take(count: number): Promise<boolean> {
    const training = this.steps()
    try {
      const from = performance.now()
      let outside = 0
      let result: StepResult = { type: 'aborted' }
      for (let i = 0; i < count; i++) {
        const made = performance.now()
        const batch = await this.batch(training.steps)
        outside += performance.now() - made
        result = await training.step(batch as never, { read: i === count - 1 })
        if (result.type !== 'completed') break
      }
      if (result.type === 'failed') throw result.error
      if (result.type === 'aborted') return false
      const ms = performance.now() - from
      // The first slice compiles kernels, so its time is not counted.
      if (this.points.length) this.times.push({ steps: count, ms: Math.max(ms - outside, 0.01) })
      if (this.times.length > 20) this.times.shift()
      this.slice = Math.min(MOST_STEPS, Math.max(1, Math.round((count * SLICE) / Math.max(ms, 1))), count * 2)
      this.points.push({ step: result.step, loss: result.loss })
      // A long run keeps every other point, so that the curve stays cheap to draw.
      if (this.points.length > 4000) this.points.splice(0, this.points.length, ...this.points.filter((_, i) => i % 2))
      const recent = this.points.slice(-RECENT)
      const total = this.times.reduce((a, t) => ({ steps: a.steps + t.steps, ms: a.ms + t.ms }), { steps: 0, ms: 0 })
      await this.on.report({
        step: result.step, loss: result.loss,
        mean: recent.reduce((a, p) => a + p.loss, 0) / recent.length,
        rate: total.ms ? (1000 * total.steps) / total.ms : 0,
      })
      return true
    } catch (e) {
      this.on.error(e as Error)
      return false
    }
  }
}

const channel = new MessageChannel()
const waiting: (() => void)[] = []
channel.port1.onmessage = () => waiting.shift()?.()

/** Lets the page handle events and draw, without the delay of timers. */
export function breathe(): Promise<void> {
  return new Promise((done) => {
    waiting.push(done)
    channel.port2.postMessage(0)
  })
}
