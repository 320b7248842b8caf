/** Seeded random numbers for data and sampling, so that a run can be repeated. */

export class Random {
  constructor(private state = 1) {}

  /** Uniform from 0 to below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let z = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61)
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32
  }

  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  /** An index drawn by the softmax of logits. */
  pick(logits: ArrayLike<number>, temperature = 1): number {
    const top = Math.max(...Array.from(logits))
    const weights = Array.from(logits, (l) => Math.exp((l - top) / temperature))
    let left = this.next() * weights.reduce((a, b) => a + b, 0)
    for (let i = 0; i < weights.length; i++) if ((left -= weights[i]!) <= 0) return i
    return weights.length - 1
  }
}
