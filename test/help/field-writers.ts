import { readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import ts from 'typescript-5'

const TRACKER = resolve(import.meta.dir, '../../src/calls/tracker')
const TYPES = join(TRACKER, 'state/state.ts')

/** The files that write each field of the tracker's state, by the name of its type: `Stage.parentId`. */
type Writers = Record<string, string[]>

/** Methods that change the list, set or map that a field holds. */
const CHANGES = /^(push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|add|set|delete|clear)$/

/**
 * Returns the files of the tracker that write each field of the types in state/state.ts, by TypeScript's checker:
 * assignments of every kind, `Object.assign`, `delete`, and methods that change a list, set or map. What makes a new
 * object is no writer of its fields. `extra` has more files, by their paths below the tracker.
 */
export function fieldWriters(extra: Readonly<Record<string, string>> = {}): Writers {
  const texts = new Map(Object.entries(extra).map(([path, text]) => [join(TRACKER, path), text]))
  const paths = readdirSync(TRACKER, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
  const roots = [...paths.map((path) => join(TRACKER, path)), ...texts.keys()]
  const program = programOf(roots, texts)
  const checker = program.getTypeChecker()
  const writers = new Map<string, Set<string>>()
  for (const root of roots) {
    const file = program.getSourceFile(root)
    if (file === undefined) throw new Error(`${root} is not in the program`)
    for (const symbol of writtenIn(file, checker)) {
      const field = fieldOf(symbol)
      if (field === undefined) continue
      const files = writers.get(field) ?? new Set()
      writers.set(field, files.add(relative(TRACKER, root)))
    }
  }
  const rows = [...writers].map(([field, files]) => [field, [...files].toSorted()] as const)
  return Object.fromEntries(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function programOf(roots: readonly string[], texts: ReadonlyMap<string, string>): ts.Program {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  host.readFile = (path) => texts.get(path) ?? readFile(path)
  host.getSourceFile = (path, target, ...rest) => {
    const text = texts.get(path)
    return text === undefined ? getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target, true)
  }
  return ts.createProgram([...roots], options, host)
}

/** Returns the fields that a file writes. */
function writtenIn(file: ts.SourceFile, checker: ts.TypeChecker): ts.Symbol[] {
  const written: ts.Symbol[] = []
  const note = (target: ts.Node): void => {
    const place = ts.isElementAccessExpression(target) ? target.expression : target
    if (ts.isObjectLiteralExpression(place) || ts.isArrayLiteralExpression(place)) {
      place.forEachChild((part) => note(ts.isPropertyAssignment(part) ? part.initializer : part))
    } else if (ts.isPropertyAccessExpression(place)) {
      const symbol = checker.getSymbolAtLocation(place.name)
      if (symbol !== undefined) written.push(symbol)
    }
  }
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) note(node.left)
    else if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
      if (isCount(node.operator)) note(node.operand)
    } else if (ts.isDeleteExpression(node)) note(node.expression)
    else if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { name, expression } = node.expression
      if (CHANGES.test(name.text)) note(expression)
      if (expression.getText() === 'Object' && name.text === 'assign') written.push(...assignedBy(node, checker))
    }
    node.forEachChild(visit)
  }
  visit(file)
  return written
}

const isAssignment = (operator: ts.SyntaxKind): boolean =>
  operator >= ts.SyntaxKind.FirstAssignment && operator <= ts.SyntaxKind.LastAssignment

const isCount = (operator: ts.SyntaxKind): boolean =>
  operator === ts.SyntaxKind.PlusPlusToken || operator === ts.SyntaxKind.MinusMinusToken

/** Returns the fields that `Object.assign` writes. */
function assignedBy({ arguments: [target, ...from] }: ts.CallExpression, checker: ts.TypeChecker): ts.Symbol[] {
  if (target === undefined) return []
  const fields = checker.getTypeAtLocation(target)
  const names = from.flatMap((one) =>
    checker
      .getTypeAtLocation(one)
      .getProperties()
      .map(({ name }) => name),
  )
  return names.flatMap((name) => fields.getProperty(name) ?? [])
}

/** Returns the name of a field of the state's types, with the fields and the type around it. */
function fieldOf(symbol: ts.Symbol): string | undefined {
  const [declaration] = symbol.declarations ?? []
  if (declaration === undefined || declaration.getSourceFile().fileName !== TYPES) return undefined
  const names: string[] = []
  for (let node: ts.Node = declaration; !ts.isSourceFile(node); node = node.parent)
    if (ts.isPropertySignature(node) || ts.isTypeAliasDeclaration(node)) names.unshift(node.name.getText())
  return names.join('.')
}
