/** Programs of the menu: those of the folder `examples`, with values for their inputs. */
import attention from 'example:equations/attention.eq'
import convolution from 'example:equations/convolution.eq'
import hmm from 'example:equations/hmm.eq'
import kalman from 'example:equations/kalman.eq'
import logistic from 'example:equations/logistic_regression.eq'
import mlp from 'example:equations/mlp.eq'
import pagerank from 'example:equations/pagerank.eq'
import rnn from 'example:equations/rnn.eq'
import block from 'example:equations/transformer_block.eq'
import xor from 'example:train/xor.eq'
import ancestors from 'source:ancestors.eq'
import digits from 'source:../script/examples/digits.ts'
import newton from 'source:../script/examples/newton.ts'
import oscillator from 'source:../script/examples/oscillator.ts'
import sine from 'source:../script/examples/sine.ts'
import type { State } from './state.js'

/** The text without the `# expect` lines, which tests of the repository read. */
const plain = (text: string): string => text.replace(/^# expect .*\n?/gm, '').trimEnd() + '\n'

const program = (source: string, more: Partial<State> = {}): State => ({ language: 'equations', source: plain(source), values: {}, roles: {}, loss: '', rate: 0.05, ...more })
const script = (source: string): State => ({ language: 'typescript', source, values: {}, roles: {}, loss: '', rate: 0.05 })
const parameters = (...names: string[]): State['roles'] => Object.fromEntries(names.map((n) => [n, 'parameter']))

export const examples: { id: string, title: string, state: State }[] = [
  { id: 'xor', title: 'Exclusive or, a network to train', state: program(xor, {
    values: { X: '[[0, 0], [0, 1], [1, 0], [1, 1]]', T: '[0, 1, 1, 0]', W: 'normal(1, [8, 2])', b: 'normal(1, [8])', V: 'normal(1, [8])', c: '0' },
    roles: parameters('W', 'b', 'V', 'c'),
  }) },
  { id: 'mlp', title: 'Perceptron', state: program(mlp, { roles: parameters('W1', 'B1', 'W2', 'B2') }) },
  { id: 'attention', title: 'Attention', state: program(attention, { roles: parameters('WQ', 'WK', 'WV') }) },
  { id: 'block', title: 'Transformer block', state: program(block, { roles: parameters('WQ', 'WK', 'WV', 'WO', 'W1', 'W2') }) },
  { id: 'rnn', title: 'Recurrent network', state: program(rnn, { roles: parameters('WX', 'WH', 'B') }) },
  { id: 'logistic', title: 'Logistic regression in virtual time', state: program(logistic) },
  { id: 'convolution', title: 'Convolution three ways', state: program(convolution, { roles: parameters('K') }) },
  { id: 'hmm', title: 'Hidden Markov model', state: program(hmm, { roles: parameters('Start', 'Trans', 'Emit') }) },
  { id: 'kalman', title: 'Kalman filter', state: program(kalman) },
  { id: 'pagerank', title: 'PageRank', state: program(pagerank) },
  { id: 'ancestors', title: 'Ancestors (Datalog)', state: program(ancestors) },
  { id: 'sine.ts', title: 'Sine, a network to train', state: script(sine) },
  { id: 'digits.ts', title: 'Digits, a convolutional network', state: script(digits) },
  { id: 'oscillator.ts', title: 'Oscillator, a loss of derivatives', state: script(oscillator) },
  { id: 'newton.ts', title: "Newton's method with a Hessian", state: script(newton) },
]
