/**
 * Measures milliseconds per training step in Chromium; the loss is read at every step: `node bench/steps.mjs [--cpu] [--only NAME]
 * [--rounds N] [--compare FILE]`. FILE is a module that sets `globalThis.bench(name, seconds)` for another system; the two systems
 * alternate in one run.
 */
import { readFileSync } from 'node:fs'
import { open } from '../tests/browser.mjs'

const device = process.argv.includes('--cpu') ? 'cpu' : 'webgpu'
const at = process.argv.indexOf('--compare')
const counted = process.argv.indexOf('--rounds')
const rounds = counted > 0 ? Number(process.argv[counted + 1]) : 3
const only = process.argv.indexOf('--only')
for (const name of only > 0 ? [process.argv[only + 1]] : ['sine', 'digits', 'addition']) {
  const pages = { ours: await open() }
  await pages.ours.page.evaluate(() => import('/bench/specs.js'))
  if (at > 0) {
    pages.other = await open({ policy: false })
    pages.other.serve('/compared.js', readFileSync(process.argv[at + 1], 'utf8'))
    await pages.other.page.evaluate(() => import('/compared.js'))
  }
  const medians = { ours: [], other: [] }
  let about = ''
  for (let round = 0; round < rounds; round++) {
    const ours = await pages.ours.page.evaluate(([n, d]) => globalThis.gradus(n, 2, d), [name, device])
    medians.ours.push(ours.median)
    if (ours.first) about = `first step ${ours.first.toFixed(0)} ms, ${ours.dispatches} dispatches`
    if (pages.other) medians.other.push((await pages.other.page.evaluate(([n]) => globalThis.bench(n, 2), [name])).median)
  }
  const middle = (all) => [...all].sort((a, b) => a - b)[all.length >> 1]
  const ours = middle(medians.ours)
  let line = `${name}: ${ours.toFixed(2)} ms per step (${device}), ${about}`
  if (pages.other) line += `; other ${middle(medians.other).toFixed(1)} ms, ratio ${(middle(medians.other) / ours).toFixed(1)}`
  console.log(line)
  for (const page of Object.values(pages)) await page.close()
}
