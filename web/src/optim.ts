/** Optimisers and schedules of the learning rate, as data that is sent to the module or to a worker. */

/** A learning rate as a function of the number of steps taken. */
export type Schedule =
  | { kind: 'constant', rate: number }
  | { kind: 'linear', from: number, to: number, steps: number }
  | { kind: 'cosine', rate: number, steps: number, least?: number }
  | { kind: 'warmup', steps: number, after: Schedule }
  | { kind: 'stairs', rate: number, every: number, factor: number }
  | { kind: 'milestones', rate: number, at: readonly number[], factor: number }

export type Rate = number | Schedule

interface Common {
  /** The learning rate: a number or a schedule. */
  rate: Rate
  /** Largest global norm of the gradients. */
  clip?: number
}
export interface SgdOptions extends Common { momentum?: number, nesterov?: boolean, weightDecay?: number }
export interface AdamOptions extends Common { beta1?: number, beta2?: number, eps?: number, weightDecay?: number }
export interface RmsPropOptions extends Common {}
export interface LionOptions extends Common { beta1?: number, beta2?: number, weightDecay?: number }

export type Optimizer =
  | ({ kind: 'sgd' } & SgdOptions)
  | ({ kind: 'adam' } & AdamOptions)
  | ({ kind: 'adamw' } & AdamOptions)
  | ({ kind: 'rmsprop' } & RmsPropOptions)
  | ({ kind: 'lion' } & LionOptions)

export const sgd = (options: SgdOptions): Optimizer => ({ kind: 'sgd', ...options })
/** Adam; its weight decay, if any, is added to the gradients. */
export const adam = (options: AdamOptions): Optimizer => ({ kind: 'adam', ...options })
/** Adam with decoupled weight decay, by default 0.01, of parameters that have two or more axes. */
export const adamw = (options: AdamOptions): Optimizer => ({ kind: 'adamw', ...options })
export const rmsprop = (options: RmsPropOptions): Optimizer => ({ kind: 'rmsprop', ...options })
export const lion = (options: LionOptions): Optimizer => ({ kind: 'lion', ...options })

/** The rate after `step` steps. */
export function rateAt(rate: Rate, step: number): number {
  if (typeof rate === 'number') return rate
  const part = 'steps' in rate ? Math.min(step / Math.max(1, rate.steps), 1) : 0
  switch (rate.kind) {
    case 'constant': return rate.rate
    case 'linear': return rate.from + (rate.to - rate.from) * part
    case 'cosine': return (rate.least ?? 0) + (rate.rate - (rate.least ?? 0)) * 0.5 * (1 + Math.cos(Math.PI * part))
    case 'warmup':
      return step < rate.steps ? (rateAt(rate.after, 0) * (step + 1)) / (rate.steps + 1) : rateAt(rate.after, step - rate.steps)
    case 'stairs': return rate.rate * rate.factor ** Math.floor(step / Math.max(1, rate.every))
    case 'milestones': return rate.rate * rate.factor ** rate.at.filter((a) => a <= step).length
  }
}

/** Constructors of schedules. */
export const schedule = {
  constant: (rate: number): Schedule => ({ kind: 'constant', rate }),
  /** From one rate to another within `steps` steps, then constant. */
  linear: (from: number, to: number, steps: number): Schedule => ({ kind: 'linear', from, to, steps }),
  /** Half a cosine from `rate` down to `least`. */
  cosine: (rate: number, steps: number, least = 0): Schedule => ({ kind: 'cosine', rate, steps, least }),
  /** Rises linearly, then continues with another schedule. */
  warmup: (steps: number, after: Rate): Schedule =>
    ({ kind: 'warmup', steps, after: typeof after === 'number' ? { kind: 'constant', rate: after } : after }),
  /** Multiplied by `factor` every `every` steps. */
  stairs: (rate: number, every: number, factor: number): Schedule => ({ kind: 'stairs', rate, every, factor }),
  /** Multiplied by `factor` at each of these steps. */
  milestones: (rate: number, at: readonly number[], factor: number): Schedule => ({ kind: 'milestones', rate, at, factor }),
}
