import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/async'

/** A function of the sources. */
type SourceFunction = {
  readonly name: string
  readonly exported: boolean
  /** The text of the docstring without comment signs, or `undefined`. */
  readonly docstring: string | undefined
}

/** One file of src, taken apart by TypeScript's own parser. `path` is its path below src. */
type SourceText = { readonly path: string; readonly functions: readonly SourceFunction[] }

const ROOT = resolve(import.meta.dir, '../..')

const FUNCTIONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
])
/** Parses every file of src with TypeScript's own parser. Takes some seconds, once for all tests of a file. */
export async function parseSources(): Promise<readonly SourceText[]> {
  const api = new API({ cwd: ROOT })
  try {
    const snapshot = await api.updateSnapshot({ openProject: resolve(ROOT, 'tsconfig.json') })
    const [project] = snapshot.getProjects()
    if (project === undefined) throw new Error('tsconfig.json opens no project')
    const { program, rootFiles } = project
    const src = resolve(ROOT, 'src')
    return await Promise.all(
      rootFiles
        .filter((path) => path.startsWith(`${src}/`) && !path.endsWith('.d.ts'))
        .map(async (path) => {
          const file = await program.getSourceFile(path)
          if (file === undefined) throw new Error(`${path} is not in the project`)
          return { path: relative(src, path), functions: functionsOf(readFileSync(path, 'utf8'), file) }
        }),
    )
  } finally {
    await api.close()
  }
}

function functionsOf(text: string, file: SourceFile): readonly SourceFunction[] {
  const functions: SourceFunction[] = []
  const startOf = (node: Node): number => skipTrivia(text, node.pos)
  const visit = (node: Node): void => {
    if (FUNCTIONS.has(node.kind)) functions.push(functionOf(node, text, startOf))
    node.forEachChild(visit)
  }
  file.forEachChild(visit)
  return functions
}

function functionOf(node: Node, text: string, startOf: (node: Node) => number): SourceFunction {
  const declared = declarationOf(node)
  const head = text.slice(declared.pos, startOf(declared))
  return {
    name: nameOf(node, declared, text, startOf),
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
