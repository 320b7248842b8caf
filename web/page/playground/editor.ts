/** The editor: a text area over a colored copy of its text, with line numbers, and with marks at positions of diagnostics. */
import type { equations } from 'gradus'
import { el, uid } from '../lib/dom.js'
import { highlight, type Language, type Mark } from '../lib/highlight.js'

export class Editor {
  readonly root: HTMLElement
  private area: HTMLTextAreaElement
  private sheet: HTMLElement
  private layer = el('pre', { class: 'layer', 'aria-hidden': 'true' })
  private gutter = el('div', { class: 'gutter', 'aria-hidden': 'true' })
  private report = el('pre', { class: 'report', id: uid(), role: 'status', 'aria-live': 'polite', tabindex: '0' })
  private diagnostics: equations.Diagnostic[] = []

  constructor(private language: Language, label: string, changed: () => void, run: () => void) {
    this.area = el('textarea', {
      spellcheck: false, autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': label, 'aria-describedby': this.report.id,
      oninput: () => {
        // Marks of the previous text would be at wrong positions until the next check.
        this.diagnostics = []
        this.paint()
        changed()
      },
      onscroll: () => this.follow(),
      onkeydown: (e: KeyboardEvent) => {
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
          e.preventDefault()
          run()
        } else if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
          // A new line gets the indentation of the previous one. `execCommand` keeps the undo history of the text area.
          const { value, selectionStart } = this.area
          const indent = /[^\n]*$/.exec(value.slice(0, selectionStart))![0].match(/^[ \t]*/)![0]
          if (indent && document.execCommand('insertText', false, `\n${indent}`)) e.preventDefault()
        }
      },
    })
    this.area.setAttribute('autocorrect', 'off')
    this.sheet = el('div', { class: 'sheet' }, this.gutter, el('div', { class: 'text' }, this.layer, this.area))
    this.root = el('div', { class: 'editor' }, this.sheet, this.report)
  }

  get value(): string {
    return this.area.value
  }

  set value(text: string) {
    this.area.value = text
    this.diagnostics = []
    this.paint()
  }

  /** Shows the diagnostics of a check, or the text `fine` if there are none. */
  show(checked: equations.Checked, fine: string): void {
    this.diagnostics = checked.diagnostics
    this.report.className = checked.diagnostics.some((d) => d.severity === 'error') ? 'report error' : checked.diagnostics.length ? 'report warning' : 'report'
    const text = checked.text.trim() || fine
    if (this.report.textContent !== text) this.report.textContent = text
    this.paint()
  }

  private paint(): void {
    const text = this.area.value
    const lines = text.split('\n')
    const starts: number[] = []
    let at = 0
    for (const l of lines) {
      starts.push(at)
      at += l.length + 1
    }
    const offset = (line: number, column: number) => Math.min(text.length, (starts[line - 1] ?? text.length) + column - 1)
    const marks: Mark[] = []
    for (const d of [...this.diagnostics].sort((a, b) => a.line - b.line || a.column - b.column)) {
      let from = offset(d.line, d.column)
      let to = Math.max(offset(d.endLine, d.endColumn), from + 1)
      // A position after the end of a line is shown at its last character.
      if (text[from] === '\n' || from >= text.length) {
        from = Math.max(0, from - 1)
        to = from + 1
      }
      if (from >= (marks.at(-1)?.to ?? 0)) marks.push({ from, to: Math.max(from + 1, Math.min(to, text.length)), className: d.severity, title: d.message })
    }
    const bad = new Map(this.diagnostics.map((d) => [d.line, d.severity]))
    this.layer.replaceChildren(highlight(text, this.language, marks), '\n')
    this.gutter.replaceChildren(...lines.map((_, i) => el('span', { class: bad.get(i + 1) ?? '' }, String(i + 1))))
    // Sets the height to that of the text, within bounds.
    this.sheet.style.height = `clamp(12rem, calc(${(lines.length + 1) * 1.6 * 0.86}rem + 1.6rem), 58vh)`
    this.follow()
  }

  private follow(): void {
    const { scrollLeft, scrollTop } = this.area
    this.layer.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`
    this.gutter.style.transform = `translateY(${-scrollTop}px)`
  }
}
