/** The playground: diagnostics, gradient, drawing, values, cost, training, weights, sharing, devices, keyboard and phones. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { skip, start } from './browser.mjs'

const options = { skip, timeout: 600_000 }
let browser
before(async () => { if (!skip) browser = await start() })
after(() => browser?.close())

const tab = (page, id) => page.click(`[data-tab=${id}]`)
const write = (page, text) => page.fill('.editor textarea', text)

test('mistakes are marked and explained as the command does', options, async () => {
  const { page, problems } = await browser.page()
  await write(page, 'Y[i] = X[i] W[i,j\nZ = relo(Y[i])\n')
  await page.waitForSelector('.editor .report.error')
  const report = await page.textContent('.editor .report')
  assert.match(report, /2 \| Z = relo\(Y\[i\]\)\n {2}\| {5}\^+\n/)
  assert.match(report, /help: did you mean `relu`\?/)
  assert.deepEqual(await page.$$eval('.layer mark', (all) => all.map((m) => m.textContent)), ['j', 'relo(Y[i])'])
  assert.deepEqual(await page.$$eval('.gutter .error', (all) => all.map((s) => s.textContent)), ['1', '2'])
  await write(page, 'Y = X[i] X[i]\n')
  await page.waitForFunction(() => /No mistakes/.test(document.querySelector('.editor .report').textContent))
  assert.match(await page.textContent('.gradient pre'), /Grad_X\[i\]/)
  assert.deepEqual(problems, [])
  await page.close()
})

test('values of inputs are computed and shown', options, async () => {
  const { page, problems } = await browser.page()
  await write(page, 'Y = X[i] X[i]\nZ[i, j] = X[i] X[j]\nexport Y, Z\n')
  await page.waitForFunction(() => document.querySelectorAll('.inputs input').length === 1)
  await page.fill('.inputs input', '[1, 2, 3]')
  await tab(page, 'values')
  await page.waitForFunction(() => document.querySelector('[data-name=Y] .scalar')?.textContent === '14')
  assert.deepEqual(await page.$$eval('[data-name=Z] td', (all) => all.map((td) => Number(td.textContent))), [1, 2, 3, 2, 4, 6, 3, 6, 9])
  await page.fill('.inputs input', '[1, 2')
  await page.waitForSelector('.values .report.error')
  await page.fill('.inputs input', 'linspace(0, 4, [5])')
  await page.waitForFunction(() => document.querySelector('[data-name=Y] .scalar')?.textContent === '30')
  assert.deepEqual(problems, [])
  await page.close()
})

test('the graph is drawn and the cost explained', options, async () => {
  const { page, problems } = await browser.page('#/playground/mlp')
  await tab(page, 'graph')
  await page.waitForSelector('.drawing svg')
  const texts = await page.$$eval('.drawing svg text', (all) => all.map((t) => t.textContent))
  for (const name of ['W1', 'Input', 'BatchOnes']) assert.ok(texts.includes(name), name)
  const width = () => page.$eval('.drawing svg', (s) => Number(s.getAttribute('width')))
  const first = await width()
  await page.click('.graph button[aria-label=Larger]')
  assert.ok(await width() > first)
  await tab(page, 'cost')
  await page.waitForSelector('.cost .numbers')
  const dispatches = Number(await page.textContent('.cost .numbers dd'))
  assert.ok(dispatches >= 1 && dispatches < 30, `${dispatches}`)
  assert.match(await page.textContent('.cost details:nth-of-type(2) pre'), /@compute @workgroup_size/)
  assert.deepEqual(problems, [])
  await page.close()
})

test('a program trains, pauses, steps, saves and loads weights', options, async () => {
  const { page, problems } = await browser.page('#/playground/xor')
  await tab(page, 'train')
  const loss = async () => Number(await page.textContent('.train .numbers div:nth-child(2) dd'))
  await page.click('.train .primary')
  await page.waitForFunction(() => Number(document.querySelector('.train').dataset.step) >= 300)
  await page.click('.train .primary')
  await page.waitForFunction(() => document.querySelector('.train .primary').textContent === 'Train')
  assert.ok(await loss() < 0.01, `${await loss()}`)
  const before = Number(await page.getAttribute('.train', 'data-step'))
  await page.click('.train button:has-text("Step")')
  await page.waitForFunction((n) => Number(document.querySelector('.train').dataset.step) === n + 1, before)
  const learnt = await page.$$eval('.train [data-name=W] td', (all) => all.map((td) => td.textContent))
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('text=Save weights')])
  const path = await file.path()
  const bytes = readFileSync(path)
  const header = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE())).toString())
  assert.deepEqual(header.W.shape, [8, 2])
  await page.click('.train button:has-text("Reset")')
  const weights = join(path, '..', 'weights.safetensors')
  writeFileSync(weights, bytes)
  await page.setInputFiles('.train input[type=file]', weights)
  await page.waitForSelector('.train [data-name=W] td')
  assert.deepEqual(await page.$$eval('.train [data-name=W] td', (all) => all.map((td) => td.textContent)), learnt)
  writeFileSync(weights, bytes.subarray(0, 40))
  await page.setInputFiles('.train input[type=file]', weights)
  await page.waitForSelector('.train .status.error')
  // A new learning rate applies from the next step: with rate 0 nothing changes.
  await page.fill('.train input[type=number]', '0')
  await page.click('.train button:has-text("Step")')
  await page.waitForFunction(() => Number(document.querySelector('.train').dataset.step) >= 1)
  assert.deepEqual(problems, [])
  await page.close()
})

test('the device can be changed, and the CPU learns the same', options, async () => {
  const { page, problems } = await browser.page('#/playground/xor')
  await tab(page, 'train')
  const after = async (steps) => {
    for (let i = 1; i <= steps; i++) {
      await page.click('.train button:has-text("Step")')
      await page.waitForFunction((n) => Number(document.querySelector('.train').dataset.step) === n, i)
    }
    return Number(await page.textContent('.train .numbers div:nth-child(2) dd'))
  }
  const gpu = await after(5)
  await page.click('.device label:has-text("CPU")')
  await page.waitForSelector('#device[data-device=cpu]:not([aria-busy])')
  await page.click('.train button:has-text("Reset")')
  const cpu = await after(5)
  assert.ok(Math.abs(gpu - cpu) < 1e-3 * gpu, `${gpu} ${cpu}`)
  assert.deepEqual(problems, [])
  await page.close()
})

test('an address holds the program', options, async () => {
  const { page } = await browser.page()
  const text = 'Y = X[i] X[i]  # é\n'
  await write(page, text)
  await page.waitForFunction(() => document.querySelectorAll('.inputs input').length === 1)
  await page.fill('.inputs input', '[3, 4]')
  await page.click('text=Share')
  await page.waitForFunction(() => location.hash.length > 30)
  const hash = new URL(page.url()).hash
  await page.close()
  const second = await browser.page(hash)
  assert.equal(await second.page.inputValue('.editor textarea'), text)
  assert.equal(await second.page.inputValue('.inputs input'), '[3, 4]')
  assert.deepEqual(second.problems, [])
  await second.page.close()
  const cut = await browser.page(hash.slice(0, 40))
  assert.match(await cut.page.textContent('.left [role=status]'), /does not hold a program/)
  await cut.page.close()
})

test('keys reach everything in the order of reading', options, async () => {
  const { page } = await browser.page()
  await page.evaluate(() => document.activeElement?.blur())
  const seen = []
  for (let i = 0; i < 22; i++) {
    await page.keyboard.press('Tab')
    seen.push(await page.evaluate(() => {
      const e = document.activeElement
      const ring = getComputedStyle(e).outlineStyle !== 'none' || e.matches('input[type=radio], textarea')
      return { name: e.getAttribute('aria-label') ?? e.textContent.trim().slice(0, 24) ?? '', tag: e.tagName, ring }
    }))
  }
  const at = (name) => seen.findIndex((s) => s.name.startsWith(name))
  const order = ['Skip to', 'Gradus', 'Playground', 'Gallery', 'Examples', 'Format', 'Share', 'Program of equations'].map(at)
  assert.ok(order.every((n) => n >= 0), JSON.stringify(seen))
  assert.deepEqual(order, [...order].sort((a, b) => a - b))
  assert.ok(seen.every((s) => s.ring), JSON.stringify(seen))
  await page.focus('[data-tab=gradient]')
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.getAttribute('[data-tab=graph]', 'aria-selected'), 'true')
  await page.keyboard.press('End')
  assert.equal(await page.evaluate(() => document.activeElement.dataset.tab), 'train')
  // Accessible names of all controls.
  const nameless = await page.$$eval('button, select, input:not([hidden]), textarea, canvas, [role=img]', (all) => all.filter((e) =>
    !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML.slice(0, 80)))
  assert.deepEqual(nameless, [])
  await page.close()
})

for (const hash of ['', '#/gallery', '#/gallery/sine', '#/gallery/gradients']) {
  test(`nothing is wider than a phone at ${hash || 'the start'}`, options, async () => {
    const { page, problems } = await browser.page(hash, { width: 360, height: 740, scheme: 'dark' })
    await page.waitForTimeout(300)
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 360)
    assert.equal(await page.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor), 'rgb(20, 22, 26)')
    assert.deepEqual(problems, [])
    await page.close()
  })
}

test('without WebGPU the page runs on the CPU and says so', options, async () => {
  const plain = await start({ webgpu: false })
  try {
    const { page } = await plain.page('#/gallery/sine')
    assert.equal(await page.getAttribute('#device', 'data-device'), 'cpu')
    assert.match(await page.textContent('#device'), /no GPU/)
    await page.waitForSelector('.training[data-ready]')
    await page.click('.training .primary')
    await page.waitForSelector('.training[data-reached]')
  } finally {
    await plain.close()
  }
})
