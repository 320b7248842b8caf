/** Helpers that make elements. Strings become text nodes, never HTML. */

type Props = Record<string, unknown>
export type Child = Node | string | number | null | undefined | false

/** Makes an element. Keys `on…` set listeners; `class`, `data-…`, `aria-…` and `role` set attributes; all others set properties. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props | null = null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag)
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null) continue
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value as EventListener)
    else if (key === 'class' || key === 'role' || key === 'for' || key.includes('-')) made.setAttribute(key, String(value))
    else (made as unknown as Props)[key] = value
  }
  append(made, ...children)
  return made
}

export function append(to: Element, ...children: Child[]): void {
  for (const c of children) if (c !== null && c !== undefined && c !== false) to.append(c instanceof Node ? c : String(c))
}

export function button(text: string, onclick: () => void, props: Props = {}): HTMLButtonElement {
  return el('button', { type: 'button', onclick, ...props }, text)
}

let ids = 0
/** A new id for labels. */
export const uid = (): string => `u${++ids}`

/** A label with a control. */
export function field(text: string, control: HTMLElement, className = 'field'): HTMLElement {
  control.id ||= uid()
  return el('div', { class: className }, el('label', { for: control.id }, text), control)
}

export function select(options: [value: string, text: string][], value: string, onchange: (value: string) => void): HTMLSelectElement {
  const made = el('select', null, ...options.map(([v, t]) => el('option', { value: v }, t)))
  made.value = value
  made.addEventListener('change', () => onchange(made.value))
  return made
}

/** Formats a number for display. */
export function show(n: number, digits = 4): string {
  if (!Number.isFinite(n)) return String(n)
  const size = Math.abs(n)
  if (n !== 0 && (size >= 1e6 || size < 1e-3)) return n.toExponential(2).replace(/\.?0*e\+?/, 'e')
  return size >= 1000 ? String(Math.round(n)) : String(Number(n.toPrecision(digits)))
}

/** The message of an error, without the line that the package adds: that line names files of this page. */
export function messageOf(e: unknown): string {
  return (e instanceof Error ? e.message : String(e)).replace(/\n {2}at \S+$/, '')
}

/** Offers a file to the visitor as a download. */
export function download(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  el('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}

/** A color of the style sheet, for canvases. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
