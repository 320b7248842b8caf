/** An entry of the gallery: a training or a program of equations, and how it is shown. Entries have no side effects until they are shown. */
import type { Forward, ForwardOptions, InputDecls, Training, TrainingSpec, nn } from 'gradus'
import type { Report } from './loop.js'

export interface About {
  id: string
  title: string
  /** One line for the list. */
  line: string
  /** A paragraph above the entry. */
  text: string
  /** The text of the entry's file. */
  source: string
}

/** The objects that views and batches of a training may use. */
export interface Stage {
  training: Training<nn.Module, InputDecls>
  /** A compiled function of the same parameters, made once per name and device. */
  forward<M extends nn.Module, const J extends InputDecls>(name: string, options: ForwardOptions<M, J>): Promise<Forward<J>>
  /** True while steps run. */
  running: boolean
}

export interface View {
  /** Draws the state. Called after the start, repeatedly while training, and when training is paused. */
  draw(stage: Stage, report: Report | null): void | Promise<void>
  /** Called after the parameters were reset. */
  reset?(): void
}

export interface TrainingEntry extends About {
  kind: 'training'
  /** The mean of the last losses that training must reach within a minute. */
  target: number
  /** The name of the loss. */
  measure: string
  rate: number
  spec(): Promise<TrainingSpec<never, never>> | TrainingSpec<never, never>
  batch(step: number, stage: Stage): unknown
  view(host: HTMLElement, stage: () => Stage): View | Promise<View>
}

export interface ProgramEntry extends About {
  kind: 'program'
  show(host: HTMLElement): void | Promise<void>
}

export type Entry = TrainingEntry | ProgramEntry

/** Checks the types of an entry's parts against each other. */
export function training<M extends nn.Module, const I extends InputDecls>(e: Omit<TrainingEntry, 'kind' | 'spec' | 'batch'> & {
  spec(): Promise<TrainingSpec<M, I>> | TrainingSpec<M, I>
  batch(step: number, stage: Stage): { [K in keyof I]: ArrayLike<number> } | Promise<{ [K in keyof I]: ArrayLike<number> }>
}): TrainingEntry {
  return { kind: 'training', ...e } as unknown as TrainingEntry
}
