/** TypeScript in the playground: a program is written, checked, trained and shared; errors are shown at their lines. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { skip, start } from './browser.mjs'

const options = { skip, timeout: 600_000 }
let browser
before(async () => { if (!skip) browser = await start() })
after(() => browser?.close())

const PROGRAM = `import { capture, losses, nn, optim, tensor, type Tensor } from 'gradus'

class Line extends nn.Module {
  l = new nn.Linear(2, 1)
  forward(x: Tensor): Tensor { return capture('guess', this.l.forward(x)) }
}

const N: number = 16
export const model = new Line()
export const loss = (m: Line, { x, y }: { x: Tensor, y: Tensor }) => losses.mse(m.forward(x), y)
export const inputs = { x: [N, 2], y: [N, 1] }
export const optimizer = optim.sgd({ rate: 0.1 })
export function batch(step: number) {
  const x = Float32Array.from({ length: 2 * N }, (_, i) => Math.sin(1.3 * i + step))
  return { x, y: Float32Array.from({ length: N }, (_, i) => 2 * x[2 * i]! - 3 * x[2 * i + 1]! + 0.5) }
}
export const values = (m: Line) => ({ slopes: m.l.weight.reshape([2]), far: m.forward(tensor([[10, 10]])) })
console.log('made', N)
`
const tab = (page, id) => page.click(`[data-tab=${id}]`)
const write = (page, text) => page.fill('.editor textarea', text)
const report = (page, pattern) => page.waitForFunction(([source]) => new RegExp(source).test(document.querySelector('.editor .report').textContent), [pattern.source])

async function opened(hash = '') {
  const { page, problems } = await browser.page(hash)
  await page.click('.switch label:has-text("TypeScript")')
  await page.waitForSelector('textarea[aria-label="Program in TypeScript"]')
  return { page, problems }
}

test('a program is typed, trains to a small loss, and shows its kernels and values', options, async () => {
  const { page, problems } = await opened()
  await write(page, PROGRAM)
  await report(page, /No mistakes\. Exports: model, loss, inputs, optimizer, batch, values\./)
  await page.click('.train .primary')
  await page.waitForFunction(() => Number(document.querySelector('.train').dataset.loss) < 1e-4)
  await page.click('.train .primary')
  await page.waitForFunction(() => document.querySelector('.train .primary').textContent === 'Train')
  const weight = await page.$$eval('.train [data-name="l.weight"] td', (all) => all.map((td) => Number(td.textContent)))
  assert.ok(Math.abs(weight[0] - 2) < 0.05 && Math.abs(weight[1] + 3) < 0.05, `${weight}`)
  assert.ok(Number(await page.textContent('.train .numbers div:nth-child(4) dd')) >= 1)
  await tab(page, 'values')
  await page.waitForSelector('[data-name=slopes] td')
  const slopes = await page.$$eval('[data-name=slopes] td', (all) => all.map((td) => Number(td.textContent)))
  assert.deepEqual(slopes, weight)
  assert.equal(await page.textContent('.printed'), 'made 16')
  assert.ok(Math.abs(Number(await page.textContent('[data-name=far] td')) + 9.5) < 0.6)
  assert.match(await page.textContent('[data-name=guess] h3'), /16.*1/)
  await tab(page, 'cost')
  await page.waitForSelector('.cost .numbers')
  assert.match(await page.textContent('.cost details:nth-of-type(2) pre'), /@compute @workgroup_size/)
  assert.deepEqual(problems, [])
  await page.close()
})

test('mistakes are shown at the line and column of the program', options, async () => {
  const { page, problems } = await opened()
  await write(page, PROGRAM.replace('new nn.Linear(2, 1)', 'new nn.Liner(2, 1)'))
  await report(page, /nn has no Liner\n --> program:4:14[\s\S]*4 \|   l = new nn\.Liner\(2, 1\)\n {2}\| +\^\^\^\^\^\n[\s\S]*did you mean `Linear`/)
  assert.deepEqual(await page.$$eval('.layer mark', (all) => all.map((m) => m.textContent)), ['Liner'])
  assert.deepEqual(await page.$$eval('.gutter .error', (all) => all.map((s) => s.textContent)), ['4'])
  // Found by running the program up to its first step.
  await write(page, PROGRAM.replace('nn.Linear(2, 1)', 'nn.Linear(3, 1)'))
  await report(page, /program:5:63\n {2}\|\n5 \|/)
  assert.deepEqual(await page.$$eval('.layer mark', (all) => all.map((m) => m.textContent)), ['forward'])
  await write(page, PROGRAM.replace('this.l.forward(x))', 'this.l.forward(x).sigmiod())'))
  await report(page, /sigmiod is not a function[\s\S]*did you mean `sigmoid`/)
  await write(page, PROGRAM.replace('export const inputs = {', 'export const inputs = {{'))
  await report(page, /error: .*\n +--> program:11:24/)
  // Pressing Train on a program with an error reports the error and takes no step.
  await page.click('.train .primary')
  await page.waitForSelector('.train .status.error')
  // A loss that is not finite names the op and its line.
  await write(page, PROGRAM.replace('losses.mse(m.forward(x), y)', 'losses.mse(m.forward(x).sub(100).log(), y)'))
  await report(page, /No mistakes/)
  await page.click('.train .primary')
  await report(page, /the loss is NaN[\s\S]*log[\s\S]*program:10:\d+/)
  // A program that does not end is stopped, and the page continues to work.
  await write(page, `${PROGRAM}for (;;) {}\n`)
  await page.waitForFunction(() => /had not reached its first step/.test(document.querySelector('.train .status').textContent))
  await write(page, PROGRAM)
  await report(page, /No mistakes/)
  await page.click('.train button:has-text("Step")')
  await page.waitForFunction(() => document.querySelector('.train').dataset.step === '1')
  assert.deepEqual(problems, [])
  await page.close()
})

test('an address holds a TypeScript program, which runs only when asked', options, async () => {
  const { page } = await opened()
  const text = `${PROGRAM}// é\n`
  await write(page, text)
  await report(page, /No mistakes/)
  await page.click('text=Share')
  await page.waitForFunction(() => location.hash.length > 100)
  const hash = new URL(page.url()).hash
  await page.close()
  const second = await browser.page(hash)
  assert.equal(await second.page.inputValue('.editor textarea'), text)
  assert.ok(await second.page.isChecked('.switch input[value=typescript]'))
  await tab(second.page, 'values')
  await second.page.waitForSelector('text=came with the address')
  assert.equal(await second.page.isVisible('.printed'), false)
  await second.page.click('text=Run this program')
  await second.page.waitForFunction(() => document.querySelector('.printed').textContent === 'made 16')
  // Requests to other sites are refused.
  await write(second.page, "const answer = await fetch('https://example.org/').then(() => 'sent', () => 'refused')\nconsole.log(answer)\nexport const n = 1\n")
  await second.page.waitForFunction(() => document.querySelector('.printed').textContent === 'refused')
  await second.page.close()
})

const EXAMPLES = { 'sine.ts': 0.01, 'digits.ts': 0.3, 'oscillator.ts': 0.003 }
for (const [id, target] of Object.entries(EXAMPLES)) {
  test(`the example ${id} trains`, { skip, timeout: 600_000 }, async () => {
    const { page, problems } = await browser.page(`#/playground/${id}`)
    await report(page, /No mistakes/)
    await page.click('.train .primary')
    await page.waitForFunction((t) => Number(document.querySelector('.train').dataset.loss) < t, target, { timeout: 300_000 })
    await page.click('.train .primary')
    await page.waitForFunction(() => document.querySelector('.train .primary').textContent === 'Train')
    await tab(page, 'values')
    await page.waitForSelector('.values .value')
    const numbers = (name) => page.$$eval(`.values [data-name=${name}] td`, (all) => all.map((td) => Number(td.textContent)))
    if (id === 'digits.ts') assert.ok(Number(await page.textContent('[data-name=right] .scalar')) > 0.85)
    else {
      const [got, truth] = await Promise.all((id === 'sine.ts' ? ['prediction', 'truth'] : ['solution', 'sine']).map(numbers))
      got.forEach((v, i) => assert.ok(Math.abs(v - truth[i]) < 0.3, `${v} ${truth[i]}`))
    }
    assert.deepEqual(problems, [])
    await page.close()
  })
}

test('exported tensors are shown without a training', options, async () => {
  const { page, problems } = await browser.page('#/playground/newton.ts')
  await tab(page, 'values')
  await page.waitForSelector('[data-name=minimum] td')
  const numbers = (name) => page.$$eval(`.values [data-name=${name}] td`, (all) => all.map((td) => Number(td.textContent)))
  ;(await numbers('minimum')).forEach((v) => assert.ok(Math.abs(v - 1) < 1e-3, `${v}`))
  // The second derivatives of Rosenbrock's function at (1, 1).
  const expected = [802, -400, -400, 200]
  ;(await numbers('curvature')).forEach((v, i) => assert.ok(Math.abs(v - expected[i]) < 2, `${v}`))
  assert.match(await page.textContent('.printed'), /^step 1: f = [\d.e-]+\n/)
  await tab(page, 'train')
  await page.click('.train .primary')
  await page.waitForFunction(() => /exports no model/.test(document.querySelector('.train .status').textContent))
  assert.deepEqual(problems, [])
  await page.close()
})
