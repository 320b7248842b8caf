/** The package with the wasm module in a real browser, on the CPU and on WebGPU in software. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { open, skipWasm as skip } from './browser.mjs'
import { spec } from './sine.mjs'

let browser
before(async () => {
  if (skip) return
  browser = await open()
  browser.serve('/sine.js', spec)
})
after(async () => {
  if (skip) return
  const { problems } = browser
  await browser.close()
  assert.deepEqual(problems, [], 'nothing is reported on the console')
})

/** Runs `body` in the page after `init` on a device. */
const run = (device, body, argument) => browser.run(`
import * as g from '/dist/index.js'
const caught = async (f) => { try { await f(); return null } catch (e) { return { name: e.name, message: e.message, line: e.line } } }
export default async function (argument) {
  const session = await g.init({ device: '${device}', seed: 3 })
  ${body}
}`, argument)

const close = (a, b, tolerance, what) => {
  const [x, y] = [a, b].map((v) => [v].flat(Infinity))
  assert.equal(x.length, y.length, what)
  x.forEach((v, i) => assert.ok(Math.abs(v - y[i]) <= tolerance * Math.max(1, Math.abs(y[i])), `${what}: ${v} at ${i}, expected ${y[i]}`))
}

for (const device of ['cpu', 'webgpu']) {
  describe(device, { skip }, () => {
    test('values of ops are those of plain JavaScript', async () => {
      const a = Array.from({ length: 6 }, (_, i) => Array.from({ length: 5 }, (_, j) => Math.sin(3 * i + j) + 0.1 * j))
      const b = Array.from({ length: 5 }, (_, i) => Array.from({ length: 4 }, (_, j) => Math.cos(i - 2 * j)))
      const got = await run(device, `
        const a = g.tensor(argument.a), b = g.tensor(argument.b)
        return {
          device: a.device,
          matmul: await a.matmul(b).array(),
          mean: await a.mean(0).array(),
          softmax: await a.softmax(-1).array(),
          mixed: await g.sub(1, a).mul(2.5).tanh().array(),
          transposed: await a.transpose(0, 1).sum(-1, true).array(),
          sorted: await Promise.all(a.sort(1).map((t) => t.array())),
          where: await a.gt(0).where(a, -1).array(),
          masked: await a.maskedFill(a.lt(0), -Infinity).max(1).array(),
          ints: await g.tensor(new Int32Array([7, -7, 3])).add(2).array(),
          parts: (await Promise.all(g.arange(0, 7).split(3).map((t) => t.array()))),
          bools: await g.tensor([true, false]).array(),
        }`, { a, b })
      assert.equal(got.device, device)
      close(got.matmul, a.map((r) => b[0].map((_, j) => r.reduce((s, v, k) => s + v * b[k][j], 0))), 1e-5, 'matmul')
      close(got.mean, a[0].map((_, j) => a.reduce((s, r) => s + r[j], 0) / 6), 1e-6, 'mean')
      const softmax = (r) => { const e = r.map(Math.exp), s = e.reduce((x, y) => x + y); return e.map((v) => v / s) }
      close(got.softmax, a.map(softmax), 1e-6, 'softmax')
      close(got.mixed, a.map((r) => r.map((v) => Math.tanh(2.5 * (1 - v)))), 1e-5, 'mixed')
      close(got.transposed, a[0].map((_, j) => [a.reduce((s, r) => s + r[j], 0)]), 1e-5, 'transposed')
      close(got.sorted[0], a.map((r) => [...r].sort((x, y) => x - y)), 1e-6, 'sorted')
      assert.deepEqual(got.sorted[1], a.map((r) => r.map((_, i) => i).sort((x, y) => r[x] - r[y])))
      close(got.where, a.map((r) => r.map((v) => (v > 0 ? v : -1))), 1e-6, 'where')
      close(got.masked, a.map((r) => Math.max(...r.filter((v) => v >= 0))), 1e-6, 'masked')
      assert.deepEqual(got.ints, [9, -5, 5])
      assert.deepEqual(got.parts, [[0, 1, 2], [3, 4, 5], [6]])
      assert.deepEqual(got.bools, [true, false])
    })

    test('convolution, pooling, embedding and attention', async () => {
      const got = await run(device, `
        const image = g.arange(0, 32).reshape([1, 2, 4, 4])
        const kernel = g.ones([3, 2, 3, 3])
        const q = g.arange(0, 12).reshape([1, 3, 4]).mul(0.1)
        return {
          conv: await image.conv2d(kernel, g.tensor([0, 1, 2]), 1, 0).array(),
          pool: await image.maxPool2d(2).array(),
          up: await g.nearestUpsample2d(image.maxPool2d(2), 2).select(1, 0).array(),
          rows: await g.arange(0, 12).reshape([4, 3]).embedding(g.tensor([3, 0], { dtype: 'i32' })).array(),
          causal: await g.softmaxCausal(g.zeros([3, 3])).array(),
          attention: await q.attention(q, q, { causal: true }).array(),
          heads: (await g.mergeHeads(g.splitHeads(q, 2)).array()),
          q: await q.array(),
        }`)
      const at = (c, i, j) => 16 * c + 4 * i + j
      const window = (i, j) => [0, 1].flatMap((c) => [0, 1, 2].flatMap((u) => [0, 1, 2].map((v) => at(c, i + u, j + v)))).reduce((x, y) => x + y)
      close(got.conv, [0, 1, 2].map((o) => [0, 1].map((i) => [0, 1].map((j) => window(i, j) + o))), 1e-6, 'conv')
      close(got.pool, [0, 1].map((c) => [1, 3].map((i) => [1, 3].map((j) => at(c, i, j)))), 1e-6, 'pool')
      close(got.up, [5, 5, 7, 7, 5, 5, 7, 7, 13, 13, 15, 15, 13, 13, 15, 15], 1e-6, 'up')
      assert.deepEqual(got.rows, [[9, 10, 11], [0, 1, 2]])
      close(got.causal, [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], 1e-6, 'causal')
      assert.deepEqual(got.heads, got.q)
      const q = got.q[0]
      const expected = q.map((row, i) => {
        const e = q.slice(0, i + 1).map((k) => Math.exp(row.reduce((s, v, c) => s + v * k[c], 0) / 2))
        const sum = e.reduce((x, y) => x + y)
        return row.map((_, c) => e.reduce((s, w, k) => s + (w / sum) * q[k][c], 0))
      })
      close(got.attention, expected, 1e-5, 'attention')
    })

    test('gradients and batches of functions', async () => {
      const got = await run(device, `
        const x = g.tensor([0.5, -1, 2]), w = g.tensor([1, 2, 3])
        const f = (x, w) => x.mul(w).sin().sum()
        const { value, grads } = g.valueAndGrad(f, [0, 1])(x, w)
        const second = g.grad((x) => g.grad((y) => y.pow(3).sum())(x).sum())
        return {
          value: await value.item(), grads: await Promise.all(grads.map((t) => t.array())), one: await g.grad(f)(x, w).array(),
          second: await second(x).array(),
          batch: await g.vmap((a, b) => a.mul(b).sum(), [0, null])(g.tensor([[1, 2], [3, 4]]), g.tensor([10, 1])).array(),
        }`)
      const [x, w] = [[0.5, -1, 2], [1, 2, 3]]
      close(got.value, x.reduce((s, v, i) => s + Math.sin(v * w[i]), 0), 1e-5, 'value')
      close(got.grads, [x.map((v, i) => w[i] * Math.cos(v * w[i])), x.map((v, i) => v * Math.cos(v * w[i]))], 1e-5, 'grads')
      close(got.one, got.grads[0], 0, 'grad')
      close(got.second, x.map((v) => 6 * v), 1e-5, 'second')
      assert.deepEqual(got.batch, [12, 34])
    })

    test('errors have a class and the line of the caller', async () => {
      const got = await run(device, `
        const x = g.ones([2, 3])
        const wrong = await caught(() => x.matmul(x))
        const inLoss = await caught(() => g.compileTraining({
          model: new (class extends g.nn.Module { l = new g.nn.Linear(3, 1) })(),
          loss: (m, { x }) => m.l.forward(x).mean(),
          inputs: { x: [4, 5] }, optimizer: g.optim.sgd({ rate: 0.1 }),
        }))
        const vector = await caught(() => g.compileTraining({
          model: new (class extends g.nn.Module { l = new g.nn.Linear(3, 2) })(),
          loss: (m, { x }) => m.l.forward(x),
          inputs: { x: [4, 3] }, optimizer: g.optim.sgd({ rate: 0.1 }),
        }))
        const thrown = await caught(() => g.grad(() => { throw new RangeError('of mine') })(x))
        const index = await caught(async () => (await x.embedding(g.tensor([0, 9], { dtype: 'i32' })).data()))
        const dispose = await caught(() => { x.dispose(); x.sum() })
        return { wrong, inLoss, vector, thrown, index, dispose, ragged: await caught(() => g.tensor([[1], [2, 3]])) }`)
      assert.equal(got.wrong.name, 'ShapeError')
      assert.match(got.wrong.message, /inner extents 3 and 2 differ/)
      assert.match(got.wrong.line, /\/test-\d+\.js:8:\d+$/)
      assert.equal(got.inLoss.name, 'ShapeError')
      assert.match(got.inLoss.line, /\/test-\d+\.js:11:\d+$/)
      assert.match(got.vector.message, /the loss must be a scalar/)
      assert.deepEqual([got.thrown.name, got.thrown.message], ['RangeError', 'of mine'])
      assert.match(got.index.message, /9|position 1/)
      assert.match(got.dispose.message, /disposed/)
      assert.equal(got.ragged.name, 'ShapeError')
    })

    test('a training names the op that made a NaN, and continues', async () => {
      const got = await run(device, `
        class M extends g.nn.Module { w = this.param([2], { init: { values: [1, 2] } }) }
        const model = new M()
        const train = await g.compileTraining({
          model, inputs: { x: [2] }, optimizer: g.optim.sgd({ rate: 0.1 }),
          loss: (m, { x }) => {
            const product = m.w.mul(x)
            return product.log().sum()
          },
        })
        const good = await train.step({ x: [1, 1] })
        const before = await train.params()
        const bad = await train.step({ x: [1, -1] })
        const after = await train.params()
        const again = await train.step({ x: [1, 1] })
        return { good, bad: { type: bad.type, name: bad.error?.name, message: bad.error?.message }, before: [...before.w], after: [...after.w], again }`)
      close(got.good.loss, Math.log(1) + Math.log(2), 1e-5, 'loss')
      assert.deepEqual([got.bad.type, got.bad.name], ['failed', 'NonFiniteError'])
      assert.match(got.bad.message, /the loss is NaN at step 2: log\(f32\[2\]\) produced it\s+at http\S+\/test-\d+\.js:13:\d+$/)
      assert.deepEqual(got.after, got.before)
      close(got.before, [1 - 0.1, 2 - 0.05], 1e-6, 'one step of descent')
      assert.equal(got.again.type, 'completed')
    })

    test('parameters go to a safetensors file and back; malformed files are refused', async () => {
      const got = await run(device, `
        const sine = await import('/sine.js?' + session.device)
        const train = await g.compileTraining(sine)
        for (let i = 0; i < 3; i++) await train.step({ x: sine.xs, y: sine.ys })
        const file = await train.saveParams()
        const before = await train.params()
        await train.reset(7)
        const changed = await train.params()
        await train.loadParams(file)
        const back = await train.params()
        const header = JSON.parse(new TextDecoder().decode(file.slice(8, 8 + file[0] + 256 * file[1])))
        const bad = { empty: new Uint8Array(0), cut: file.slice(0, file.length - 5), long: Uint8Array.from(file, (b, i) => (i === 6 ? 255 : b)),
          text: Uint8Array.from(file, (b, i) => (i === 9 ? 1 : b)) }
        const refused = {}
        for (const [name, bytes] of Object.entries(bad)) refused[name] = await caught(() => train.loadParams(bytes))
        const other = await g.safetensors.save({ 'l1.weight': g.ones([3]) })
        const shape = await caught(() => train.loadParams(other))
        const same = (a, b) => Object.keys(a).every((k) => a[k].every((v, i) => Object.is(v, b[k][i])))
        const mixed = g.safetensors.load(await g.safetensors.save({ a: g.tensor(new Int32Array([1, 2])), b: g.tensor([[1.5]]) }))
        return { header, same: same(before, back), changed: !same(before, changed), refused, shape, after: same(before, await train.params()),
          mixed: [mixed.a.dtype, await mixed.a.array(), await mixed.b.array()] }`)
      assert.deepEqual(got.header['l1.weight'].shape, [64, 1])
      assert.equal(got.header['l1.weight'].dtype, 'F32')
      assert.ok(got.same && got.changed && got.after)
      for (const [name, error] of Object.entries(got.refused)) assert.equal(error?.name, 'FormatError', `${name}: ${JSON.stringify(error)}`)
      assert.match(got.shape.message, /l1\.weight has the shape \[3\]/)
      assert.deepEqual(got.mixed, ['i32', [1, 2], [[1.5]]])
    })

    test('memory does not grow over steps, and tidy frees what it made', async () => {
      const got = await run(device, `
        const { runtime } = g
        const sine = await import('/sine.js?growth' + session.device)
        const train = await g.compileTraining(sine)
        const count = () => session.call('count')
        for (let i = 0; i < 5; i++) await train.step({ x: sine.xs, y: sine.ys })
        const first = count()
        for (let i = 0; i < 50; i++) await train.step({ x: sine.xs, y: sine.ys })
        const later = count()
        const kept = g.tidy(() => { const a = g.ones([4]); return a.add(1).mul(3) })
        const value = await kept.array()
        const tidied = count()
        return { first, later, tidied, value }`)
      assert.equal(got.later, got.first)
      assert.equal(got.tidied, got.later + 1)
      assert.deepEqual(got.value, [6, 6, 6, 6])
    })
  })
}

test('a sine MLP learns alike on the CPU, on WebGPU and in a worker', { skip }, async () => {
  const got = await browser.run(`
    import * as g from '/dist/index.js'
    import { xs, ys } from '/sine.js'
    export default async function () {
      const curves = {}
      for (const [name, options] of Object.entries({ cpu: { device: 'cpu' }, webgpu: { device: 'webgpu' },
        worker: { device: 'webgpu', worker: true }, workerCpu: { device: 'cpu', worker: true } })) {
        if (!options.worker) await g.init(options)
        const train = await g.compileTraining({ module: '/sine.js?' + name, ...options })
        const losses = []
        const last = await train.fit({ steps: 200, batch: () => ({ x: xs, y: ys }), onStep: (r) => { losses.push(r.loss) } })
        const predict = await train.attach({ forward: 'predict', inputs: { x: [null, 1] } })
        const points = await predict.run({ x: [-1, 0, 0.5] })
        curves[name] = { losses, last: last.type, steps: train.steps, device: train.session.device, names: train.names, error: last.error?.message,
          points: points.output && [...points.output], captured: last.captures?.prediction?.data.length }
        predict.dispose()
        train.dispose()
      }
      return curves
    }`)
  for (const [name, run] of Object.entries(got)) {
    assert.equal(run.last, 'completed', `${name}: ${run.error}`)
    assert.equal(run.steps, 200)
    assert.equal(run.device, /cpu/i.test(name) ? 'cpu' : 'webgpu')
    assert.deepEqual(run.names, ['l1.weight', 'l1.bias', 'l2.weight', 'l2.bias', 'l3.weight', 'l3.bias'])
    assert.ok(run.losses[199] < 1e-3, `${name}: ${run.losses[199]}`)
    assert.equal(run.captured, 256)
    close(run.points, [-1, 0, 0.5].map(Math.sin), 0.05, name)
    // Rounding differs between devices and grows with the steps.
    close(run.losses.slice(0, 50), got.cpu.losses.slice(0, 50), 1e-4, `${name}, first 50 losses`)
  }
  close(got.worker.losses, got.webgpu.losses, 0, 'a worker computes the same')
  close(got.workerCpu.losses, got.cpu.losses, 0, 'a worker computes the same on the CPU')
})

test('aborting ends steps, here and in a worker', { skip }, async () => {
  const got = await browser.run(`
    import * as g from '/dist/index.js'
    import { xs, ys } from '/sine.js'
    export default async function () {
      await g.init({ device: 'cpu' })
      const results = {}
      for (const worker of [false, true]) {
        const train = await g.compileTraining({ module: '/sine.js?abort' + worker, device: 'cpu', worker })
        const batch = { x: xs, y: ys }
        const controller = new AbortController()
        const during = train.fit({ steps: 1000, batch: () => batch, signal: controller.signal, onStep: ({ step }) => { if (step === 5) controller.abort() } })
        const types = [(await during).type, (await train.step(batch, { signal: controller.signal })).type, (await train.step(batch)).type]
        const rest = train.step({ x: xs })
        const missing = await rest
        train.dispose()
        results[worker] = [...types, missing.type, missing.error.name, missing.error.message, (await train.step(batch)).type]
      }
      return results
    }`)
  for (const worker of [false, true]) {
    assert.deepEqual(got[worker].slice(0, 5), ['aborted', 'aborted', 'completed', 'failed', 'ValueError'])
    assert.match(got[worker][5], /the input y: f32\[null, 1\] is missing/)
    assert.equal(got[worker][6], 'aborted')
  }
})

test('a module that cannot be used is an error, here and in a worker', { skip }, async () => {
  browser.serve('/half.js', 'export const model = 1, inputs = {}')
  browser.serve('/mistaken.js', `${spec.replace('m.forward(x)), y)', 'm.forward(x)), y.reshape([3, 7]))')}export const fixed = { model, loss, optimizer, inputs: { x: [8, 1], y: [8, 1] } }`)
  const got = await run('cpu', `
    const results = {}
    for (const worker of [false, true]) {
      const compile = (module, rest) => caught(() => g.compileTraining({ module, worker, device: 'cpu', ...rest }))
      const good = await g.compileTraining({ module: '/sine.js?use' + worker, worker, device: 'cpu' })
      results[worker] = [await compile('/nothing.js'), await compile('/half.js'), await compile('/mistaken.js?' + worker, { export: 'fixed' }),
        await caught(() => good.attach({ forward: 'missing', inputs: { x: [1] } }))]
      good.dispose()
    }
    results.function = await caught(async () => (await g.compileTraining({ module: '/sine.js?f', worker: true, device: 'cpu' })).attach({ forward: (m) => m, inputs: {} }))
    return results`)
  for (const worker of [false, true]) {
    const [nothing, half, mistaken, missing] = got[worker]
    assert.match(nothing.message, /nothing\.js/)
    assert.match(half.message, /does not export loss, optimizer/)
    assert.equal(mistaken.name, 'ShapeError')
    assert.match(mistaken.line, /\/mistaken\.js\S*:10:\d+$/)
    assert.match(missing.message, /no function missing/)
  }
  assert.match(got.function.message, /functions cannot be sent to a worker/)
  // The browser reports the request that failed.
  browser.problems.splice(0)
})

test('a lost device fails steps, and a new session works', { skip }, async () => {
  const got = await browser.run(`
    import * as g from '/dist/index.js'
    export default async function () {
      const session = await g.init({ device: 'webgpu' })
      const sine = await import('/sine.js?lost')
      const train = await g.compileTraining(sine)
      const first = await train.step({ x: sine.xs, y: sine.ys })
      session.executor.device.destroy()
      const lost = await session.lost
      const failed = await train.step({ x: sine.xs, y: sine.ys })
      const again = await g.init({ device: 'webgpu' })
      const fresh = await g.compileTraining({ ...sine, model: (await import('/sine.js?fresh')).model })
      return { first: first.type, lost: lost.name, failed: [failed.type, failed.error?.name], fresh: (await fresh.step({ x: sine.xs, y: sine.ys })).type, device: again.device }
    }`)
  assert.deepEqual(got, { first: 'completed', lost: 'LostDeviceError', failed: ['failed', 'LostDeviceError'], fresh: 'completed', device: 'webgpu' })
})

test('without WebGPU the CPU is used and the reason is reported', { skip }, async () => {
  const plain = await open({ webgpu: false })
  try {
    const got = await plain.run(`
      import * as g from '/dist/index.js'
      export default async function () {
        const session = await g.init()
        const support = await g.checkWebGPU()
        let forced = ''
        try { await g.init({ device: 'webgpu' }) } catch (e) { forced = e.name }
        return { device: session.device, note: session.note, support, forced, value: await g.ones([2]).sum().item() }
      }`)
    assert.equal(got.device, 'cpu')
    assert.match(got.note, /^running on the CPU: .*WebGPU/)
    assert.equal(got.support.ok, false)
    assert.match(got.support.message, /WebGPU/)
    assert.equal(got.forced, 'DeviceError')
    assert.equal(got.value, 2)
  } finally {
    await plain.close()
  }
})
