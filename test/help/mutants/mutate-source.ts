import ts from 'typescript-5'

/** Makes mutants of a source file: each changes one condition, one constant or the source of one field. */
export type Mutant = {
  readonly id: number
  readonly file: string
  readonly line: number
  readonly kind: 'condition' | 'constant' | 'source'
  readonly from: string
  readonly to: string
  /** It is evaluated when the module is loaded. */
  readonly isStatic: boolean
}

type Change = Pick<Mutant, 'kind' | 'to'>

/** Fields that are easily mistaken for each other. */
const SIBLINGS: Readonly<Record<string, string>> = {
  atUs: 'arrivedUs',
  arrivedUs: 'atUs',
  startedUs: 'answeredUs',
  answeredUs: 'startedUs',
  endedUs: 'startedUs',
  ringingUs: 'startedUs',
  from: 'to',
  to: 'from',
  source: 'dest',
  dest: 'source',
  name: 'number',
  number: 'name',
  target: 'name',
  transferer: 'transferee',
  transferee: 'transferer',
  originator: 'id',
  linkedId: 'id',
}

/** Comparisons whose bound moves by one. */
const BOUNDS: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }

/** Returns the source with a switch for each mutant, and the mutants, whose ids begin at `firstId`. */
export function mutateSource(file: string, text: string, firstId: number): { text: string; mutants: Mutant[] } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const mutants: Mutant[] = []

  /** Returns the text of a node, with switches in it. */
  function render(node: ts.Node, isStatic: boolean): string {
    const inside = isStatic && !ts.isFunctionLike(node)
    const children: ts.Node[] = []
    if (!isFixed(node)) ts.forEachChild(node, (child) => void children.push(child))
    let [out, at] = ['', node.getFullStart()]
    for (const child of children.toSorted((a, b) => a.getFullStart() - b.getFullStart())) {
      out += text.slice(at, child.getFullStart()) + render(child, inside)
      at = child.getEnd()
    }
    out += text.slice(at, node.getEnd())
    const changes = isReplaceable(node) ? changesOf(node) : []
    if (changes.length === 0) return out
    const lead = out.length - out.trimStart().length
    const switches = changes.map(({ kind, to }) => {
      const id = firstId + mutants.length
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
      mutants.push({ id, file, line, kind, from: short(node.getText()), to: short(to), isStatic })
      return `isMutant(${id}) ? ${to} : `
    })
    const comments = text.slice(node.getFullStart(), node.getStart())
    return `${comments}(${switches.join('')}(${out.slice(Math.max(lead, comments.length))}))`
  }

  const mutated = source.statements.map((statement) => render(statement, true)).join('')
  return { text: `${mutated}${text.slice(source.statements.at(-1)?.getEnd() ?? 0)}`, mutants }
}

const short = (text: string): string => {
  const one = text.replace(/\s+/g, ' ')
  return one.length > 60 ? `${one.slice(0, 57)}…` : one
}

/** Types, imports, exports by name and the left sides of assignments are no values. */
function isFixed(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isTypeAliasDeclaration(node)
  )
}

function isReplaceable(node: ts.Node): boolean {
  const { parent } = node
  if (!ts.isExpression(node) || parent === undefined) return false
  // The head of a chain of accesses stays: in brackets it would no longer end the chain.
  if (
    (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent) || ts.isCallExpression(parent)) &&
    parent.expression === node
  )
    return false
  if (ts.isPropertyAssignment(parent) && parent.name === node) return false
  if (ts.isPrefixUnaryExpression(parent) && parent.operator !== ts.SyntaxKind.ExclamationToken) return false
  if (ts.isPostfixUnaryExpression(parent) || ts.isDeleteExpression(parent) || ts.isExpressionWithTypeArguments(parent))
    return false
  if (ts.isArrayLiteralExpression(node) || ts.isObjectLiteralExpression(node)) return false
  return !(ts.isBinaryExpression(parent) && parent.left === node && isAssignment(parent.operatorToken.kind))
}

const isAssignment = (kind: ts.SyntaxKind): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment

function changesOf(node: ts.Node): Change[] {
  return [...conditions(node), ...constants(node), ...sources(node)]
}

function conditions(node: ts.Node): Change[] {
  const { parent } = node
  const isTested =
    (ts.isIfStatement(parent) && parent.expression === node) ||
    (ts.isConditionalExpression(parent) && parent.condition === node)
  const changes: string[] = isTested ? ['true', 'false'] : []
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    changes.push(node.operand.getText())
  if (ts.isBinaryExpression(node)) {
    const [left, operator, right] = [node.left.getText(), node.operatorToken.getText(), node.right.getText()]
    if (operator === '&&' || operator === '||') changes.push(`(${left})`, `(${right})`)
    if (operator === '??') changes.push(`(${left})`)
    if (operator === '===') changes.push(`(${left}) !== (${right})`)
    if (operator === '!==') changes.push(`(${left}) === (${right})`)
    const bound = BOUNDS[operator]
    if (bound !== undefined) changes.push(`(${left}) ${bound} (${right})`)
    if (operator === '+' || operator === '-') changes.push(`(${left})`)
  }
  return changes.map((to) => ({ kind: 'condition', to }))
}

function constants(node: ts.Node): Change[] {
  if (ts.isNumericLiteral(node)) {
    const value = Number(node.text.replaceAll('_', ''))
    const others = value === 0 ? [1] : value === 1 ? [0] : [0, value * 2]
    return others.map((other) => ({ kind: 'constant', to: String(other) }))
  }
  if (ts.isStringLiteral(node)) return [{ kind: 'constant', to: node.text === '' ? "'mutant'" : "''" }]
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [{ kind: 'constant', to: 'false' }]
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [{ kind: 'constant', to: 'true' }]
  return []
}

function sources(node: ts.Node): Change[] {
  const changes: string[] = []
  if (ts.isPropertyAccessExpression(node) && node.questionDotToken === undefined) {
    const sibling = SIBLINGS[node.name.text]
    if (sibling !== undefined) changes.push(`${node.expression.getText()}.${sibling}`)
  }
  const { parent } = node
  const isField = ts.isPropertyAssignment(parent) && parent.initializer === node
  if (isField && !ts.isFunctionLike(node) && !ts.isLiteralExpression(node) && node.getText() !== 'null')
    changes.push('null')
  return changes.map((to) => ({ kind: 'source', to }))
}
