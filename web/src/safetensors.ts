/** Safetensors files, written and read by the module. */
import { fromRaw, Tensor } from './tensor.js'
import { runtime, type Block, type Info } from './module.js'

/** Returns the bytes of a file with these tensors. */
export async function save(tensors: Record<string, Tensor> | Map<string, Tensor>): Promise<Uint8Array> {
  const session = runtime()
  const entries = tensors instanceof Map ? [...tensors] : Object.entries(tensors)
  const bytes = await session.readAll(entries.map(([, t]) => t.id))
  const copies = entries.map(([, t], i) => fromRaw(bytes[i]!, t.shape, t.dtype, 'cpu'))
  const block = session.call('save', { tensors: entries.map(([name], i) => ({ name, id: copies[i]!.id })) }) as Block
  copies.forEach((t) => t.dispose())
  return session.take(block)
}

/** Returns the tensors of a file, on the CPU. Throws a FormatError if the file is malformed. */
export function load(file: Uint8Array): Record<string, Tensor> {
  const session = runtime()
  const all = session.call('load', { data: session.give(file) }) as { name: string, tensor: Info }[]
  return Object.fromEntries(all.map(({ name, tensor }) => [name, Tensor.of(tensor)]))
}
