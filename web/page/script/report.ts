/** Diagnostics as text with carets, in the form that the command prints. */
import type { equations } from 'gradus'

export function rendered(source: string, diagnostics: equations.Diagnostic[]): string {
  const lines = source.split('\n')
  return diagnostics.map((d) => {
    const text = lines[d.line - 1] ?? ''
    const pad = ' '.repeat(String(d.line).length)
    const end = d.endLine > d.line ? text.length + 1 : d.endColumn
    // Keeps tabs, so that the carets are below the text that they mark.
    const before = text.slice(0, d.column - 1).replace(/[^\t]/g, ' ')
    const parts = [
      `${d.severity}: ${d.message}`,
      `${pad}--> program:${d.line}:${d.column}`,
      `${pad} |`,
      `${d.line} | ${text}`,
      `${pad} | ${before}${'^'.repeat(Math.max(1, end - d.column))}`,
    ]
    if (d.help) parts.push(`${pad} |`, `${pad} = help: ${d.help}`)
    return parts.join('\n')
  }).join('\n\n')
}
