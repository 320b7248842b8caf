/** The session of the page: loads the module once, and opens a device. Code that holds tensors must listen for changes of the device. */
import { init, type Session } from 'gradus'

export type Choice = 'webgpu' | 'cpu'

let compiled: Promise<WebAssembly.Module> | null = null
let current: Session | null = null
const listeners = new Set<() => void | Promise<void>>()

/** The compiled module. */
export function wasm(): Promise<WebAssembly.Module> {
  compiled ??= (async () => {
    const answer = await fetch('gradus/gradus.wasm')
    if (!answer.ok) throw new Error(`cannot load gradus.wasm: ${answer.status}`)
    const known = answer.headers.get('Content-Type')?.startsWith('application/wasm')
    return known ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer())
  })()
  return compiled
}

/** Opens a device; `auto` is the GPU if there is one, else the CPU. */
export async function open(device: 'auto' | Choice): Promise<Session> {
  // Values belong to the session that ends here; listeners read the values that they keep.
  const reading: Promise<void>[] = []
  window.dispatchEvent(new CustomEvent('device-leaves', { detail: reading }))
  await Promise.all(reading)
  current = await init({ device, wasm: wasm(), seed: 1 })
  for (const f of [...listeners]) await f()
  return current
}

export function session(): Session {
  if (!current) throw new Error('the module is not loaded yet')
  return current
}

/** Calls a function after every change of the device. The returned function removes it. */
export function onDevice(f: () => void | Promise<void>): () => void {
  listeners.add(f)
  return () => listeners.delete(f)
}
