/** Tests that every entry of the gallery trains to the loss that it states, on WebGPU in software. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { skip, start } from './browser.mjs'

const TRAINED = ['sine', 'digits', 'names', 'addition', 'nerf', 'flow', 'automaton', 'tictactoe']
// Training takes up to a minute on an idle machine, and longer on one with other work.
const PATIENCE = 300_000

let browser
before(async () => { if (!skip) browser = await start() })
after(() => browser?.close())

const number = (text) => Number(text.replaceAll(',', ''))

for (const id of TRAINED) {
  test(`${id} reaches its target`, { skip, timeout: PATIENCE + 300_000 }, async () => {
    const { page, problems } = await browser.page(`#/gallery/${id}`)
    await page.waitForSelector('.training[data-ready]')
    assert.equal(await page.getAttribute('#device', 'data-device'), 'webgpu')
    await page.click('.training .primary')
    await page.waitForSelector('.training[data-reached]', { timeout: PATIENCE })
    await page.click('.training .primary')
    await page.waitForFunction(() => document.querySelector('.training .primary').textContent === 'Train')
    const said = await page.textContent('.training .status')
    assert.match(said, /^Target reached at step \d+: the mean of the last losses is /)
    assert.ok(number(await page.textContent('.numbers dd')) >= 10)
    // The picture of the last step is drawn asynchronously.
    if (id === 'digits') await page.waitForFunction(() => Number(document.querySelector('.own').dataset.right) > 0.85)
    assert.deepEqual(problems, [])
    await page.close()
  })
}

test('ancestors and ranks are those of the rules', { skip, timeout: 300_000 }, async () => {
  const { page, problems } = await browser.page('#/gallery/datalog')
  await page.waitForSelector('[data-miss]')
  assert.ok(Number(await page.getAttribute('[data-miss]', 'data-miss')) < 1e-6)
  const lines = await page.$$eval('.checks li', (all) => all.map((li) => li.textContent))
  assert.equal(lines[0], 'Ada is an ancestor of Bea, Carl, Dora, Eva, Finn, Gus.')
  assert.equal(lines.length, 5)
  assert.deepEqual(await page.$$eval('[data-name=Count] td', (all) => all.map((td) => td.textContent)), ['6', '2', '2', '1', '1', '0', '0'])
  assert.deepEqual(problems, [])
  await page.close()
})

test('gradients of the two programs equal differences of the loss', { skip, timeout: 300_000 }, async () => {
  const { page, problems } = await browser.page('#/gallery/gradients')
  await page.waitForFunction(() => document.querySelectorAll('[data-miss]').length === 2)
  for (const miss of await page.$$eval('[data-miss]', (all) => all.map((p) => Number(p.dataset.miss)))) assert.ok(miss < 2e-4, `${miss}`)
  const text = await page.$$eval('pre', (all) => all.map((p) => p.textContent).join('\n'))
  assert.match(text, /Grad_W1\[h, d\] = Grad_HiddenLinear\[b, h\] Input\[b, d\]/)
  assert.match(text, /Grad_InvSqrtDk = Grad_Score\[p, p'\] Q\[p, dk\] K\[p', dk\]/)
  assert.deepEqual(problems, [])
  await page.close()
})
