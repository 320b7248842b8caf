/** Reads constants, names and sizes of axes from a program's text, and parses values that visitors write for inputs. */
import { Random } from '../lib/random.js'

/** A tensor written as text. */
export interface Literal {
  shape: number[]
  data: Float32Array
}

/** A line `Name[axes] = const(values)`. */
export interface Constant {
  name: string
  axes: string[]
  line: number
  text: string
}

const CONST = /^([A-Za-z_]\w*)(?:\[([^\]]*)\])?\s*=\s*const\((.*)\)\s*(?:#.*)?$/

/** Constants on lines of their own. */
export function constants(source: string): Constant[] {
  return source.split('\n').flatMap((text, line) => {
    const found = CONST.exec(text.trim())
    if (!found || /[*.]/.test(found[2] ?? '')) return []
    return [{ name: found[1]!, axes: (found[2] ?? '').split(',').map((a) => a.trim()).filter(Boolean), line, text: found[3]! }]
  })
}

/** Removes these constants from the source, which makes them inputs. Line numbers do not change. */
export function withInputs(source: string, names: ReadonlySet<string>): string {
  const lines = source.split('\n')
  for (const c of constants(source)) if (names.has(c.name)) lines[c.line] = ''
  return lines.join('\n')
}

/** Names that equations define, in order. */
export function definedNames(source: string): string[] {
  const found = new Set<string>()
  for (const text of source.split('\n')) {
    const name = /^(?:let\s+)?([A-Za-z_]\w*'*)\s*(?:[[(][^=]*[\])])?\s*(?:\w+|[+*])?=/.exec(text.trim())?.[1]
    if (name && !/^\s*(?:axis|param)\b/.test(text)) found.add(name)
  }
  return [...found]
}

/** Sizes of axes, from `axis` lines and from values in the text. */
export function axisSizes(source: string, known: { axes: string[], text: string }[]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const m of source.matchAll(/^\s*axis\s+([\w']+)\s*=\s*(\d+)/gm)) sizes.set(m[1]!, Number(m[2]))
  for (const { axes, text } of known) {
    try {
      const { shape } = readValue(text, [], new Map(), '')
      if (shape.length === axes.length) axes.forEach((a, i) => sizes.set(a.replace(/'+$/, (q) => q), shape[i]!))
    } catch { /* Values that need sizes tell none. */ }
  }
  return sizes
}

const CALL = /^(normal|uniform|zeros|ones|value|linspace)\s*\(([^[\]()]*)(?:,?\s*\[([\d\s,]*)\])?\)$/
const LIMIT = 4_000_000

/** Parses a value: nested lists of numbers, or `normal(0.5)`, `uniform(1)`, `zeros()`, `ones()`, `linspace(0, 1)`, with a shape if the axes do not determine it. */
export function readValue(text: string, axes: string[], sizes: Map<string, number>, name: string): Literal {
  const trimmed = text.trim()
  if (!trimmed) throw new Error(`${name} has no value yet; write one, such as ${axes.length ? 'normal(0.5)' : '0'}`)
  const call = CALL.exec(trimmed)
  if (!call) return readList(trimmed, name)
  const args = call[2]!.split(',').map((a) => a.trim()).filter(Boolean).map(Number)
  if (args.some((a) => !Number.isFinite(a))) throw new Error(`${name}: ${trimmed} has an argument that is not a number`)
  const shape = call[3] !== undefined ? call[3].split(',').map((n) => n.trim()).filter(Boolean).map(Number) : axes.map((a) => {
    const size = sizes.get(a)
    if (size === undefined) throw new Error(`${name}: the size of the axis ${a} is not known; write \`axis ${a} = 8\` in the program, or a shape: ${call[1]}(${call[2]}${call[2] && ', '}[${axes.map(() => '8')}])`)
    return size
  })
  const count = shape.reduce((a, b) => a * b, 1)
  if (count > LIMIT) throw new Error(`${name}: ${count} numbers are more than this page accepts (${LIMIT})`)
  const random = new Random([...name].reduce((h, c) => h * 31 + c.charCodeAt(0), 7) | 0)
  const [first = 1, second = 1] = args
  const fill: Record<string, (i: number) => number> = {
    normal: () => first * random.normal(),
    uniform: () => first * (2 * random.next() - 1),
    zeros: () => 0,
    ones: () => 1,
    value: () => first,
    linspace: (i) => (args.length ? first : 0) + ((second - (args.length ? first : 0)) * i) / Math.max(1, count - 1),
  }
  return { shape, data: Float32Array.from({ length: count }, (_, i) => fill[call[1]!]!(i)) }
}

function readList(text: string, name: string): Literal {
  let nested: unknown
  try {
    nested = JSON.parse(text.replace(/(^|[[,\s-])\.(\d)/g, '$10.$2').replace(/(\d)\.(?=[\],\s]|$)/g, '$1.0'))
  } catch {
    throw new Error(`${name}: this is neither a list of numbers, such as [[1, 2], [3, 4]], nor one of normal, uniform, zeros, ones, value, linspace`)
  }
  const shape: number[] = []
  for (let at = nested; Array.isArray(at); at = at[0]) shape.push(at.length)
  const flat = [nested].flat(Infinity as 1) as unknown[]
  if (flat.some((v) => typeof v !== 'number' && typeof v !== 'boolean') || flat.length !== shape.reduce((a, b) => a * b, 1)) {
    throw new Error(`${name}: lists must be of equal lengths and hold numbers only`)
  }
  return { shape, data: Float32Array.from(flat as number[], Number) }
}
