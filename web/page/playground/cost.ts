/** What a run costs: kernels, memory, and the code that was generated. */
import { compileForward, compileTraining, optim, type InputDecls } from 'gradus'
import { session } from '../lib/device.js'
import { el, select } from '../lib/dom.js'
import { codeBlock } from '../lib/highlight.js'
import { modelOf } from './model.js'
import type { Program, View } from './playground.js'

interface Explained { text: string, dispatches: number, arena: number, code: string[] }

/** The parts of a compiled function that its type keeps to itself. */
interface Insides { session: { call(verb: string, fields: object): unknown }, compiled: number }

export function costView(): View {
  const panel = el('div', { class: 'tab cost' })
  let which = 'forward'
  let last: Program | null = null
  const choose = select([['forward', 'One run'], ['train', 'One training step']], which, (v) => {
    which = v
    if (last) void show(last)
  })
  choose.setAttribute('aria-label', 'What is explained')

  async function explain(program: Program): Promise<Explained> {
    const { model, inputs, feed, loss } = modelOf(program)
    if (which === 'train') {
      if (!model.parameters().size) throw new Error('choose parameters in the tab Train first')
      const training = await compileTraining({ model, loss: loss as never, inputs: inputs as InputDecls, optimizer: optim.adam({ rate: 0.01 }) })
      try {
        const taken = await training.step(feed)
        if (taken.type === 'failed') throw taken.error
        return await training.explain()
      } finally {
        training.dispose()
      }
    }
    const forward = await compileForward({ model, forward: (m, given) => loss(m, given), inputs: inputs as InputDecls })
    try {
      const result = await forward.run(feed)
      if (result.type === 'failed') throw result.error
      const { session: module, compiled } = forward as unknown as Insides
      const ids = Object.entries(feed).map(([name, data]) => {
        const bytes = (module as unknown as { give(b: Uint8Array): object }).give(new Uint8Array(data.buffer))
        return (module.call('tensor', { shape: inputs[name], dtype: 'f32', data: bytes, device: session().device }) as { id: number }).id
      })
      try {
        return module.call('explain', { compiled, ins: ids }) as Explained
      } finally {
        module.call('free', { ids })
      }
    } finally {
      forward.dispose()
    }
  }

  async function show(program: Program): Promise<void> {
    const e = await explain(program)
    const onGpu = session().device === 'webgpu'
    const kernels = new Set(e.code).size
    const found = (what: string) => (new RegExp(`([\\d,.]+) ${what}`).exec(e.text)?.[1] ?? '–')
    panel.replaceChildren(
      el('div', { class: 'controls' }, choose),
      el('dl', { class: 'numbers' },
        ...([[onGpu ? 'dispatches' : 'kernels run', e.dispatches], ['operations', found('operations')], ['bytes moved', found('B moved')], ['different kernels', kernels], ['bytes of temporaries', e.arena.toLocaleString('en')]] as const)
          .map(([k, v]) => el('div', null, el('dt', null, k), el('dd', null, String(v))))),
      el('details', { open: true }, el('summary', null, 'Plan'), el('pre', { class: 'code plan', tabindex: '0', role: 'region', 'aria-label': 'Plan' }, e.text)),
      ...e.code.slice(0, 60).map((text, i) => el('details', { open: i === 0 && e.code.length === 1 }, el('summary', null, `${onGpu ? 'WGSL' : 'Code'} of kernel ${i + 1}`), codeBlock(text, 'wgsl', `Code of kernel ${i + 1}`))))
  }
  return {
    panel,
    async update(program) {
      last = program
      await show(program)
    },
  }
}
