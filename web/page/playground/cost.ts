/** The cost of a run: kernels, memory and generated code. */
import { compileForward, compileTraining, optim, type DeviceName, type Explained, type InputDecls } from 'gradus'
import { session } from '../lib/device.js'
import { el, select } from '../lib/dom.js'
import { codeBlock } from '../lib/highlight.js'
import { modelOf } from './model.js'
import type { Program, View } from './equations.js'

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
      return await forward.explain()
    } finally {
      forward.dispose()
    }
  }

  async function show(program: Program): Promise<void> {
    panel.replaceChildren(el('div', { class: 'controls' }, choose), ...explanation(await explain(program), session().device))
  }
  return {
    panel,
    async update(program) {
      last = program
      await show(program)
    },
  }
}

/** Shows counts, plan and kernels of a compiled step or function. */
export function explanation(e: Explained, device: DeviceName): HTMLElement[] {
  const onGpu = device === 'webgpu'
  const kernels = new Set(e.code).size
  const found = (what: string) => (new RegExp(`([\\d,.]+) ${what}`).exec(e.text)?.[1] ?? '–')
  return [
    el('dl', { class: 'numbers' },
      ...([[onGpu ? 'dispatches' : 'kernels run', e.dispatches], ['operations', found('operations')], ['bytes moved', found('B moved')], ['different kernels', kernels], ['bytes of temporaries', e.arena.toLocaleString('en')]] as const)
        .map(([k, v]) => el('div', null, el('dt', null, k), el('dd', null, String(v))))),
    el('details', { open: true }, el('summary', null, 'Plan'), el('pre', { class: 'code plan', tabindex: '0', role: 'region', 'aria-label': 'Plan' }, e.text)),
    ...e.code.slice(0, 60).map((text, i) => el('details', { open: i === 0 && e.code.length === 1 }, el('summary', null, `${onGpu ? 'WGSL' : 'Code'} of kernel ${i + 1}`), codeBlock(text, 'wgsl', `Code of kernel ${i + 1}`))),
  ]
}
