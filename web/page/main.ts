/** The page: addresses, the device chooser, and the content of each address. */
import { entries } from './gallery/all.js'
import { open, session, type Choice } from './lib/device.js'
import { el, messageOf } from './lib/dom.js'
import { entry, list } from './lib/gallery.js'
import { playground } from './playground/playground.js'

const content = document.querySelector<HTMLElement>('#content')!
let leave: () => void = () => {}
let turn = 0

/** `#/playground`, `#/playground/CODE`, `#/gallery`, `#/gallery/ID`. */
async function route(): Promise<void> {
  const mine = ++turn
  const [, page = 'playground', rest = ''] = location.hash.split('/')
  leave()
  leave = () => {}
  const host = el('div', { class: 'view' })
  content.replaceChildren(host)
  for (const a of document.querySelectorAll<HTMLElement>('nav a')) {
    if (a.dataset.page === page) a.setAttribute('aria-current', 'page')
    else a.removeAttribute('aria-current')
  }
  const found = entries.find((e) => e.id === rest)
  document.title = page === 'gallery' ? `${found?.title ?? 'Gallery'} · Gradus` : 'Gradus'
  window.scrollTo(0, 0)
  let done: () => void = () => {}
  try {
    if (page === 'gallery' && found) done = await entry(host, found)
    else if (page === 'gallery') list(host, entries)
    else done = await playground(host, rest)
  } catch (e) {
    host.append(el('p', { class: 'status error', role: 'alert' }, messageOf(e)))
  }
  if (mine === turn) leave = done
  else done()
}

/** Shows the device chooser: GPU or CPU, and the name of the GPU. */
function chooser(): void {
  const host = document.querySelector<HTMLElement>('#device')!
  const now = session()
  const pick = (device: Choice, text: string) => {
    const input = el('input', { type: 'radio', name: 'device', value: device, checked: now.device === device })
    input.addEventListener('change', async () => {
      host.setAttribute('aria-busy', 'true')
      try {
        await open(device)
        note.textContent = ''
      } catch (e) {
        note.textContent = messageOf(e)
        await open('cpu')
      }
      host.removeAttribute('aria-busy')
      refresh()
    })
    return el('label', null, input, el('span', null, text))
  }
  const note = el('span', { class: 'note', role: 'status' })
  const refresh = () => {
    const s = session()
    const title = s.device === 'cpu' ? s.note || 'running on the CPU' : `${s.adapter}${s.software ? ' (in software, slow)' : ''}`
    host.title = title
    if (s.note) note.textContent = 'no GPU'
    else if (s.device === 'webgpu' && s.software) note.textContent = 'in software'
    host.dataset.device = s.device
    for (const input of host.querySelectorAll('input')) input.checked = input.value === s.device
    void s.lost.then(async (e) => {
      if (session() !== s) return
      note.textContent = `${messageOf(e)}; now on the CPU`
      await open('cpu')
      refresh()
    })
  }
  host.replaceChildren(el('fieldset', null, el('legend', { class: 'hidden' }, 'Device'), pick('webgpu', 'GPU'), pick('cpu', 'CPU')), note)
  refresh()
}

try {
  await open(new URLSearchParams(location.search).get('device') === 'cpu' ? 'cpu' : 'auto')
  chooser()
  await route()
  window.addEventListener('hashchange', () => void route())
  document.documentElement.dataset.ready = 'true'
  performance.mark('ready')
} catch (e) {
  content.replaceChildren(el('p', { class: 'status error pad', role: 'alert' }, `Gradus could not start: ${messageOf(e)}`))
}
