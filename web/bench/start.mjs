/**
 * Measures the start of the page in Chromium with an empty cache: milliseconds until it accepts input, and from pressing Train to the first
 * step. `node bench/start.mjs [runs]`; run `npm run build` first.
 */
import { start } from '../page/tests/browser.mjs'

const runs = Number(process.argv[2] ?? 3)
const middle = (all) => [...all].sort((a, b) => a - b)[all.length >> 1]

/** Opens an address in a new browser. Returns the time until the page accepts input, and the result of `measure`. */
async function cold(hash, measure = () => null) {
  const browser = await start()
  try {
    const { page } = await browser.page(hash)
    // The page sets the mark when it is ready.
    const ready = await page.evaluate(() => performance.getEntriesByName('ready')[0].startTime)
    return [ready, await measure(page)]
  } finally {
    await browser.close()
  }
}

/** Presses Train and waits until the number of steps is not 0. */
async function firstStep(page) {
  await page.waitForSelector('.training[data-ready]')
  return page.evaluate(() => new Promise((done) => {
    const steps = document.querySelector('.numbers dd')
    const from = performance.now()
    new MutationObserver(() => { if (steps.textContent !== '0') done(performance.now() - from) }).observe(steps, { childList: true, characterData: true, subtree: true })
    document.querySelector('.training .primary').click()
  }))
}

const ready = []
for (let i = 0; i < runs; i++) ready.push((await cold(''))[0])
console.log(`playground accepts input after ${ready.map((t) => t.toFixed(0)).join(', ')} ms`)
for (const id of ['sine', 'digits', 'addition']) {
  const all = []
  for (let i = 0; i < runs; i++) all.push((await cold(`#/gallery/${id}`, firstStep))[1])
  console.log(`${id}: first step ${middle(all).toFixed(0)} ms after pressing Train (${all.map((t) => t.toFixed(0)).join(', ')})`)
}
