/** Runs plans that were written for these tests on the executor, in a real browser. The tests compute the expected values. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { open, skip } from './browser.mjs'
import { affinePlan, brokenPlan, checkPlan, hostPlan } from './plans.mjs'

let browser
before(async () => { if (!skip) browser = await open() })
after(() => browser?.close())

/** Text of a module that runs `body` with an executor; `bytes` lets commands write arrays. */
const module = (body) => `
import { Executor, openGpu } from '/dist/executor.js'
export default async function (plans) {
  const host = {
    host: (program, command, [x]) => [new Uint8Array(new Float32Array(x.buffer).reverse().buffer)],
    fault: (program, check, position) => 'index at position ' + position + ' is out of range',
  }
  const gpu = await openGpu()
  const e = new Executor(gpu, host)
  const put = (to, array) => e.post([{ c: 'write', to, at: 0, bytes: array.byteLength }], () => new Uint8Array(array.buffer))
  const floats = async (from, n) => [...new Float32Array((await e.read(from, 4 * n)).buffer)]
  const post = (...commands) => e.post(commands, null)
  const caught = async (promise) => { try { await promise; return 'nothing' } catch (error) { return error.message } }
  ${body}
}`
const x = Array.from({ length: 100 }, (_, i) => i - 50)

test('one program runs at any offsets of the heap, and repeats without new objects', { skip }, async () => {
  const result = await browser.run(module(`
    put([0, 0], Float32Array.from(plans.x))
    post({ c: 'load', program: 7, plan: plans.affine })
    for (let i = 0; i < 10; i++) post({ c: 'run', program: 7, slots: [[0, i * 512], [0, (i + 1) * 512]] })
    const first = await floats([0, 10 * 512], 100)
    const counts = { ...e.counts }
    for (let k = 0; k < 5; k++) {
      post({ c: 'run', program: 7, slots: [[0, 0], [0, 512]] })
      await Promise.all([floats([0, 512], 1), floats([0, 0], 1)])
    }
    return { first, counts, later: e.counts, limits: gpu.limits, software: gpu.software }`),
    { x, affine: affinePlan(100, 2, 1) })
  let expected = x
  for (let i = 0; i < 10; i++) expected = expected.map((v) => 2 * v + 1)
  assert.deepEqual(result.first, expected)
  assert.equal(result.counts.dispatches, 10)
  assert.ok(result.counts.submits <= 3, `10 runs took ${result.counts.submits} submissions`)
  assert.equal(result.later.submits - result.counts.submits, 5, 'a run and its reads share a submission')
  assert.equal(result.software, true)
  assert.ok(result.limits.binding >= 128 << 20 && result.limits.bindings >= 8)
})

test('writes, copies, growth and additional buffers keep their order', { skip }, async () => {
  const result = await browser.run(module(`
    post({ c: 'load', program: 1, plan: plans.inPlace })
    put([0, 0], new Float32Array([1, 2, 3, 4]))
    post({ c: 'run', program: 1, slots: [[0, 0], [0, 0]] }, { c: 'grow', id: 0, bytes: 4 << 20 })
    post({ c: 'run', program: 1, slots: [[0, 0], [0, 0]] })
    post({ c: 'buffer', id: 5, bytes: 64 }, { c: 'copy', from: [0, 0], to: [5, 16], bytes: 16 })
    put([0, 0], new Float32Array([9, 9, 9, 9]))
    const reads = await Promise.all([floats([5, 16], 4), floats([0, 0], 4)])
    post({ c: 'drop', id: 5 }, { c: 'copy', from: [0, 0], to: [0, 3 << 20], bytes: 16 })
    return [...reads, await floats([0, 3 << 20], 4), await caught(floats([5, 0], 1))]`), { inPlace: affinePlan(4, 3, 0, 0) })
  assert.deepEqual(result.slice(0, 3), [[9, 18, 27, 36], [9, 9, 9, 9], [9, 9, 9, 9]])
  assert.match(result[3], /no buffer 5/)
})

test('a host step runs between kernels, and later commands wait for it', { skip }, async () => {
  const result = await browser.run(module(`
    post({ c: 'load', program: 1, plan: plans.host }, { c: 'buffer', id: 1, bytes: 2048 })
    put([0, 0], Float32Array.from(plans.x.slice(0, 64)))
    post({ c: 'run', program: 1, slots: [[0, 0], [1, 0], [1, 1024], [0, 4096]] })
    put([0, 0], new Float32Array(64))
    return [await floats([0, 4096], 64), await floats([0, 0], 64)]`), { x, host: hostPlan(64) })
  assert.deepEqual(result[0], x.slice(0, 64).map((v) => 2 * v).reverse().map((v) => v + 1))
  assert.deepEqual(result[1], new Array(64).fill(0))
})

test('a check fails the next read and no later one', { skip }, async () => {
  const result = await browser.run(module(`
    post({ c: 'load', program: 1, plan: plans.check }, { c: 'buffer', id: 1, bytes: 512 })
    const run = (indices) => {
      put([0, 0], Int32Array.from(indices))
      post({ c: 'run', program: 1, slots: [[0, 0], [1, 256]] })
    }
    run([0, 1, 2, 3])
    const good = await caught(e.read([0, 0], 4))
    run([0, 1, 9, 3])
    run([0, 1, 2, 3])
    const bad = await caught(e.read([0, 0], 4))
    for (let i = 0; i < 1500; i++) run([0, 1, 2, i === 20 ? 5 : 3])
    return [good, bad, await caught(e.read([0, 0], 4)), await caught(e.read([0, 0], 4))]`), { check: checkPlan(4, 5) })
  assert.deepEqual(result, ['nothing', 'index at position 2 is out of range', 'index at position 3 is out of range', 'nothing'])
})

test('errors name the program and the line of the kernel; the executor continues', { skip }, async () => {
  const result = await browser.run(module(`
    post({ c: 'load', program: 3, plan: plans.broken }, { c: 'load', program: 4, plan: plans.affine })
    post({ c: 'run', program: 3, slots: [[0, 0], [0, 16]] })
    const kernel = await caught(floats([0, 0], 1))
    put([0, 0], new Float32Array([5]))
    post({ c: 'run', program: 4, slots: [[0, 0], [0, 16]] })
    const value = await floats([0, 16], 1)
    post({ c: 'run', program: 8, slots: [] })
    const missing = await caught(floats([0, 0], 1))
    post({ c: 'load', program: 9, plan: { ...plans.affine, version: 2 } })
    const version = await caught(floats([0, 0], 1))
    post({ c: 'copy', from: [0, 0], to: [0, 1 << 20], bytes: 16 })
    const range = [await caught(e.idle()), await caught(e.idle())]
    return { kernel, value, missing, version, range }`), { broken: brokenPlan(), affine: affinePlan(1, 2, 1) })
  assert.match(result.kernel, /program 3, kernel 0.*refused[\s\S]*7:\d+:[\s\S]*unknown_name/)
  assert.deepEqual(result.value, [11])
  assert.match(result.missing, /program 8 is not loaded/)
  assert.match(result.version, /plan version 2/)
  assert.match(result.range[0], /WebGPU refused a submission/)
  assert.equal(result.range[1], 'nothing')
})

test('being idle includes programs that were loaded while others compiled', { skip }, async () => {
  const result = await browser.run(module(`
    post({ c: 'load', program: 1, plan: plans.first }, { c: 'run', program: 1, slots: [[0, 0], [0, 16]] }, { c: 'load', program: 2, plan: plans.second })
    await e.idle()
    return [1, 2].map((id) => e.programs.get(id).isReady)`), { first: affinePlan(1, 2, 1), second: hostPlan(4) })
  assert.deepEqual(result, [true, true])
})

test('a lost device rejects reads, now and later', { skip }, async () => {
  const result = await browser.run(module(`
    const pending = caught(e.idle())
    await pending
    const reading = caught(floats([0, 0], 16))
    e.destroy()
    const lost = await e.lost
    return [await reading, await caught(floats([0, 0], 16)), lost.message]`))
  assert.match(result[1], /the GPU device was lost/)
  assert.match(result[2], /the GPU device was lost/)
})
