import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/async'

/** A function of the sources. `lines` are its own, without the markup (JSX) in it. */
export type SourceFunction = {
  readonly name: string
  readonly lines: number
  readonly exported: boolean
  /** The text of its docstring without the comment's signs; `undefined` if it has none. */
  readonly docstring: string | undefined
}

/** One file of src or test, taken apart by TypeScript's own parser. */
export type SourceText = {
  /** Its path below that folder. */
  readonly path: string
  readonly lines: number
  readonly functions: readonly SourceFunction[]
  readonly identifiers: ReadonlySet<string>
  /** The words of each comment, without the signs. */
  readonly comments: readonly string[]
  /** The strings and the parts of templates that hold a space: sentences, not names. */
  readonly messages: readonly string[]
}

const ROOT = resolve(import.meta.dir, '../..')

const FUNCTIONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
])
const TEXTS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
  SyntaxKind.JsxText,
  SyntaxKind.RegularExpressionLiteral,
])
const MARKUP: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.JsxElement,
  SyntaxKind.JsxSelfClosingElement,
  SyntaxKind.JsxFragment,
])

export type Sources = { readonly src: readonly SourceText[]; readonly test: readonly SourceText[] }

/** Parses every file of src and test with TypeScript's own parser. Takes some seconds, once for all tests of a file. */
export async function parseSources(): Promise<Sources> {
  const api = new API({ cwd: ROOT })
  try {
    const snapshot = await api.updateSnapshot({ openProject: resolve(ROOT, 'tsconfig.json') })
    const [project] = snapshot.getProjects()
    if (project === undefined) throw new Error('tsconfig.json opens no project')
    const { program, rootFiles } = project
    const within = (folder: string) =>
      Promise.all(
        rootFiles
          .filter((path) => path.startsWith(`${folder}/`) && !path.endsWith('.d.ts'))
          .map(async (path) => {
            const file = await program.getSourceFile(path)
            if (file === undefined) throw new Error(`${path} is not in the project`)
            return takeApart(relative(folder, path), readFileSync(path, 'utf8'), file)
          }),
      )
    return { src: await within(resolve(ROOT, 'src')), test: await within(resolve(ROOT, 'test')) }
  } finally {
    await api.close()
  }
}

type Span = readonly [start: number, end: number]

function takeApart(path: string, text: string, file: SourceFile): SourceText {
  const functions: SourceFunction[] = []
  const identifiers = new Set<string>()
  const texts: Span[] = []
  const startOf = (node: Node): number => skipTrivia(text, node.pos)
  const visit = (node: Node): void => {
    if (FUNCTIONS.has(node.kind)) functions.push(functionOf(node, text, startOf))
    if (node.kind === SyntaxKind.Identifier) identifiers.add(text.slice(startOf(node), node.end))
    if (TEXTS.has(node.kind)) texts.push([startOf(node), node.end])
    node.forEachChild(visit)
  }
  file.forEachChild(visit)
  const messages = texts.map(([start, end]) => text.slice(start, end)).filter((part) => /\S\s+\S/.test(part))
  return {
    path,
    lines: text.split('\n').length - 1,
    functions,
    identifiers,
    comments: commentsOf(text, texts),
    messages,
  }
}

function functionOf(node: Node, text: string, startOf: (node: Node) => number): SourceFunction {
  const declared = declarationOf(node)
  const start = startOf(node)
  const linesOf = (from: number, to: number) => text.slice(from, to).split('\n').length
  let markup = 0
  const visit = (child: Node): void => {
    if (MARKUP.has(child.kind)) markup += linesOf(startOf(child), child.end) - 1
    else child.forEachChild(visit)
  }
  node.forEachChild(visit)
  const head = text.slice(declared.pos, startOf(declared))
  return {
    name: nameOf(node, declared, text, startOf),
    lines: linesOf(start, node.end) - markup,
    exported: declared.parent?.kind === SyntaxKind.SourceFile && /^export\b/.test(text.slice(startOf(declared))),
    docstring: docstringOf(head),
  }
}

/** Returns the statement that declares a function: itself, or the `const` that it is the value of. */
function declarationOf(node: Node): Node {
  const variable = node.parent
  const isValue = variable?.kind === SyntaxKind.VariableDeclaration
  return isValue ? (variable.parent?.parent ?? node) : node
}

function nameOf(node: Node, declared: Node, text: string, startOf: (node: Node) => number): string {
  const named = declared === node ? node : (node.parent ?? node)
  const head = text.slice(startOf(named), named.end)
  return /^(?:export )?(?:async )?(?:function\*? )?([\w$]+)/.exec(head)?.[1] ?? ''
}

function docstringOf(head: string): string | undefined {
  const found = [...head.matchAll(/\/\*\*([\s\S]*?)\*\//g)].at(-1)?.[1]
  return found === undefined ? undefined : wordsOf(found)
}

const wordsOf = (comment: string): string =>
  comment
    .replace(/^\s*\*? ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim()

function skipTrivia(text: string, from: number): number {
  const trivia = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
  trivia.lastIndex = from
  return from + (trivia.exec(text)?.[0].length ?? 0)
}

/** Returns the comments of a file: `//` lines that follow each other are one. Strings and patterns are blanked first. */
function commentsOf(text: string, texts: readonly Span[]): string[] {
  let code = text
  for (const [start, end] of texts) code = code.slice(0, start) + ' '.repeat(end - start) + code.slice(end)
  const found = code.matchAll(/\/\*([\s\S]*?)\*\/|\/\/([^\n]*(?:\n[ \t]*\/\/[^\n]*)*)/g)
  return [...found].map(([, block, line = '']) => wordsOf(block ?? line.replace(/\n[ \t]*\/\/ ?/g, ' ')))
}
