/** Colors code: splits it into pieces of text with classes. Does not check whether a program is valid; the module does. */
import { el } from './dom.js'

type Rule = readonly [string, RegExp]

const EQUATIONS: Rule[] = [
  ['comment', /#[^\n]*/y],
  ['string', /"[^"\n]*"?/y],
  ['keyword', /\b(?:axis|param|export|let|import|const|if|then|else|true|false)\b/y],
  ['number', /\b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?/y],
  ['gradient', /\bGrad_\w+'*/y],
  ['call', /\b[a-z_]\w*(?=\()/y],
  ['name', /\b[A-Z]\w*'*/y],
  ['axis', /\*?[a-z_]\w*'*\.?/y],
  ['sign', /[[\](){},]|[-+*/=<>!^%|&]+/y],
]
const TYPESCRIPT: Rule[] = [
  ['comment', /\/\/[^\n]*|\/\*[\s\S]*?\*\//y],
  ['string', /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/y],
  ['keyword', /\b(?:import|export|from|class|extends|constructor|new|const|let|return|for|of|if|else|await|async|function|interface|type|this|super|implements|readonly|private|default|while|null|true|false)\b/y],
  ['number', /\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?/y],
  ['call', /\b\w+(?=\()/y],
  ['name', /\b[A-Z]\w*/y],
  ['plain', /\b\w+/y],
]
const WGSL: Rule[] = [
  ['comment', /\/\/[^\n]*/y],
  ['keyword', /@\w+|\b(?:fn|var|let|const|struct|if|else|for|while|loop|return|break|continue|switch|case|default|enable)\b/y],
  ['axis', /\b(?:f32|f16|u32|i32|bool|array|vec[234]\w*|atomic|storage|uniform|workgroup|read|read_write)\b/y],
  ['number', /\b\d[\w.]*/y],
  ['call', /\b\w+(?=\()/y],
  ['plain', /\b\w+/y],
]
const LANGUAGES = { equations: EQUATIONS, typescript: TYPESCRIPT, wgsl: WGSL }
export type Language = keyof typeof LANGUAGES

/** A range of the text to mark, with offsets from 0. */
export interface Mark {
  from: number
  to: number
  className: string
  title: string
}

/** Text as nodes with classes. Marks must not overlap. */
export function highlight(text: string, language: Language, marks: Mark[] = []): DocumentFragment {
  const rules = LANGUAGES[language]
  const out = document.createDocumentFragment()
  const sorted = [...marks].sort((a, b) => a.from - b.from)
  let parent: Node = out
  let open: Mark | null = null
  const put = (piece: string, kind: string, at: number): void => {
    // Splits a token where a mark begins or ends.
    while (piece) {
      if (!open && sorted[0] && sorted[0].from <= at) {
        open = sorted.shift()!
        parent = el('mark', { class: open.className, title: open.title })
        out.append(parent)
      }
      const edge = open ? open.to : sorted[0]?.from ?? Infinity
      const length = Math.max(1, Math.min(piece.length, edge - at))
      const part = piece.slice(0, length)
      parent.appendChild(kind ? el('span', { class: `t-${kind}` }, part) : document.createTextNode(part))
      piece = piece.slice(length)
      at += length
      if (open && at >= open.to) {
        open = null
        parent = out
      }
    }
  }
  let at = 0
  scan: while (at < text.length) {
    for (const [kind, rule] of rules) {
      rule.lastIndex = at
      const found = rule.exec(text)?.[0]
      if (found) {
        put(found, kind === 'plain' ? '' : kind, at)
        at += found.length
        continue scan
      }
    }
    put(text[at]!, '', at)
    at++
  }
  return out
}

/** A block of code with a button to copy it. */
export function codeBlock(text: string, language: Language, label: string): HTMLElement {
  return el('pre', { class: 'code', tabindex: '0', 'aria-label': label, role: 'region' }, el('code', null, highlight(text, language) as unknown as Node))
}
