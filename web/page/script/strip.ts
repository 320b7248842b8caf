/**
 * Converts TypeScript to JavaScript by erasing types. Every erased character becomes a space, so that lines and columns do not change.
 * Syntax that cannot be erased (enums, parameter properties, namespaces, decorators) is reported.
 */
import { tsPlugin } from '@sveltejs/acorn-typescript'
import { Parser } from 'acorn'

/** A node of the parser. Fields depend on its type. */
export interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

/** An error at a range of the source. */
export interface Problem {
  from: number
  to: number
  message: string
  help: string | null
}

export interface Stripped {
  /** The program; null if it cannot be parsed. */
  tree: Node | null
  /** JavaScript of the same length; empty if there are problems. */
  code: string
  problems: Problem[]
}

const TypeScript = Parser.extend(tsPlugin() as never)
const OPTIONS = { ecmaVersion: 'latest', sourceType: 'module', locations: true } as const

/** Statements and class members that only declare types. */
const DECLARATIONS = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'TSDeclareFunction', 'TSIndexSignature'])
/** Nodes that are erased completely. */
const PARTS = new Set(['TSTypeAnnotation', 'TSTypeParameterDeclaration', 'TSTypeParameterInstantiation'])
const REFUSED: Record<string, [message: string, help: string]> = {
  TSEnumDeclaration: ['enums cannot be run here', 'write an object: const Color = { red: 0, green: 1 } as const'],
  TSModuleDeclaration: ['namespaces cannot be run here', 'write an object, or top-level names'],
  TSParameterProperty: ['parameter properties cannot be run here', 'declare a field, and assign it in the constructor'],
  TSImportEqualsDeclaration: ['this form of import cannot be run here', "write import { nn } from 'gradus'"],
  TSExportAssignment: ['this form of export cannot be run here', 'write export const model = …'],
  Decorator: ['decorators cannot be run here', 'call the function instead'],
}

/** Nodes directly below a node. */
export function* children(node: Node): Generator<Node> {
  for (const [key, value] of Object.entries(node)) {
    if (key === 'loc' || typeof value !== 'object' || value === null) continue
    for (const inner of Array.isArray(value) ? value : [value]) {
      if (inner && typeof (inner as Node).type === 'string') yield inner as Node
    }
  }
}

export function strip(source: string): Stripped {
  let tree: Node
  try {
    tree = TypeScript.parse(source, OPTIONS) as unknown as Node
  } catch (e) {
    return { tree: null, code: '', problems: [syntaxProblem(source, e)] }
  }
  const eraser = new Eraser(source)
  eraser.visit(tree, null)
  if (eraser.problems.length) return { tree, code: '', problems: eraser.problems }
  eraser.dropUnusedImports(tree)
  const code = eraser.text.join('')
  try {
    // Erasing may join statements that a type separated, such as a return type over two lines.
    Parser.parse(code, OPTIONS)
  } catch (e) {
    const problem = syntaxProblem(source, e)
    return { tree, code: '', problems: [{ ...problem, help: 'write the types before this place on one line, and end statements with `;`' }] }
  }
  return { tree, code, problems: [] }
}

function syntaxProblem(source: string, e: unknown): Problem {
  const { pos, message } = e as { pos?: number, message: string }
  if (typeof pos !== 'number') throw e
  const from = Math.min(pos, source.length)
  // The mark covers the word at this position.
  const word = /^[\w$]+/.exec(source.slice(from))?.[0].length ?? 1
  const text = message.replace(/ \(\d+:\d+\)$/, '')
  return { from, to: from + word, message: text[0]!.toLowerCase() + text.slice(1), help: null }
}

class Eraser {
  /** The characters of the source, of which the erased ones become spaces. */
  text: string[]
  problems: Problem[] = []
  constructor(private source: string) {
    // Splits into UTF-16 units, which the parser counts.
    this.text = source.split('')
  }

  private erase(from: number, to: number): void {
    for (let i = from; i < to; i++) if (!/\s/.test(this.text[i]!)) this.text[i] = ' '
  }

  /** Erases a statement, except a semicolon, so that the lines around it are not joined. */
  private eraseStatement({ start, end }: Node): void {
    this.erase(start, end)
    this.text[start] = ';'
  }

  /** Erases an item of a list with its comma. */
  private eraseItem({ start, end }: Node): void {
    this.erase(start, end + (/^\s*,/.exec(this.source.slice(end))?.[0].length ?? 0))
  }

  /** Erases words before a name, such as `private readonly`. */
  private eraseWords(from: number, to: number, words: RegExp): void {
    for (const found of this.source.slice(from, to).matchAll(words)) this.erase(from + found.index, from + found.index + found[0].length)
  }

  /** Erases `?` or `!` after a name. */
  private eraseSign(from: number): void {
    const found = /^[\s\])]*([?!])/.exec(this.source.slice(from))
    if (found) this.erase(from + found[0].length - 1, from + found[0].length)
  }

  visit(node: Node, parent: Node | null): void {
    const refused = REFUSED[node.type]
    if (refused && !node.declare) {
      this.problems.push({ from: node.start, to: Math.min(node.end, this.source.indexOf('\n', node.start) >>> 0), message: refused[0], help: refused[1] })
      return
    }
    if (DECLARATIONS.has(node.type) || node.declare || (node.type === 'ImportDeclaration' && node.importKind === 'type')) {
      return node.type === 'PropertyDefinition' || node.type === 'TSIndexSignature' ? this.erase(node.start, node.end) : this.eraseStatement(node)
    }
    if (PARTS.has(node.type)) return this.erase(node.start, node.end)
    switch (node.type) {
      case 'ExportNamedDeclaration': {
        const inner = node.declaration as Node | null
        if (node.exportKind === 'type' || (inner && (DECLARATIONS.has(inner.type) || inner.declare))) return this.eraseStatement(node)
        break
      }
      case 'ExportSpecifier': return node.exportKind === 'type' ? this.eraseItem(node) : undefined
      case 'TSAsExpression': case 'TSSatisfiesExpression': {
        const inner = node.expression as Node
        const between = this.source.slice(inner.end, node.end)
        const from = inner.end + /^[\s)]*/.exec(between)![0].length
        this.erase(from, node.end)
        // Without the type, the next line could continue this one.
        if (/^[^\S\n]*\n\s*[([`+\-/]/.test(this.source.slice(node.end))) this.text[from] = ';'
        return this.visit(inner, node)
      }
      case 'TSTypeAssertion': {
        const inner = node.expression as Node
        this.erase(node.start, this.source.indexOf('>', (node.typeAnnotation as Node).end) + 1)
        return this.visit(inner, node)
      }
      case 'TSNonNullExpression':
        this.erase(node.end - 1, node.end)
        return this.visit(node.expression as Node, node)
      case 'ClassDeclaration': case 'ClassExpression': {
        const list = node.implements as Node[] | undefined
        if (list?.length) {
          const before = this.source.slice(node.start, list[0]!.start).lastIndexOf('implements')
          this.erase(node.start + before, list.at(-1)!.end)
        }
        if (node.abstract) this.eraseWords(node.start, (node.body as Node).start, /\babstract\b(?=[\s\S]*\bclass\b)/g)
        for (const inner of children(node)) if (!list?.includes(inner)) this.visit(inner, node)
        return
      }
      case 'PropertyDefinition': case 'MethodDefinition': {
        const key = node.key as Node
        if (node.abstract || (node.value as Node | null)?.type === 'TSDeclareMethod') return this.erase(node.start, node.end)
        this.eraseWords(node.start, key.start, /\b(?:public|private|protected|readonly|override)\b/g)
        if (node.optional || node.definite) this.eraseSign(key.end)
        break
      }
      case 'VariableDeclarator':
        if (node.definite) this.eraseSign((node.id as Node).start + String((node.id as Node).name).length)
        break
      case 'Identifier':
        if (node.optional) this.eraseSign(node.start + String(node.name).length)
        break
      case 'ArrayPattern': case 'ObjectPattern':
        if (node.optional) this.eraseSign(((node.typeAnnotation as Node | undefined)?.start ?? node.end) - 1)
        break
      case 'FunctionDeclaration': case 'FunctionExpression': {
        const [first, second] = node.params as Node[]
        if (first?.type === 'Identifier' && first.name === 'this') this.erase(first.start, second?.start ?? first.end)
        break
      }
    }
    for (const inner of children(node)) this.visit(inner, node)
  }

  /** Erases imported names that are used as types only, as the compiler does. */
  dropUnusedImports(tree: Node): void {
    const used = new Set(references(tree).map((r) => r.name))
    for (const statement of tree.body as Node[]) {
      if (statement.type !== 'ImportDeclaration' || statement.importKind === 'type') continue
      for (const one of statement.specifiers as Node[]) {
        if (one.type === 'ImportSpecifier' && (one.importKind === 'type' || !used.has((one.local as Node).name))) this.eraseItem(one)
      }
    }
  }
}

/** Identifiers of values, without those of types. */
export function references(tree: Node): Node[] {
  const found: Node[] = []
  const visit = (node: Node): void => {
    if (PARTS.has(node.type) || DECLARATIONS.has(node.type) || node.declare) return
    const all = (...fields: string[]) => fields.forEach((f) => { for (const c of [node[f]].flat() as (Node | null)[]) if (c?.type) visit(c) })
    switch (node.type) {
      case 'Identifier': if (node.name !== 'this') found.push(node); return
      case 'ImportDeclaration': case 'MetaProperty': case 'BreakStatement': case 'ContinueStatement': return
      case 'LabeledStatement': return all('body')
      case 'ExportSpecifier': return node.exportKind === 'type' ? undefined : all('local')
      case 'MemberExpression': return node.computed ? all('object', 'property') : all('object')
      case 'Property': case 'PropertyDefinition': case 'MethodDefinition': return node.computed ? all('key', 'value') : all('value')
      case 'TSAsExpression': case 'TSSatisfiesExpression': case 'TSTypeAssertion': case 'TSNonNullExpression': return all('expression')
      case 'ClassDeclaration': case 'ClassExpression': return all('id', 'superClass', 'body')
    }
    for (const inner of children(node)) visit(inner)
  }
  visit(tree)
  return found
}
