/** A convolutional network with batch normalisation learns the handwritten digits that come with this page. */
import { losses, nn, optim, tensor, type Tensor } from 'gradus'

class Cnn extends nn.Module {
  c1 = new nn.Conv2d(1, 8, 3, { padding: 1 })
  n1 = new nn.BatchNorm(8)
  c2 = new nn.Conv2d(8, 16, 3, { padding: 1 })
  n2 = new nn.BatchNorm(16)
  out = new nn.Linear(64, 10)

  forward(x: Tensor): Tensor {
    const h = this.n1.forward(this.c1.forward(x)).relu().maxPool2d(2)
    return this.out.forward(this.n2.forward(this.c2.forward(h)).relu().maxPool2d(2).flatten(1))
  }
}

// One byte per label, then 64 bytes per picture. The last 256 are for testing.
const bytes = new Uint8Array(await (await fetch('digits.bin')).arrayBuffer())
const count = bytes.length / 65
const [labels, pictures] = [bytes.subarray(0, count), bytes.subarray(count)]
const TEST = 256
const BATCH = 64

const pixels = (ids: number[]) => Float32Array.from(ids.flatMap((i) => [...pictures.subarray(64 * i, 64 * i + 64)]), (p) => p / 16)

export const model = new Cnn()
export const loss = (m: Cnn, { x, y }: { x: Tensor, y: Tensor }) => losses.crossEntropy(m.forward(x), y)
export const inputs = { x: [BATCH, 1, 8, 8], y: { shape: [BATCH], dtype: 'i32' } } as const
export const optimizer = optim.adam({ rate: 0.004 })

export function batch(_step: number) {
  const ids = Array.from({ length: BATCH }, () => Math.floor(Math.random() * (count - TEST)))
  return { x: pixels(ids), y: Int32Array.from(ids, (i) => labels[i]!) }
}

/** The number of test digits that it classifies correctly. */
export async function values(m: Cnn) {
  const ids = Array.from({ length: TEST }, (_, i) => count - TEST + i)
  const guesses = m.forward(tensor(pixels(ids), { shape: [TEST, 1, 8, 8] })).argmax(-1)
  const said = await guesses.data()
  const right = ids.filter((id, i) => Number(said[i]) === labels[id]).length
  return { right: right / TEST, first: tensor(pixels(ids.slice(0, 1)), { shape: [8, 8] }), guesses: guesses.narrow(0, 0, 12) }
}
